//! The chain of values: turn by turn, each with the value of all turns before it.

use xxhash_rust::xxh3::{Xxh3, xxh3_128, xxh3_128_with_seed};

/// Who says something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// The user, and the answers.
    User = 1,
    /// The model.
    Model = 2,
}

/// A conversation so far.
#[derive(Clone)]
pub(super) struct Chain {
    /// The value of all turns before this one.
    before: u128,
    /// Whose turn it is; nobody's at the beginning.
    side: Option<Side>,
    /// What was said in this turn.
    text: Joined,
    /// The answers of this turn, added up: they go by the ids of their calls and come in any order.
    answers: u128,
    /// What else there is in this turn, in order.
    others: u128,
}

impl Chain {
    pub(super) fn new(scope: u128) -> Chain {
        Chain { before: scope, side: None, text: Joined::default(), answers: 0, others: 0 }
    }

    pub(super) fn value(&self) -> u128 {
        match self.side {
            Some(side) => {
                let others = self.others.wrapping_add(self.answers);
                mix([self.before, side as u128, self.text.value(), others])
            }
            None => self.before,
        }
    }

    /// Whether a text of that side would be the first one of its turn.
    pub(super) fn is_first(&self, side: Side) -> bool {
        self.side != Some(side) || matches!(self.text, Joined::Nothing)
    }

    /// Somebody says something. `more` if other texts may follow in the same turn.
    pub(super) fn text(&mut self, side: Side, words: &str, more: bool) {
        if !words.is_empty() {
            self.turn(side);
            self.text.add(words, more);
        }
    }

    /// Somebody does something else.
    pub(super) fn other(&mut self, side: Side, value: u128) {
        self.turn(side);
        self.others = mix([self.others, value]);
    }

    /// Somebody answers a call.
    pub(super) fn answer(&mut self, side: Side, value: u128) {
        self.turn(side);
        self.answers = self.answers.wrapping_add(value);
    }

    fn turn(&mut self, side: Side) {
        if self.side != Some(side) {
            *self = Chain { side: Some(side), ..Chain::new(self.value()) };
        }
    }
}

/// Texts as one: the value is that of all of them behind each other, wherever they were cut.
#[derive(Clone, Default)]
pub(super) enum Joined {
    #[default]
    Nothing,
    /// One text; no other follows.
    One(u128),
    /// Texts, and perhaps more. Costs a kilobyte.
    Many(Box<Xxh3>),
}

impl Joined {
    /// Adds a text. `more` if others may follow.
    pub(super) fn add(&mut self, words: &str, more: bool) {
        match self {
            Joined::Nothing if !more => *self = Joined::One(text(words)),
            Joined::Nothing => {
                let mut state = Box::new(Xxh3::new());
                state.update(words.as_bytes());
                *self = Joined::Many(state);
            }
            Joined::Many(state) => state.update(words.as_bytes()),
            // Somebody said that no other follows. The values still differ from all others.
            Joined::One(value) => *value = mix([*value, text(words)]),
        }
    }

    pub(super) fn value(&self) -> u128 {
        match self {
            Joined::Nothing => 0,
            Joined::One(value) => *value,
            Joined::Many(state) => state.digest128(),
        }
    }
}

/// The value of a text.
#[inline]
pub(super) fn text(words: &str) -> u128 {
    xxh3_128(words.as_bytes())
}

/// The value of a text of some sort, or in some place.
#[inline]
pub(super) fn of_sort(words: &str, sort: u64) -> u128 {
    xxh3_128_with_seed(words.as_bytes(), sort)
}

/// The value of several values, in order.
#[inline]
pub(super) fn mix<const N: usize>(values: [u128; N]) -> u128 {
    xxh3_128(values.map(u128::to_le_bytes).as_flattened())
}

/// The value of several values in any order, given by their sum.
#[inline]
pub(super) fn of_sum(sum: u128, sort: u64) -> u128 {
    xxh3_128_with_seed(&sum.to_le_bytes(), sort)
}
