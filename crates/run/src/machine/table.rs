//! The calls of a run, found by what an event says of them.
//!
//! Ids are unique within a turn only. An event that names no turn means the newest open call of
//! its id; calls without an id are told apart by their order in their turn.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    hash::{Hash, Hasher},
};

use super::Tool;
use crate::{CallRef, Id};

/// The calls of a run, in the order in which they were first heard of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Table {
    pub(super) tools: Vec<Tool>,
    by_id: HashMap<Id, Vec<usize>>,
    children: HashMap<Id, Vec<usize>>,
    nameless: BTreeMap<u32, Nameless>,
    locals: u64,
}

/// Calls without an id, of one turn: those that wait for an answer, and answers that wait.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Nameless {
    unanswered: VecDeque<usize>,
    uncalled: VecDeque<usize>,
    last: Option<usize>,
}

/// What the event is about to say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Purpose<'a> {
    /// That the call is made.
    Call {
        /// The tool.
        name: Option<&'a Id>,
        /// Whether its arguments are complete.
        complete: bool,
    },
    /// What came back.
    Answer,
    /// Anything else.
    Remark,
}

/// What finds calls follows from the calls.
impl Hash for Table {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.tools, &self.nameless, self.locals).hash(state);
    }
}

impl Table {
    /// The call that is meant; a new one if it has not been heard of.
    pub(super) fn find(
        &mut self,
        run: &Id,
        call: &CallRef,
        current: u32,
        purpose: Purpose<'_>,
    ) -> usize {
        match call.id.as_ref().filter(|id| !id.is_empty()) {
            Some(id) => self.named(id, call.turn, current, purpose),
            None => self.nameless(run, call.turn.unwrap_or(current), purpose),
        }
    }

    /// The call that is meant, if it has been heard of.
    pub(super) fn known(&self, id: &str, turn: Option<u32>) -> Vec<usize> {
        let places = self.by_id.get(id).map(Vec::as_slice).unwrap_or(&[]);
        let fits = |place: &&usize| {
            turn.is_none() || self.tools.get(**place).is_some_and(|tool| tool.turn == turn)
        };
        places.iter().filter(fits).copied().collect()
    }

    /// The calls that a call's sub-agent made.
    pub(super) fn children(&self, parent: &str) -> &[usize] {
        self.children.get(parent).map(Vec::as_slice).unwrap_or(&[])
    }

    pub(super) fn adopt(&mut self, parent: &Id, child: usize) {
        self.children.entry(parent.clone()).or_default().push(child);
    }

    fn named(&mut self, id: &Id, turn: Option<u32>, current: u32, purpose: Purpose<'_>) -> usize {
        let tools = &self.tools;
        let found = self.by_id.get(id).and_then(|places| {
            let last = |fits: &dyn Fn(&Tool) -> bool| {
                places.iter().rev().copied().find(|place| tools.get(*place).is_some_and(fits))
            };
            match (turn, purpose) {
                (Some(turn), _) => last(&|tool| tool.turn == Some(turn))
                    .or_else(|| last(&|tool| !tool.explicit && tool.is_adrift(purpose))),
                (None, Purpose::Call { .. }) => last(&|tool| tool.turn == Some(current))
                    .or_else(|| last(&|tool| tool.turn.is_none() || tool.is_open())),
                (None, Purpose::Answer | Purpose::Remark) => {
                    last(&Tool::is_open).or_else(|| places.last().copied())
                }
            }
        });
        let place = found.unwrap_or_else(|| self.add(id.clone()));
        if let Some(tool) = self.tools.get_mut(place) {
            // A turn that others may have seen stays as it is.
            if turn.is_some() && tool.turn.is_none() {
                tool.turn = turn;
                tool.explicit = true;
            } else if matches!(purpose, Purpose::Call { .. }) && tool.turn.is_none() {
                tool.turn = Some(current);
            }
        }
        place
    }

    fn nameless(&mut self, run: &Id, turn: u32, purpose: Purpose<'_>) -> usize {
        let tools = &self.tools;
        let open = |place: &usize| tools.get(*place).is_some_and(Tool::is_open);
        let found = match purpose {
            Purpose::Call { name, complete } => self.nameless.get_mut(&turn).and_then(|group| {
                // A call that is still being written is completed by what is said next.
                let unfinished = |place: &usize| {
                    tools.get(*place).is_some_and(|tool| {
                        let same = tool.name.is_none() || tool.name.as_ref() == name;
                        same && tool.is_open() && tool.input.is_none() && (complete || !tool.called)
                    })
                };
                group.uncalled.pop_front().or(group.last.filter(unfinished))
            }),
            Purpose::Answer => {
                let groups = self.nameless.range_mut(..=turn).rev();
                groups.take(8).find_map(|(_, group)| {
                    while group.unanswered.front().is_some_and(|place| !open(place)) {
                        group.unanswered.pop_front();
                    }
                    group.unanswered.pop_front()
                })
            }
            Purpose::Remark => self.nameless.get(&turn).and_then(|group| group.last).filter(open),
        };
        if let Some(place) = found {
            return place;
        }
        let id = self.local_id(run);
        let place = self.add(id);
        if let Some(tool) = self.tools.get_mut(place) {
            tool.turn = Some(turn);
            tool.explicit = true;
        }
        let group = self.nameless.entry(turn).or_default();
        group.last = Some(place);
        match purpose {
            Purpose::Call { .. } | Purpose::Remark => group.unanswered.push_back(place),
            Purpose::Answer => group.uncalled.push_back(place),
        }
        place
    }

    fn local_id(&mut self, run: &Id) -> Id {
        loop {
            self.locals += 1;
            let id = Id::from(format!("local-{run}-{}", self.locals));
            if !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }

    fn add(&mut self, call: Id) -> usize {
        let place = self.tools.len();
        self.by_id.entry(call.clone()).or_default().push(place);
        self.tools.push(Tool::new(call));
        place
    }
}

impl Tool {
    /// Whether a call of which nobody knows the turn for sure may be the one that is meant.
    fn is_adrift(&self, purpose: Purpose<'_>) -> bool {
        match purpose {
            Purpose::Call { .. } => !self.called || self.is_open(),
            Purpose::Answer | Purpose::Remark => self.is_open(),
        }
    }
}
