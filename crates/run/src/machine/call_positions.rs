//! The indices of the calls with one id. Nearly always there is only one, and then the call itself
//! holds everything; lists are kept from the second call on.

use std::collections::BTreeMap;

use super::ToolCallState;

/// The calls with one id.
#[derive(Clone, Debug)]
pub(super) enum CallPositions {
    /// The only call.
    One(usize),
    /// Several calls.
    Many(Box<CallPositionList>),
}

/// How many open calls are searched for one without an explicit turn.
const MAX_LOOKBACK: usize = 8;

/// Several calls with one id.
#[derive(Clone, Debug, Default)]
pub(super) struct CallPositionList {
    newest: usize,
    /// Calls whose turn is known.
    turns: BTreeMap<u32, usize>,
    /// Calls that may be open. Settled ones are removed when they are found.
    open: Vec<usize>,
    /// Calls that appeared before their turn was known.
    without_turn: Vec<usize>,
}

impl CallPositions {
    /// The call that appeared last.
    pub(super) fn newest(&self) -> usize {
        match self {
            CallPositions::One(index) => *index,
            CallPositions::Many(list) => list.newest,
        }
    }

    /// The call of a turn.
    pub(super) fn of_turn(&self, turn: u32, tools: &[ToolCallState]) -> Option<usize> {
        match self {
            CallPositions::One(index) => {
                is_matching(*index, tools, |tool| tool.turn == Some(turn)).then_some(*index)
            }
            CallPositions::Many(list) => list.turns.get(&turn).copied(),
        }
    }

    /// All calls: first those with a known turn, in the order of their turns.
    pub(super) fn all(&self, tools: &[ToolCallState]) -> Vec<usize> {
        match self {
            CallPositions::One(index) => vec![*index],
            CallPositions::Many(list) => {
                let without_turn = list
                    .without_turn
                    .iter()
                    .filter(|index| is_matching(**index, tools, has_no_turn));
                list.turns.values().chain(without_turn).copied().collect()
            }
        }
    }

    pub(super) fn last_open(&mut self, tools: &[ToolCallState]) -> Option<usize> {
        match self {
            CallPositions::One(index) => {
                is_matching(*index, tools, ToolCallState::is_open).then_some(*index)
            }
            CallPositions::Many(list) => last_matching(&mut list.open, |index| {
                is_matching(index, tools, ToolCallState::is_open)
            }),
        }
    }

    pub(super) fn last_without_turn(&mut self, tools: &[ToolCallState]) -> Option<usize> {
        match self {
            CallPositions::One(index) => is_matching(*index, tools, has_no_turn).then_some(*index),
            CallPositions::Many(list) => last_matching(&mut list.without_turn, |index| {
                is_matching(index, tools, has_no_turn)
            }),
        }
    }

    /// Finds an open call that came before any turn was reported, among the last few.
    pub(super) fn recent_open(&mut self, tools: &[ToolCallState]) -> Option<usize> {
        let is_match = |tool: &ToolCallState| tool.is_open() && !tool.explicit && tool.turn() == 0;
        match self {
            CallPositions::One(index) => is_matching(*index, tools, is_match).then_some(*index),
            CallPositions::Many(list) => {
                let mut recent = Vec::new();
                while recent.len() < MAX_LOOKBACK
                    && let Some(index) = list.open.pop()
                {
                    recent
                        .extend(is_matching(index, tools, ToolCallState::is_open).then_some(index));
                }
                let found =
                    recent.iter().copied().find(|index| is_matching(*index, tools, is_match));
                list.open.extend(recent.into_iter().rev());
                found
            }
        }
    }

    /// Adds a call whose turn is not known yet.
    pub(super) fn add(&mut self, index: usize, tools: &[ToolCallState]) {
        if let CallPositions::One(first) = *self {
            let mut list = CallPositionList::default();
            list.push(first);
            if let Some(turn) = tools.get(first).and_then(|tool| tool.turn) {
                list.turns.insert(turn, first);
            }
            *self = CallPositions::Many(Box::new(list));
        }
        if let CallPositions::Many(list) = self {
            list.push(index);
        }
    }

    /// Records the turn of a call.
    pub(super) fn set_turn(&mut self, index: usize, turn: u32) {
        match self {
            CallPositions::One(_) => {}
            CallPositions::Many(list) => {
                list.turns.insert(turn, index);
            }
        }
    }
}

impl CallPositionList {
    fn push(&mut self, index: usize) {
        self.newest = index;
        self.open.push(index);
        self.without_turn.push(index);
    }
}

fn is_matching(
    index: usize,
    tools: &[ToolCallState],
    is_match: impl Fn(&ToolCallState) -> bool,
) -> bool {
    tools.get(index).is_some_and(is_match)
}

fn has_no_turn(tool: &ToolCallState) -> bool {
    tool.turn.is_none()
}

/// Returns the last index that still matches. Indices that no longer match are removed: they never
/// will again.
fn last_matching(indices: &mut Vec<usize>, is_match: impl Fn(usize) -> bool) -> Option<usize> {
    while let Some(index) = indices.last().copied() {
        if is_match(index) {
            return Some(index);
        }
        indices.pop();
    }
    None
}
