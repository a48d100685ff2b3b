//! Where the calls of one id are. Nearly always there is one, and then the call itself says
//! everything; lists are kept from the second on.

use std::collections::BTreeMap;

use super::Tool;

/// The calls of one id.
#[derive(Clone, Debug)]
pub(super) enum Places {
    /// The only one.
    One(usize),
    /// More.
    Many(Box<Many>),
}

/// How far back is looked for a call whose turn nobody named.
const NEAR: usize = 8;

/// Several calls of one id.
#[derive(Clone, Debug, Default)]
pub(super) struct Many {
    newest: usize,
    /// Those whose turn is known.
    turns: BTreeMap<u32, usize>,
    /// Those that may be open; what is settled is taken out when it is met.
    open: Vec<usize>,
    /// Those that were heard of before anybody named their turn.
    adrift: Vec<usize>,
}

impl Places {
    /// The call that was heard of last.
    pub(super) fn newest(&self) -> usize {
        match self {
            Places::One(place) => *place,
            Places::Many(many) => many.newest,
        }
    }

    /// The call of a turn.
    pub(super) fn of_turn(&self, turn: u32, tools: &[Tool]) -> Option<usize> {
        match self {
            Places::One(place) => {
                one(*place, tools, |tool| tool.turn == Some(turn)).then_some(*place)
            }
            Places::Many(many) => many.turns.get(&turn).copied(),
        }
    }

    /// All of them: first those whose turn is known, in the order of their turns.
    pub(super) fn all(&self, tools: &[Tool]) -> Vec<usize> {
        match self {
            Places::One(place) => vec![*place],
            Places::Many(many) => {
                let adrift = many.adrift.iter().filter(|place| one(**place, tools, is_adrift));
                many.turns.values().chain(adrift).copied().collect()
            }
        }
    }

    pub(super) fn last_open(&mut self, tools: &[Tool]) -> Option<usize> {
        match self {
            Places::One(place) => one(*place, tools, Tool::is_open).then_some(*place),
            Places::Many(many) => settle(&mut many.open, |place| one(place, tools, Tool::is_open)),
        }
    }

    pub(super) fn last_adrift(&mut self, tools: &[Tool]) -> Option<usize> {
        match self {
            Places::One(place) => one(*place, tools, is_adrift).then_some(*place),
            Places::Many(many) => settle(&mut many.adrift, |place| one(place, tools, is_adrift)),
        }
    }

    /// An open call that came before anybody spoke of turns: one of the last few.
    pub(super) fn near(&mut self, tools: &[Tool]) -> Option<usize> {
        let fits = |tool: &Tool| tool.is_open() && !tool.explicit && tool.turn() == 0;
        match self {
            Places::One(place) => one(*place, tools, fits).then_some(*place),
            Places::Many(many) => {
                let mut last = Vec::new();
                while last.len() < NEAR
                    && let Some(place) = many.open.pop()
                {
                    last.extend(one(place, tools, Tool::is_open).then_some(place));
                }
                let found = last.iter().copied().find(|place| one(*place, tools, fits));
                many.open.extend(last.into_iter().rev());
                found
            }
        }
    }

    /// Takes one more call, whose turn nobody named so far.
    pub(super) fn add(&mut self, place: usize, tools: &[Tool]) {
        if let Places::One(first) = *self {
            let mut many = Many::default();
            many.push(first);
            if let Some(turn) = tools.get(first).and_then(|tool| tool.turn) {
                many.turns.insert(turn, first);
            }
            *self = Places::Many(Box::new(many));
        }
        if let Places::Many(many) = self {
            many.push(place);
        }
    }

    /// A call's turn was named.
    pub(super) fn turn_named(&mut self, place: usize, turn: u32) {
        match self {
            Places::One(_) => {}
            Places::Many(many) => {
                many.turns.insert(turn, place);
            }
        }
    }
}

impl Many {
    fn push(&mut self, place: usize) {
        self.newest = place;
        self.open.push(place);
        self.adrift.push(place);
    }
}

fn one(place: usize, tools: &[Tool], fits: impl Fn(&Tool) -> bool) -> bool {
    tools.get(place).is_some_and(fits)
}

fn is_adrift(tool: &Tool) -> bool {
    tool.turn.is_none()
}

/// The last place that still fits. What does not fit any more never will.
fn settle(places: &mut Vec<usize>, fits: impl Fn(usize) -> bool) -> Option<usize> {
    while let Some(place) = places.last().copied() {
        if fits(place) {
            return Some(place);
        }
        places.pop();
    }
    None
}
