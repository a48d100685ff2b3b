//! Changes inside a kept part.

use super::{ArgumentsFix, NewText};
use crate::{Span, draft::PartKind};

/// Changes inside a kept part. Every part has one, so it is small.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartPatch {
    /// The id is replaced by that of its outline.
    pub id: bool,
    /// The name is replaced by that of its outline.
    pub name: bool,
    /// How the arguments are rewritten.
    pub arguments: Option<ArgumentsFix>,
    /// Content of an answer in other fields is removed.
    pub content_only: bool,
    /// The documented bypass value is written as thought signature.
    pub signature: bool,
    /// Trailing white space of the text is removed.
    pub trim: bool,
    /// The content of an answer is rewritten in a form that the format accepts.
    pub recode_content: bool,
    /// The type of a call is written.
    pub typed: bool,
    text: Option<Box<PatchText>>,
}

/// Text that a patch writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct PatchText {
    output: Option<NewText>,
    pointer: Option<&'static str>,
    repeated: Option<Span>,
}

impl PartPatch {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == PartPatch::default()
    }

    /// The new id of a part of that kind.
    pub fn new_id<'k>(&self, kind: &'k PartKind<'_>) -> Option<&'k str> {
        kind.id().filter(|_| self.id)
    }

    /// The new name of a part of that kind.
    pub fn new_name<'k>(&self, kind: &'k PartKind<'_>) -> Option<&'k str> {
        kind.tool().filter(|_| self.name)
    }

    /// Replacement content for an answer that has none, or too much.
    pub fn output(&self) -> Option<&str> {
        self.text.as_ref()?.output.as_deref()
    }

    /// Text that replaces media moved out of the answer.
    pub fn pointer(&self) -> Option<&'static str> {
        self.text.as_ref()?.pointer
    }

    /// The value of its call that a new answer repeats.
    pub fn repeated(&self) -> Option<Span> {
        self.text.as_ref()?.repeated
    }

    pub(super) fn set_repeated(&mut self, value: Span) {
        self.text.get_or_insert_default().repeated = Some(value);
    }

    pub(super) fn set_output(&mut self, text: NewText) {
        self.text.get_or_insert_default().output = Some(text);
    }

    pub(super) fn set_pointer(&mut self, text: &'static str) {
        self.text.get_or_insert_default().pointer = Some(text);
    }
}
