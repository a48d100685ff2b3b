//! Detects after a lost connection whether a commit happened.
//!
//! A caller that starts, takes over or ends a run writes a unique random number into its row. The
//! next attempt waits for the row locks of the lost one. If it then finds its own number, the
//! commit happened; otherwise it did not.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::atomic::{AtomicU64, Ordering},
};

/// A unique random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AttemptToken(pub(super) i64);

impl AttemptToken {
    /// A value that is never drawn, for restored rows.
    pub(super) const NONE: AttemptToken = AttemptToken(0);

    /// Draws a token.
    pub(super) fn random() -> AttemptToken {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // The keys come from the system's random source.
        let drawn = RandomState::new().hash_one(COUNT.fetch_add(1, Ordering::Relaxed));
        AttemptToken((drawn | 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn tokens_are_unique() {
        let drawn: HashSet<i64> = (0..10_000).map(|_| AttemptToken::random().0).collect();
        assert_eq!(drawn.len(), 10_000);
        assert!(!drawn.contains(&AttemptToken::NONE.0));
    }
}
