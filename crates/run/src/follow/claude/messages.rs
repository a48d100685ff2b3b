//! The messages of the model: which turn each of them is, and what of it has been told.

use std::{
    collections::{BTreeMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::SharedId;

/// How many messages are looked into at a time. Sub-agents speak in between, but not so many.
const MAX_OPEN_MESSAGES: usize = 64;

/// What a part of a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StreamedPartKind {
    Text,
    Thought,
    /// A call, by its number.
    Call(usize),
    Other,
}

/// A part of a message that comes in pieces.
pub(super) struct StreamedPart {
    pub(super) index: u64,
    pub(super) kind: StreamedPartKind,
    /// Its whole has been told.
    pub(super) closed: bool,
    /// No more pieces of it come.
    pub(super) ended: bool,
    /// Arguments, as far as they have come.
    pub(super) arguments: String,
}

/// What has been told of a message.
pub(super) struct StreamedMessage {
    pub(super) id: SharedId,
    pub(super) streamed: Vec<StreamedPart>,
    /// Marks of the parts that were told whole, in their order.
    pub(super) emitted: Vec<u64>,
}

/// The messages of a run.
#[derive(Default)]
pub(super) struct StreamedMessages {
    turns: BTreeMap<SharedId, u32>,
    recent: VecDeque<StreamedMessage>,
    /// The message that comes in pieces, for the run itself (no parent) and each sub-agent, and
    /// whether more of it is to come.
    streams: BTreeMap<Option<SharedId>, (SharedId, bool)>,
    unnamed_count: u32,
    /// The last message has no id and is not over.
    unnamed_open: bool,
}

impl StreamedMessages {
    /// The turn of a message of the run itself; says whether it is a new one.
    pub(super) fn turn(&mut self, id: &SharedId) -> (u32, bool) {
        let next = u32::try_from(self.turns.len()).unwrap_or(u32::MAX).saturating_add(1);
        match self.turns.get(id) {
            Some(turn) => (*turn, false),
            None => {
                self.turns.insert(id.clone(), next);
                (next, true)
            }
        }
    }

    /// A name for a message that has none: lines without an id are one message until somebody
    /// else speaks.
    pub(super) fn unnamed_message_id(&mut self) -> SharedId {
        if !self.unnamed_open {
            self.unnamed_count += 1;
            self.unnamed_open = true;
        }
        format!("nameless-{}", self.unnamed_count).into()
    }

    /// Somebody else speaks.
    pub(super) fn close_unnamed(&mut self) {
        self.unnamed_open = false;
    }

    /// What has been told of a message.
    pub(super) fn message_mut(&mut self, id: &SharedId) -> &mut StreamedMessage {
        let known = self.recent.iter().position(|message| message.id == *id);
        let message = known.and_then(|place| self.recent.remove(place));
        let new = || StreamedMessage { id: id.clone(), streamed: Vec::new(), emitted: Vec::new() };
        if self.recent.len() >= MAX_OPEN_MESSAGES {
            self.recent.pop_front();
        }
        self.recent.push_back(message.unwrap_or_else(new));
        let last = self.recent.len() - 1;
        &mut self.recent[last]
    }

    /// A message begins to come in pieces.
    pub(super) fn start_stream(&mut self, parent: Option<SharedId>, id: SharedId) {
        self.streams.insert(parent, (id, true));
    }

    /// The message that pieces without an id belong to.
    pub(super) fn streaming_message(&self, parent: Option<&SharedId>) -> Option<SharedId> {
        self.streams.get(&parent.cloned()).map(|(id, _)| id.clone())
    }

    /// No more parts come.
    pub(super) fn stop_stream(&mut self, parent: Option<&SharedId>) {
        if let Some((_, is_coming)) = self.streams.get_mut(&parent.cloned()) {
            *is_coming = false;
        }
    }

    /// Whether more of this message is to come.
    pub(super) fn is_incomplete(&self, parent: Option<&SharedId>, id: &SharedId) -> bool {
        self.streams.get(&parent.cloned()).is_some_and(|(other, coming)| *coming && other == id)
    }

    /// Whether more of the run's own message is to come.
    pub(super) fn is_streaming(&self) -> bool {
        self.streams.get(&None).is_some_and(|(_, is_coming)| *is_coming)
    }
}

impl StreamedMessage {
    pub(super) fn part(&mut self, index: u64) -> Option<&mut StreamedPart> {
        self.streamed.iter_mut().rev().find(|part| part.index == index)
    }

    /// The whole of a part is told: it is the first of its kind that is not.
    pub(super) fn close(&mut self, kind: StreamedPartKind) -> bool {
        let part = self.streamed.iter_mut().find(|part| part.kind == kind && !part.closed);
        let Some(part) = part else { return false };
        part.closed = true;
        part.arguments = String::new();
        self.forget_finished();
        true
    }

    /// No more pieces of a part come.
    pub(super) fn end(&mut self, index: u64) {
        if let Some(part) = self.part(index) {
            part.ended = true;
        }
        self.forget_finished();
    }

    fn forget_finished(&mut self) {
        self.streamed.retain(|part| !(part.closed && part.ended));
    }

    /// How many parts of a line have been told, because the line repeats what came before. A
    /// line with a single part never does: two parts may be alike.
    pub(super) fn repeated_count(&self, parts: &[u64]) -> usize {
        let repeats = parts.len() > 1 && parts.starts_with(&self.emitted);
        if repeats { self.emitted.len() } else { 0 }
    }
}

/// A mark by which a part is known again.
pub(super) fn part_hash(spelled: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    spelled.hash(&mut hasher);
    hasher.finish()
}
