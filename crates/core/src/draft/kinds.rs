//! Constructors and accessors of part kinds.

use std::sync::Arc;

use super::{DraftAnswer, DraftCall, PartKind};

impl<'a> PartKind<'a> {
    /// A call.
    pub fn call(call: DraftCall<'a>) -> PartKind<'a> {
        PartKind::Call(Arc::new(call))
    }

    /// An answer.
    pub fn answer(answer: DraftAnswer<'a>) -> PartKind<'a> {
        PartKind::Answer(Arc::new(answer))
    }

    /// The id of a call or an answer.
    pub fn id(&self) -> Option<&str> {
        match self {
            PartKind::Call(call) => call.id.as_deref(),
            PartKind::Answer(answer) => answer.id.as_deref(),
            PartKind::ServerCall(_) | PartKind::ServerAnswer(_) => self.server_id(),
            PartKind::Text(_)
            | PartKind::Media
            | PartKind::Reasoning(_)
            | PartKind::Fallback
            | PartKind::Other
            | PartKind::Unknown => None,
        }
    }

    /// The tool name of a call or an answer.
    pub fn tool(&self) -> Option<&str> {
        match self {
            PartKind::Call(call) => call.name.as_deref(),
            PartKind::Answer(answer) => answer.tool(),
            _ => None,
        }
    }

    /// The id of a call that the provider runs itself, or of its answer.
    pub fn server_id(&self) -> Option<&str> {
        match self {
            PartKind::ServerCall(id) | PartKind::ServerAnswer(id) => {
                id.as_deref().map(AsRef::as_ref)
            }
            _ => None,
        }
    }

    /// The call, for changes; copies it if it is shared.
    pub fn call_mut(&mut self) -> Option<&mut DraftCall<'a>> {
        match self {
            PartKind::Call(call) => Some(Arc::make_mut(call)),
            _ => None,
        }
    }

    /// Whether it is an answer that is written as in another format.
    pub fn is_foreign_answer(&self) -> bool {
        matches!(self, PartKind::Answer(answer) if answer.foreign)
    }

    /// The answer, for changes; copies it if it is shared.
    pub fn answer_mut(&mut self) -> Option<&mut DraftAnswer<'a>> {
        match self {
            PartKind::Answer(answer) => Some(Arc::make_mut(answer)),
            _ => None,
        }
    }
}

impl DraftAnswer<'_> {
    /// The tool's name, where the format carries one.
    pub fn tool(&self) -> Option<&str> {
        self.name.as_deref().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::{Message, Part};

    #[test]
    fn outlines_stay_small() {
        // A document may consist entirely of parts of a few bytes each.
        assert!(size_of::<Message>() <= 20);
        assert!(size_of::<Part<'_>>() <= 24);
        assert!(size_of::<DraftAnswer<'_>>() <= 40);
        assert!(size_of::<DraftCall<'_>>() <= 40);
    }
}
