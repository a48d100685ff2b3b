//! Calls, answers and turns by their indices. A history may consist of nothing but small calls, and
//! there is one of these for each of them: indices have four bytes, as spans do.

use std::ops::Range;

use super::Fate;

/// One turn with calls: the assistant messages that made them, and where its answers belong.
#[derive(Clone, Debug)]
pub struct Group {
    messages: Range<u32>,
    home: Range<u32>,
    spill: Range<u32>,
    calls: Range<u32>,
}

impl Group {
    pub(super) fn new(
        messages: Range<usize>,
        home: Range<usize>,
        spill: Range<usize>,
        calls: Range<usize>,
    ) -> Group {
        let [messages, home, spill, calls] = [messages, home, spill, calls].map(narrow);
        Group { messages, home, spill, calls }
    }

    /// The assistant messages (indices into the draft's messages).
    pub fn messages(&self) -> Range<usize> {
        wide(&self.messages)
    }

    /// The messages its answers belong into.
    pub fn home(&self) -> Range<usize> {
        wide(&self.home)
    }

    /// User messages behind the home: answers there are split off (blocks layout).
    pub fn spill(&self) -> Range<usize> {
        wide(&self.spill)
    }

    /// Its calls (indices into [`super::Pairing::calls`]).
    pub fn calls(&self) -> Range<usize> {
        wide(&self.calls)
    }
}

/// A call and its answer.
#[derive(Clone, Copy, Debug)]
pub struct PairedCall {
    message: u32,
    part: u32,
    group: u32,
    answer: Option<OptionalIndex>,
}

impl PairedCall {
    pub(super) fn new(message: usize, part: usize) -> PairedCall {
        PairedCall { message: small(message), part: small(part), group: 0, answer: None }
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
    pub fn group(&self) -> usize {
        self.group as usize
    }

    /// Index into [`super::Pairing::answers`].
    pub fn answer(&self) -> Option<usize> {
        self.answer.map(OptionalIndex::index)
    }

    pub(super) fn set_group(&mut self, group: usize) {
        self.group = small(group);
    }

    pub(super) fn set_answer(&mut self, answer: Option<usize>) {
        self.answer = answer.and_then(OptionalIndex::new);
    }
}

/// An answer and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct PairedAnswer {
    message: u32,
    part: u32,
    fate: Fate<u32>,
}

impl PairedAnswer {
    pub(super) fn new(message: usize, part: usize) -> PairedAnswer {
        PairedAnswer { message: small(message), part: small(part), fate: Fate::Orphan }
    }

    /// Index of its message.
    pub fn message(&self) -> usize {
        self.message as usize
    }

    /// Index of its part in the draft.
    pub fn part(&self) -> usize {
        self.part as usize
    }

    /// Which call it answers, and from where.
    pub fn fate(&self) -> Fate {
        self.fate.map(|call| call as usize)
    }

    pub(super) fn set_fate(&mut self, fate: Fate) {
        self.fate = fate.map(small);
    }
}

/// An index that may be missing.
#[derive(Clone, Copy, Debug)]
struct OptionalIndex(std::num::NonZeroU32);

impl OptionalIndex {
    fn new(index: usize) -> Option<OptionalIndex> {
        std::num::NonZeroU32::new(small(index).wrapping_add(1)).map(OptionalIndex)
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Inputs have at most as many bytes as a span can tell, and so at most as many parts.
pub(super) fn small(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn narrow(range: Range<usize>) -> Range<u32> {
    small(range.start)..small(range.end)
}

fn wide(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_stay_small() {
        assert!(size_of::<PairedCall>() <= 16);
        assert!(size_of::<PairedAnswer>() <= 16);
        assert!(size_of::<Group>() <= 32);
    }
}
