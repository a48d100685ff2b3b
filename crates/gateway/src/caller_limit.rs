//! How many requests an owner has at work.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The requests at work, by owner.
#[derive(Debug)]
pub(crate) struct CallerLimit {
    max_requests: usize,
    at_work: Mutex<HashMap<Arc<str>, usize>>,
}

/// One request of an owner, until it is dropped.
#[derive(Debug)]
pub(crate) struct CallerPermit {
    limit: Arc<CallerLimit>,
    owner: Arc<str>,
}

impl CallerLimit {
    pub(crate) fn new(most: usize) -> CallerLimit {
        CallerLimit { max_requests: most, at_work: Mutex::default() }
    }

    /// `None`: the owner has as many as it may have.
    pub(crate) fn acquire(self: &Arc<CallerLimit>, owner: &Arc<str>) -> Option<CallerPermit> {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        match at_work.get_mut(owner) {
            Some(number) if *number >= self.max_requests => return None,
            Some(number) => *number += 1,
            None if self.max_requests == 0 => return None,
            None => {
                at_work.insert(owner.clone(), 1);
            }
        }
        Some(CallerPermit { limit: self.clone(), owner: owner.clone() })
    }
}

impl Drop for CallerPermit {
    fn drop(&mut self) {
        let mut at_work = self.limit.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        // Owners come from the configuration: their entries may stay.
        if let Some(number) = at_work.get_mut(&self.owner) {
            *number = number.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_so_many_turns_and_others_have_theirs() {
        let owners = Arc::new(CallerLimit::new(2));
        let (one, two) = (Arc::from("one"), Arc::from("two"));
        let first = owners.acquire(&one);
        let second = owners.acquire(&one);
        assert!(first.is_some() && second.is_some());
        assert!(owners.acquire(&one).is_none());
        assert!(owners.acquire(&two).is_some());
        drop(first);
        assert!(owners.acquire(&one).is_some());
    }
}
