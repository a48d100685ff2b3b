//! The messages of the model: their turns, and what was emitted of them.

use std::{
    collections::{BTreeMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::SharedId;

/// Maximum number of open messages; sub-agents interleave, but not that many.
const MAX_OPEN_MESSAGES: usize = 64;

/// The kind of a part of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StreamedPartKind {
    Text,
    Thought,
    /// A call, by its number.
    Call(usize),
    Other,
}

/// A part of a message that is streamed.
pub(super) struct StreamedPart {
    pub(super) index: u64,
    pub(super) kind: StreamedPartKind,
    /// The whole part was emitted.
    pub(super) closed: bool,
    /// No more deltas follow.
    pub(super) ended: bool,
    /// Arguments received so far.
    pub(super) arguments: String,
}

/// What was emitted of a message.
pub(super) struct StreamedMessage {
    pub(super) id: SharedId,
    pub(super) streamed: Vec<StreamedPart>,
    /// Hashes of the parts that were emitted whole, in order.
    pub(super) emitted: Vec<u64>,
}

/// The messages of a run.
#[derive(Default)]
pub(super) struct StreamedMessages {
    turns: BTreeMap<SharedId, u32>,
    recent: VecDeque<StreamedMessage>,
    /// The streamed message of the run itself (no parent) and of each sub-agent, and whether more
    /// of it follows.
    streams: BTreeMap<Option<SharedId>, (SharedId, bool)>,
    unnamed_count: u32,
    /// The last message has no id and has not ended.
    unnamed_open: bool,
}

impl StreamedMessages {
    /// The turn of a message of the run itself, and whether it is new.
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

    /// An id for a message that has none: lines without an id are one message until another role
    /// follows.
    pub(super) fn unnamed_message_id(&mut self) -> SharedId {
        if !self.unnamed_open {
            self.unnamed_count += 1;
            self.unnamed_open = true;
        }
        format!("nameless-{}", self.unnamed_count).into()
    }

    /// Ends the message without an id.
    pub(super) fn close_unnamed(&mut self) {
        self.unnamed_open = false;
    }

    /// What was emitted of a message.
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

    /// Starts a streamed message.
    pub(super) fn start_stream(&mut self, parent: Option<SharedId>, id: SharedId) {
        self.streams.insert(parent, (id, true));
    }

    /// The message that deltas without an id belong to.
    pub(super) fn streaming_message(&self, parent: Option<&SharedId>) -> Option<SharedId> {
        self.streams.get(&parent.cloned()).map(|(id, _)| id.clone())
    }

    /// No more parts follow.
    pub(super) fn stop_stream(&mut self, parent: Option<&SharedId>) {
        if let Some((_, has_more)) = self.streams.get_mut(&parent.cloned()) {
            *has_more = false;
        }
    }

    /// Whether more of this message follows.
    pub(super) fn is_incomplete(&self, parent: Option<&SharedId>, id: &SharedId) -> bool {
        self.streams.get(&parent.cloned()).is_some_and(|(other, has_more)| *has_more && other == id)
    }

    /// Whether more of the run's own message follows.
    pub(super) fn is_streaming(&self) -> bool {
        self.streams.get(&None).is_some_and(|(_, has_more)| *has_more)
    }
}

impl StreamedMessage {
    pub(super) fn part(&mut self, index: u64) -> Option<&mut StreamedPart> {
        self.streamed.iter_mut().rev().find(|part| part.index == index)
    }

    /// Marks the first open part of this kind as emitted. Returns false if there is none.
    pub(super) fn close(&mut self, kind: StreamedPartKind) -> bool {
        let part = self.streamed.iter_mut().find(|part| part.kind == kind && !part.closed);
        let Some(part) = part else { return false };
        part.closed = true;
        part.arguments = String::new();
        self.forget_finished();
        true
    }

    /// No more deltas of a part follow.
    pub(super) fn end(&mut self, index: u64) {
        if let Some(part) = self.part(index) {
            part.ended = true;
        }
        self.forget_finished();
    }

    fn forget_finished(&mut self) {
        self.streamed.retain(|part| !(part.closed && part.ended));
    }

    /// Number of parts that the line repeats from earlier lines. A line with a single part never
    /// does: two parts may be equal.
    pub(super) fn repeated_count(&self, parts: &[u64]) -> usize {
        let repeats = parts.len() > 1 && parts.starts_with(&self.emitted);
        if repeats { self.emitted.len() } else { 0 }
    }
}

/// A hash that identifies a part.
pub(super) fn part_hash(json: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    json.hash(&mut hasher);
    hasher.finish()
}
