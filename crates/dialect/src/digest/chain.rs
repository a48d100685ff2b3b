//! The chain of values: turn by turn, each with the value of all turns before it.

use xxhash_rust::xxh3::{Xxh3, xxh3_128, xxh3_128_with_seed};

/// Who says something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TurnSide {
    /// The user, and the answers.
    User = 1,
    /// The model.
    Model = 2,
}

/// A conversation so far.
#[derive(Clone)]
pub(super) struct DigestChain {
    /// The value of all turns before this one.
    before: u128,
    /// Whose turn it is; nobody's at the beginning.
    side: Option<TurnSide>,
    /// What was said in this turn.
    text: TextDigest,
    /// The answers of this turn, added up: they go by the ids of their calls and come in any order.
    answers: u128,
    /// What else there is in this turn, in order.
    others: u128,
}

impl DigestChain {
    pub(super) fn new(scope: u128) -> DigestChain {
        DigestChain {
            before: scope,
            side: None,
            text: TextDigest::default(),
            answers: 0,
            others: 0,
        }
    }

    pub(super) fn value(&self) -> u128 {
        match self.side {
            Some(side) => {
                let others = self.others.wrapping_add(self.answers);
                combine([self.before, side as u128, self.text.value(), others])
            }
            None => self.before,
        }
    }

    /// Whether a text of that side would be the first one of its turn.
    pub(super) fn is_first_text(&self, side: TurnSide) -> bool {
        self.side != Some(side) || matches!(self.text, TextDigest::Nothing)
    }

    /// Somebody says something. `more` if other texts may follow in the same turn.
    pub(super) fn add_text(&mut self, side: TurnSide, words: &str, more: bool) {
        if !words.is_empty() {
            self.begin_turn(side);
            self.text.add(words, more);
        }
    }

    /// Somebody does something else.
    pub(super) fn add_other(&mut self, side: TurnSide, value: u128) {
        self.begin_turn(side);
        self.others = combine([self.others, value]);
    }

    /// Somebody answers a call.
    pub(super) fn add_result(&mut self, side: TurnSide, value: u128) {
        self.begin_turn(side);
        self.answers = self.answers.wrapping_add(value);
    }

    fn begin_turn(&mut self, side: TurnSide) {
        if self.side != Some(side) {
            *self = DigestChain { side: Some(side), ..DigestChain::new(self.value()) };
        }
    }
}

/// Texts as one: the value is that of all of them behind each other, wherever they were cut.
#[derive(Clone, Default)]
pub(super) enum TextDigest {
    #[default]
    Nothing,
    /// One text; no other follows.
    One(u128),
    /// Texts, and perhaps more. Costs a kilobyte.
    Many(Box<Xxh3>),
}

impl TextDigest {
    /// Adds a text. `more` if others may follow.
    pub(super) fn add(&mut self, words: &str, more: bool) {
        match self {
            TextDigest::Nothing if !more => *self = TextDigest::One(digest_text(words)),
            TextDigest::Nothing => {
                let mut state = Box::new(Xxh3::new());
                state.update(words.as_bytes());
                *self = TextDigest::Many(state);
            }
            TextDigest::Many(state) => state.update(words.as_bytes()),
            // Somebody said that no other follows. The values still differ from all others.
            TextDigest::One(value) => *value = combine([*value, digest_text(words)]),
        }
    }

    pub(super) fn value(&self) -> u128 {
        match self {
            TextDigest::Nothing => 0,
            TextDigest::One(value) => *value,
            TextDigest::Many(state) => state.digest128(),
        }
    }
}

/// The value of a text.
#[inline]
pub(super) fn digest_text(words: &str) -> u128 {
    xxh3_128(words.as_bytes())
}

/// The value of a text of some sort, or in some place.
#[inline]
pub(super) fn digest_tagged(words: &str, sort: u64) -> u128 {
    xxh3_128_with_seed(words.as_bytes(), sort)
}

/// The value of several values, in order.
#[inline]
pub(super) fn combine<const N: usize>(values: [u128; N]) -> u128 {
    xxh3_128(values.map(u128::to_le_bytes).as_flattened())
}

/// The value of several values in any order, given by their sum.
#[inline]
pub(super) fn combine_sum(sum: u128, sort: u64) -> u128 {
    xxh3_128_with_seed(&sum.to_le_bytes(), sort)
}
