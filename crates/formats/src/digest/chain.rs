//! The chain of values: each turn is combined with the value of all turns before it.

use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_128, xxh3_128_with_seed};

/// Side of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TurnSide {
    /// The user and the tool results.
    User = 1,
    /// The model.
    Model = 2,
}

/// The conversation so far.
#[derive(Clone)]
pub(super) struct DigestChain {
    /// The value of all turns before the current one.
    before: u128,
    /// Side of the current turn; `None` at the start.
    side: Option<TurnSide>,
    /// Text of the current turn.
    text: TextDigest,
    /// Sum of the results of this turn: they match by call id and come in any order.
    answers: u128,
    /// Everything else in this turn, in order.
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

    /// Adds a text. `more` if other texts may follow in the same turn.
    pub(super) fn add_text(&mut self, side: TurnSide, text: &str, more: bool) {
        if !text.is_empty() {
            self.begin_turn(side);
            self.text.add(text, more);
        }
    }

    /// Adds any other content.
    pub(super) fn add_other(&mut self, side: TurnSide, value: u128) {
        self.begin_turn(side);
        self.others = combine([self.others, value]);
    }

    /// Adds a tool result.
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

/// Digest of texts that is independent of where they are split: the value of their concatenation.
#[derive(Clone, Default)]
pub(super) enum TextDigest {
    #[default]
    Nothing,
    /// One text; no other follows.
    One(u128),
    /// Texts, and maybe more. Takes a kilobyte.
    Many(Box<Xxh3>),
}

impl TextDigest {
    /// Adds a text. `more` if others may follow.
    pub(super) fn add(&mut self, text: &str, more: bool) {
        match self {
            TextDigest::Nothing if !more => *self = TextDigest::One(digest_text(text)),
            TextDigest::Nothing => {
                let mut state = Box::new(Xxh3::new());
                state.update(text.as_bytes());
                *self = TextDigest::Many(state);
            }
            TextDigest::Many(state) => state.update(text.as_bytes()),
            // An earlier call passed `more: false`. The value still differs from all others.
            TextDigest::One(value) => *value = combine([*value, digest_text(text)]),
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
pub(super) fn digest_text(text: &str) -> u128 {
    xxh3_128(text.as_bytes())
}

/// The value of a text with a type or a place.
#[inline]
pub(super) fn digest_tagged(text: &str, tag: u64) -> u128 {
    xxh3_128_with_seed(text.as_bytes(), tag)
}

/// The value of several values, in order.
#[inline]
pub(super) fn combine<const N: usize>(values: [u128; N]) -> u128 {
    xxh3_128(values.map(u128::to_le_bytes).as_flattened())
}

/// The value of several values in any order, given their sum.
#[inline]
pub(super) fn combine_sum(sum: u128, tag: u64) -> u128 {
    xxh3_128_with_seed(&sum.to_le_bytes(), tag)
}

/// The type of a value, so that `"1"` differs from `1`. Added to the place of the value.
pub(super) const STRING: u64 = 1;
pub(super) const NUMBER: u64 = 2;
pub(super) const WORD: u64 = 3;
pub(super) const BROKEN: u64 = 4;
pub(super) const LIST: u64 = 5;
pub(super) const OBJECT: u64 = 6;

/// The place of a value. The values of an object or a list are summed, so each value includes its
/// place, and the order of fields does not matter.
pub(super) const TOP: u64 = 0;

/// The place of the value of a key.
#[inline]
pub(super) fn key_place(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// The place of a list element.
#[inline]
pub(super) fn index_place(index: u64) -> u64 {
    index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
