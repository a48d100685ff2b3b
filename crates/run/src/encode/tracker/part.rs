//! A text or a thought that is open.

use crate::{SharedId, encode::json::quote};

/// What it is.
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
    /// Its name in the session, as JSON: it is written with every piece.
    pub(in crate::encode) quoted: String,
    pub(in crate::encode) id: SharedId,
    /// The call whose sub-agent says it.
    pub(in crate::encode) parent: Option<SharedId>,
    /// All that a sub-agent said: most standards have no place for it but one for the whole.
    pub(in crate::encode) text: String,
    /// What changes call it.
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
