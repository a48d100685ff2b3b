//! How somebody who lost the connection during a commit finds out whether it happened.
//!
//! Whoever begins, takes over or ends a run leaves a number in its row that nobody else draws. The
//! next attempt waits for the rows that the lost one held; then it finds its own number there, and
//! it has happened, or it does not, and it has not.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::atomic::{AtomicU64, Ordering},
};

/// A number that is drawn once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AttemptToken(pub(super) i64);

impl AttemptToken {
    /// Nobody draws it: for rows that were put back.
    pub(super) const NONE: AttemptToken = AttemptToken(0);

    /// Draws one.
    pub(super) fn random() -> AttemptToken {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // The keys come from the system's source of randomness.
        let drawn = RandomState::new().hash_one(COUNT.fetch_add(1, Ordering::Relaxed));
        AttemptToken((drawn | 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn nobody_draws_a_number_twice() {
        let drawn: HashSet<i64> = (0..10_000).map(|_| AttemptToken::random().0).collect();
        assert_eq!(drawn.len(), 10_000);
        assert!(!drawn.contains(&AttemptToken::NONE.0));
    }
}
