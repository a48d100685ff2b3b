//! Where the calls of one id are. Nearly always there is one, and then the call itself says
//! everything; lists are kept from the second on.

use std::collections::BTreeMap;

use super::ToolCallState;

/// The calls of one id.
#[derive(Clone, Debug)]
pub(super) enum CallPositions {
    /// The only one.
    One(usize),
    /// More.
    Many(Box<CallPositionList>),
}

/// How far back is looked for a call whose turn nobody named.
const MAX_LOOKBACK: usize = 8;

/// Several calls of one id.
#[derive(Clone, Debug, Default)]
pub(super) struct CallPositionList {
    newest: usize,
    /// Those whose turn is known.
    turns: BTreeMap<u32, usize>,
    /// Those that may be open; what is settled is taken out when it is met.
    open: Vec<usize>,
    /// Those that were heard of before anybody named their turn.
    without_turn: Vec<usize>,
}

impl CallPositions {
    /// The call that was heard of last.
    pub(super) fn newest(&self) -> usize {
        match self {
            CallPositions::One(place) => *place,
            CallPositions::Many(many) => many.newest,
        }
    }

    /// The call of a turn.
    pub(super) fn of_turn(&self, turn: u32, tools: &[ToolCallState]) -> Option<usize> {
        match self {
            CallPositions::One(place) => {
                is_matching(*place, tools, |tool| tool.turn == Some(turn)).then_some(*place)
            }
            CallPositions::Many(many) => many.turns.get(&turn).copied(),
        }
    }

    /// All of them: first those whose turn is known, in the order of their turns.
    pub(super) fn all(&self, tools: &[ToolCallState]) -> Vec<usize> {
        match self {
            CallPositions::One(place) => vec![*place],
            CallPositions::Many(many) => {
                let adrift = many
                    .without_turn
                    .iter()
                    .filter(|place| is_matching(**place, tools, has_no_turn));
                many.turns.values().chain(adrift).copied().collect()
            }
        }
    }

    pub(super) fn last_open(&mut self, tools: &[ToolCallState]) -> Option<usize> {
        match self {
            CallPositions::One(place) => {
                is_matching(*place, tools, ToolCallState::is_open).then_some(*place)
            }
            CallPositions::Many(many) => last_matching(&mut many.open, |place| {
                is_matching(place, tools, ToolCallState::is_open)
            }),
        }
    }

    pub(super) fn last_without_turn(&mut self, tools: &[ToolCallState]) -> Option<usize> {
        match self {
            CallPositions::One(place) => is_matching(*place, tools, has_no_turn).then_some(*place),
            CallPositions::Many(many) => last_matching(&mut many.without_turn, |place| {
                is_matching(place, tools, has_no_turn)
            }),
        }
    }

    /// An open call that came before anybody spoke of turns: one of the last few.
    pub(super) fn recent_open(&mut self, tools: &[ToolCallState]) -> Option<usize> {
        let fits = |tool: &ToolCallState| tool.is_open() && !tool.explicit && tool.turn() == 0;
        match self {
            CallPositions::One(place) => is_matching(*place, tools, fits).then_some(*place),
            CallPositions::Many(many) => {
                let mut last = Vec::new();
                while last.len() < MAX_LOOKBACK
                    && let Some(place) = many.open.pop()
                {
                    last.extend(is_matching(place, tools, ToolCallState::is_open).then_some(place));
                }
                let found = last.iter().copied().find(|place| is_matching(*place, tools, fits));
                many.open.extend(last.into_iter().rev());
                found
            }
        }
    }

    /// Takes one more call, whose turn nobody named so far.
    pub(super) fn add(&mut self, place: usize, tools: &[ToolCallState]) {
        if let CallPositions::One(first) = *self {
            let mut many = CallPositionList::default();
            many.push(first);
            if let Some(turn) = tools.get(first).and_then(|tool| tool.turn) {
                many.turns.insert(turn, first);
            }
            *self = CallPositions::Many(Box::new(many));
        }
        if let CallPositions::Many(many) = self {
            many.push(place);
        }
    }

    /// A call's turn was named.
    pub(super) fn set_turn(&mut self, place: usize, turn: u32) {
        match self {
            CallPositions::One(_) => {}
            CallPositions::Many(many) => {
                many.turns.insert(turn, place);
            }
        }
    }
}

impl CallPositionList {
    fn push(&mut self, place: usize) {
        self.newest = place;
        self.open.push(place);
        self.without_turn.push(place);
    }
}

fn is_matching(
    place: usize,
    tools: &[ToolCallState],
    fits: impl Fn(&ToolCallState) -> bool,
) -> bool {
    tools.get(place).is_some_and(fits)
}

fn has_no_turn(tool: &ToolCallState) -> bool {
    tool.turn.is_none()
}

/// The last place that still fits. What does not fit any more never will.
fn last_matching(places: &mut Vec<usize>, fits: impl Fn(usize) -> bool) -> Option<usize> {
    while let Some(place) = places.last().copied() {
        if fits(place) {
            return Some(place);
        }
        places.pop();
    }
    None
}
