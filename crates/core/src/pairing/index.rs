//! Calls, answers and turns by their indices. A history may consist entirely of small calls, with
//! one of these entries each, so indices have four bytes, as spans do.

use std::ops::Range;

use super::ResultMatch;

/// One turn with calls: the assistant messages that made them, and where its answers belong.
#[derive(Clone, Debug)]
pub struct Turn {
    messages: Range<u32>,
    home: Range<u32>,
    spill: Range<u32>,
    calls: Range<u32>,
}

impl Turn {
    pub(super) fn new(
        messages: Range<usize>,
        home: Range<usize>,
        spill: Range<usize>,
        calls: Range<usize>,
    ) -> Turn {
        let [messages, home, spill, calls] = [messages, home, spill, calls].map(to_u32_range);
        Turn { messages, home, spill, calls }
    }

    /// The assistant messages (indices into the draft's messages).
    pub fn messages(&self) -> Range<usize> {
        to_usize_range(&self.messages)
    }

    /// The messages in which its answers belong.
    pub fn home(&self) -> Range<usize> {
        to_usize_range(&self.home)
    }

    /// User messages after the home: answers there are split off (blocks layout).
    pub fn spill(&self) -> Range<usize> {
        to_usize_range(&self.spill)
    }

    /// Its calls (indices into [`super::CallPairing::calls`]).
    pub fn calls(&self) -> Range<usize> {
        to_usize_range(&self.calls)
    }
}

/// A call and its answer.
#[derive(Clone, Copy, Debug)]
pub struct PairedCall {
    message: u32,
    part: u32,
    turn: u32,
    answer: Option<OptionalIndex>,
}

impl PairedCall {
    pub(super) fn new(message: usize, part: usize) -> PairedCall {
        PairedCall { message: to_u32(message), part: to_u32(part), turn: 0, answer: None }
    }

    /// Index of its message.
    pub fn message(&self) -> usize {
        self.message as usize
    }

    /// Index of its part in the draft.
    pub fn part(&self) -> usize {
        self.part as usize
    }

    /// Index of its turn.
    pub fn turn(&self) -> usize {
        self.turn as usize
    }

    /// Index into [`super::CallPairing::answers`].
    pub fn answer(&self) -> Option<usize> {
        self.answer.map(OptionalIndex::index)
    }

    pub(super) fn set_turn(&mut self, turn: usize) {
        self.turn = to_u32(turn);
    }

    pub(super) fn set_answer(&mut self, answer: Option<usize>) {
        self.answer = answer.and_then(OptionalIndex::new);
    }
}

/// An answer and the call it matches.
#[derive(Clone, Copy, Debug)]
pub struct PairedAnswer {
    message: u32,
    part: u32,
    result_match: ResultMatch<u32>,
}

impl PairedAnswer {
    pub(super) fn new(message: usize, part: usize) -> PairedAnswer {
        PairedAnswer {
            message: to_u32(message),
            part: to_u32(part),
            result_match: ResultMatch::Orphan,
        }
    }

    /// Index of its message.
    pub fn message(&self) -> usize {
        self.message as usize
    }

    /// Index of its part in the draft.
    pub fn part(&self) -> usize {
        self.part as usize
    }

    /// The call it answers, and where it is.
    pub fn result_match(&self) -> ResultMatch {
        self.result_match.map(|call| call as usize)
    }

    pub(super) fn set_result_match(&mut self, result_match: ResultMatch) {
        self.result_match = result_match.map(to_u32);
    }
}

/// An index that may be missing.
#[derive(Clone, Copy, Debug)]
struct OptionalIndex(std::num::NonZeroU32);

impl OptionalIndex {
    fn new(index: usize) -> Option<OptionalIndex> {
        std::num::NonZeroU32::new(to_u32(index).wrapping_add(1)).map(OptionalIndex)
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Converts an index. An input has at most `u32::MAX` bytes, and so at most as many parts.
pub(crate) fn to_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn to_u32_range(range: Range<usize>) -> Range<u32> {
    to_u32(range.start)..to_u32(range.end)
}

fn to_usize_range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_stay_small() {
        assert!(size_of::<PairedCall>() <= 16);
        assert!(size_of::<PairedAnswer>() <= 16);
        assert!(size_of::<Turn>() <= 32);
    }
}
