//! A text or a thought that is open.

use crate::{Id, encode::json::quoted};

/// What it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::encode) enum Kind {
    Text,
    Thought,
}

impl Kind {
    pub(in crate::encode) fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Thought => "thought",
        }
    }
}

/// A text or a thought.
pub(in crate::encode) struct Part {
    pub(in crate::encode) kind: Kind,
    /// Its name in the session, as JSON: it is written with every piece.
    pub(in crate::encode) quoted: String,
    pub(in crate::encode) id: Id,
    /// The call whose sub-agent says it.
    pub(in crate::encode) parent: Option<Id>,
    /// All that a sub-agent said: most standards have no place for it but one for the whole.
    pub(in crate::encode) said: String,
    /// What changes call it.
    key: Id,
}

impl Part {
    pub(super) fn new(kind: Kind, key: &Id, id: Id, parent: Option<Id>) -> Part {
        Part { kind, quoted: quoted(&id), id, parent, said: String::new(), key: key.clone() }
    }

    pub(super) fn is(&self, kind: Kind, key: &Id) -> bool {
        self.kind == kind && self.key == *key
    }

    pub(super) fn grow(&mut self, delta: &str) {
        if self.parent.is_some() {
            self.said.push_str(delta);
        }
    }
}
