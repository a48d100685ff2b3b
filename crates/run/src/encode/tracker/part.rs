//! An open text or thought.

use crate::{SharedId, encode::json::quote};

/// The kind of part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::encode) enum TrackedPartKind {
    Text,
    Thought,
}

impl TrackedPartKind {
    pub(in crate::encode) fn name(self) -> &'static str {
        match self {
            TrackedPartKind::Text => "text",
            TrackedPartKind::Thought => "thought",
        }
    }
}

/// A text or a thought.
pub(in crate::encode) struct TrackedPart {
    pub(in crate::encode) kind: TrackedPartKind,
    /// Its unique name in the session, as JSON. Kept, because every delta writes it.
    pub(in crate::encode) quoted: String,
    pub(in crate::encode) id: SharedId,
    /// The call whose sub-agent wrote it.
    pub(in crate::encode) parent: Option<SharedId>,
    /// The whole text of a sub-agent, since most formats can show it only when it is complete.
    pub(in crate::encode) text: String,
    /// The id that changes use.
    key: SharedId,
}

impl TrackedPart {
    pub(super) fn new(
        kind: TrackedPartKind,
        key: &SharedId,
        id: SharedId,
        parent: Option<SharedId>,
    ) -> TrackedPart {
        TrackedPart { kind, quoted: quote(&id), id, parent, text: String::new(), key: key.clone() }
    }

    pub(super) fn matches(&self, kind: TrackedPartKind, key: &SharedId) -> bool {
        self.kind == kind && self.key == *key
    }

    pub(super) fn append(&mut self, delta: &str) {
        if self.parent.is_some() {
            self.text.push_str(delta);
        }
    }
}
