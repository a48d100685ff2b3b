//! The calls of a run, and how events refer to them.
//!
//! Ids are unique only within a turn. An event without a turn refers to the newest open call with
//! its id. Calls without an id are identified by their order in their turn.

use std::{
    collections::{BTreeMap, HashMap, VecDeque, hash_map::Entry},
    hash::{Hash, Hasher},
};

use super::{ToolCallState, call_positions::CallPositions};
use crate::{CallRef, SharedId};

/// The calls of a run, in the order in which they first appeared.
#[derive(Clone, Debug, Default)]
pub(super) struct CallTable {
    pub(super) tools: Vec<ToolCallState>,
    by_id: HashMap<SharedId, CallPositions>,
    children: HashMap<SharedId, Vec<usize>>,
    unnamed: BTreeMap<u32, UnnamedCalls>,
    local_count: u64,
}

/// Calls of one turn without an id: calls that wait for a result, and results that wait for a call.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct UnnamedCalls {
    unanswered: VecDeque<usize>,
    uncalled: VecDeque<usize>,
    last: Option<usize>,
}

/// The kind of event that a call is looked up for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LookupPurpose<'a> {
    /// A tool call.
    Call {
        /// The name of the tool.
        name: Option<&'a SharedId>,
        /// Whether the arguments are complete.
        complete: bool,
    },
    /// A tool result.
    Answer,
    /// Any other event.
    Other,
}

/// Leaves out the lookup tables: they follow from the calls.
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
    /// Returns the call that an event refers to. Adds it if it is new.
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

    /// Returns the known calls that an event may refer to.
    pub(super) fn candidates(&self, id: &str, turn: Option<u32>) -> Vec<usize> {
        let Some(positions) = self.by_id.get(id) else { return Vec::new() };
        match turn {
            Some(turn) => positions.of_turn(turn, &self.tools).into_iter().collect(),
            None => positions.all(&self.tools),
        }
    }

    /// The newest call with an id.
    pub(super) fn newest(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).map(CallPositions::newest)
    }

    /// The calls that the sub-agent of a call made.
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
        let is_call = matches!(purpose, LookupPurpose::Call { .. });
        let named_turn = turn.or(is_call.then_some(current));
        let tools = &mut self.tools;
        let positions = match self.by_id.entry(id.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let index = tools.len();
                entry.insert(CallPositions::One(index));
                tools.push(ToolCallState::new(id.clone(), named_turn, turn.is_some()));
                return index;
            }
        };
        let exact = named_turn.and_then(|turn| positions.of_turn(turn, tools));
        let found = exact.or_else(|| match (turn, purpose) {
            (Some(_), LookupPurpose::Call { .. }) => {
                positions.last_without_turn(tools).or_else(|| positions.recent_open(tools))
            }
            (Some(_), LookupPurpose::Answer | LookupPurpose::Other) => positions.recent_open(tools),
            (None, LookupPurpose::Call { .. }) => {
                positions.last_without_turn(tools).or_else(|| positions.last_open(tools))
            }
            (None, LookupPurpose::Answer | LookupPurpose::Other) => {
                positions.last_open(tools).or(Some(positions.newest()))
            }
        });
        let index = found.unwrap_or_else(|| {
            positions.add(tools.len(), tools);
            tools.push(ToolCallState::new(id.clone(), None, false));
            tools.len() - 1
        });
        // A turn that was already shown does not change.
        if let (Some(tool), Some(named_turn)) = (tools.get_mut(index), named_turn)
            && tool.turn.is_none()
        {
            tool.turn = Some(named_turn);
            tool.explicit = turn.is_some();
            positions.set_turn(index, named_turn);
        }
        index
    }

    fn find_unnamed(&mut self, run: &SharedId, turn: u32, purpose: LookupPurpose<'_>) -> usize {
        let tools = &self.tools;
        let is_open = |index: &usize| tools.get(*index).is_some_and(ToolCallState::is_open);
        let has_answer = |index: &usize| tools.get(*index).is_none_or(ToolCallState::has_answer);
        let found = match purpose {
            LookupPurpose::Call { name, complete } => {
                self.unnamed.get_mut(&turn).and_then(|group| {
                    // The next update completes a call whose arguments are still arriving.
                    let unfinished = |index: &usize| {
                        tools.get(*index).is_some_and(|tool| {
                            let is_same_tool = tool.name.is_none() || tool.name.as_ref() == name;
                            is_same_tool
                                && tool.is_open()
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
                    while group.unanswered.front().is_some_and(has_answer) {
                        group.unanswered.pop_front();
                    }
                    group.unanswered.pop_front()
                })
            }
            LookupPurpose::Other => {
                self.unnamed.get(&turn).and_then(|group| group.last).filter(is_open)
            }
        };
        if let Some(index) = found {
            return index;
        }
        let id = self.local_id(run);
        let index = self.tools.len();
        self.by_id.insert(id.clone(), CallPositions::One(index));
        self.tools.push(ToolCallState::new(id, Some(turn), true));
        let group = self.unnamed.entry(turn).or_default();
        group.last = Some(index);
        match purpose {
            LookupPurpose::Call { .. } | LookupPurpose::Other => group.unanswered.push_back(index),
            LookupPurpose::Answer => group.uncalled.push_back(index),
        }
        index
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
