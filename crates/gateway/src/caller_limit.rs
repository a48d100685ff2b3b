//! Limits the concurrent requests of each owner.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Requests in flight, by owner.
#[derive(Debug)]
pub(crate) struct CallerLimit {
    max_requests: usize,
    at_work: Mutex<HashMap<Arc<str>, usize>>,
}

/// One request of an owner. Dropping it frees its place.
#[derive(Debug)]
pub(crate) struct CallerPermit {
    limit: Arc<CallerLimit>,
    owner: Arc<str>,
}

impl CallerLimit {
    pub(crate) fn new(max_requests: usize) -> CallerLimit {
        CallerLimit { max_requests, at_work: Mutex::default() }
    }

    /// Returns `None` if the owner has reached its limit.
    pub(crate) fn acquire(self: &Arc<CallerLimit>, owner: &Arc<str>) -> Option<CallerPermit> {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        match at_work.get_mut(owner) {
            Some(count) if *count >= self.max_requests => return None,
            Some(count) => *count += 1,
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
        // Owners come from the configuration, so the map stays small and entries may remain.
        if let Some(count) = at_work.get_mut(&self.owner) {
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_limit_applies_to_each_owner_separately() {
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
