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
pub(super) struct Token(pub(super) i64);

impl Token {
    /// Nobody draws it: for rows that were put back.
    pub(super) const NOBODY: Token = Token(0);

    /// Draws one.
    pub(super) fn draw() -> Token {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        // The keys come from the system's source of randomness.
        let drawn = RandomState::new().hash_one(COUNT.fetch_add(1, Ordering::Relaxed));
        Token((drawn | 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn nobody_draws_a_number_twice() {
        let drawn: HashSet<i64> = (0..10_000).map(|_| Token::draw().0).collect();
        assert_eq!(drawn.len(), 10_000);
        assert!(!drawn.contains(&Token::NOBODY.0));
    }
}
