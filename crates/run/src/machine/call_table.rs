//! The calls of a run, found by what an event says of them.
//!
//! Ids are unique within a turn only. An event that names no turn means the newest open call of
//! its id; calls without an id are told apart by their order in their turn.

use std::{
    collections::{BTreeMap, HashMap, VecDeque, hash_map::Entry},
    hash::{Hash, Hasher},
};

use super::{ToolCallState, call_positions::CallPositions};
use crate::{CallRef, SharedId};

/// The calls of a run, in the order in which they were first heard of.
#[derive(Clone, Debug, Default)]
pub(super) struct CallTable {
    pub(super) tools: Vec<ToolCallState>,
    by_id: HashMap<SharedId, CallPositions>,
    children: HashMap<SharedId, Vec<usize>>,
    unnamed: BTreeMap<u32, UnnamedCalls>,
    local_count: u64,
}

/// Calls without an id, of one turn: those that wait for an answer, and answers that wait.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct UnnamedCalls {
    unanswered: VecDeque<usize>,
    uncalled: VecDeque<usize>,
    last: Option<usize>,
}

/// What the event is about to say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LookupPurpose<'a> {
    /// That the call is made.
    Call {
        /// The tool.
        name: Option<&'a SharedId>,
        /// Whether its arguments are complete.
        complete: bool,
    },
    /// What came back.
    Answer,
    /// Anything else.
    Other,
}

/// What finds calls follows from the calls.
impl PartialEq for CallTable {
    fn eq(&self, other: &CallTable) -> bool {
        (&self.tools, self.local_count) == (&other.tools, other.local_count)
    }
}

impl Eq for CallTable {}

impl Hash for CallTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.tools, self.local_count).hash(state);
    }
}

impl CallTable {
    /// The call that is meant; a new one if it has not been heard of.
    pub(super) fn find(
        &mut self,
        run: &SharedId,
        call: &CallRef,
        current: u32,
        purpose: LookupPurpose<'_>,
    ) -> usize {
        match call.id.as_ref().filter(|id| !id.is_empty()) {
            Some(id) => self.find_by_id(id, call.turn, current, purpose),
            None => self.find_unnamed(run, call.turn.unwrap_or(current), purpose),
        }
    }

    /// The calls that may be meant, of those that have been heard of.
    pub(super) fn candidates(&self, id: &str, turn: Option<u32>) -> Vec<usize> {
        let Some(places) = self.by_id.get(id) else { return Vec::new() };
        match turn {
            Some(turn) => places.of_turn(turn, &self.tools).into_iter().collect(),
            None => places.all(&self.tools),
        }
    }

    /// The newest call of an id.
    pub(super) fn newest(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).map(CallPositions::newest)
    }

    /// The calls that a call's sub-agent made.
    pub(super) fn children(&self, parent: &str) -> &[usize] {
        self.children.get(parent).map(Vec::as_slice).unwrap_or(&[])
    }

    pub(super) fn add_child(&mut self, parent: &SharedId, child: usize) {
        self.children.entry(parent.clone()).or_default().push(child);
    }

    fn find_by_id(
        &mut self,
        id: &SharedId,
        turn: Option<u32>,
        current: u32,
        purpose: LookupPurpose<'_>,
    ) -> usize {
        let calls = matches!(purpose, LookupPurpose::Call { .. });
        let named = turn.or(calls.then_some(current));
        let tools = &mut self.tools;
        let places = match self.by_id.entry(id.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let place = tools.len();
                unknown.insert(CallPositions::One(place));
                tools.push(ToolCallState::new(id.clone(), named, turn.is_some()));
                return place;
            }
        };
        let exact = named.and_then(|turn| places.of_turn(turn, tools));
        let found = exact.or_else(|| match (turn, purpose) {
            (Some(_), LookupPurpose::Call { .. }) => {
                places.last_without_turn(tools).or_else(|| places.recent_open(tools))
            }
            (Some(_), LookupPurpose::Answer | LookupPurpose::Other) => places.recent_open(tools),
            (None, LookupPurpose::Call { .. }) => {
                places.last_without_turn(tools).or_else(|| places.last_open(tools))
            }
            (None, LookupPurpose::Answer | LookupPurpose::Other) => {
                places.last_open(tools).or(Some(places.newest()))
            }
        });
        let place = found.unwrap_or_else(|| {
            places.add(tools.len(), tools);
            tools.push(ToolCallState::new(id.clone(), None, false));
            tools.len() - 1
        });
        // A turn that others may have seen stays as it is.
        if let (Some(tool), Some(named)) = (tools.get_mut(place), named)
            && tool.turn.is_none()
        {
            tool.turn = Some(named);
            tool.explicit = turn.is_some();
            places.set_turn(place, named);
        }
        place
    }

    fn find_unnamed(&mut self, run: &SharedId, turn: u32, purpose: LookupPurpose<'_>) -> usize {
        let tools = &self.tools;
        let open = |place: &usize| tools.get(*place).is_some_and(ToolCallState::is_open);
        let answered = |place: &usize| tools.get(*place).is_none_or(ToolCallState::has_answer);
        let found = match purpose {
            LookupPurpose::Call { name, complete } => {
                self.unnamed.get_mut(&turn).and_then(|group| {
                    // A call that is still being written is completed by what is said next.
                    let unfinished = |place: &usize| {
                        tools.get(*place).is_some_and(|tool| {
                            let same = tool.name.is_none() || tool.name.as_ref() == name;
                            same && tool.is_open()
                                && tool.input.is_none()
                                && (complete || !tool.called)
                        })
                    };
                    group.uncalled.pop_front().or(group.last.filter(unfinished))
                })
            }
            LookupPurpose::Answer => {
                let groups = self.unnamed.range_mut(..=turn).rev();
                groups.take(8).find_map(|(_, group)| {
                    while group.unanswered.front().is_some_and(answered) {
                        group.unanswered.pop_front();
                    }
                    group.unanswered.pop_front()
                })
            }
            LookupPurpose::Other => {
                self.unnamed.get(&turn).and_then(|group| group.last).filter(open)
            }
        };
        if let Some(place) = found {
            return place;
        }
        let id = self.local_id(run);
        let place = self.tools.len();
        self.by_id.insert(id.clone(), CallPositions::One(place));
        self.tools.push(ToolCallState::new(id, Some(turn), true));
        let group = self.unnamed.entry(turn).or_default();
        group.last = Some(place);
        match purpose {
            LookupPurpose::Call { .. } | LookupPurpose::Other => group.unanswered.push_back(place),
            LookupPurpose::Answer => group.uncalled.push_back(place),
        }
        place
    }

    fn local_id(&mut self, run: &SharedId) -> SharedId {
        loop {
            self.local_count += 1;
            let id = SharedId::from(format!("local-{run}-{}", self.local_count));
            if !self.by_id.contains_key(&id) {
                return id;
            }
        }
    }
}
