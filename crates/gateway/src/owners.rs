//! How many requests an owner has at work.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The requests at work, by owner.
#[derive(Debug)]
pub(crate) struct Owners {
    most: usize,
    at_work: Mutex<HashMap<Arc<str>, usize>>,
}

/// One request of an owner, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    owners: Arc<Owners>,
    owner: Arc<str>,
}

impl Owners {
    pub(crate) fn new(most: usize) -> Owners {
        Owners { most, at_work: Mutex::default() }
    }

    /// `None`: the owner has as many as it may have.
    pub(crate) fn turn(self: &Arc<Owners>, owner: &Arc<str>) -> Option<Turn> {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        match at_work.get_mut(owner) {
            Some(number) if *number >= self.most => return None,
            Some(number) => *number += 1,
            None if self.most == 0 => return None,
            None => {
                at_work.insert(owner.clone(), 1);
            }
        }
        Some(Turn { owners: self.clone(), owner: owner.clone() })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut at_work = self.owners.at_work.lock().unwrap_or_else(PoisonError::into_inner);
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
        let owners = Arc::new(Owners::new(2));
        let (one, two) = (Arc::from("one"), Arc::from("two"));
        let first = owners.turn(&one);
        let second = owners.turn(&one);
        assert!(first.is_some() && second.is_some());
        assert!(owners.turn(&one).is_none());
        assert!(owners.turn(&two).is_some());
        drop(first);
        assert!(owners.turn(&one).is_some());
    }
}
