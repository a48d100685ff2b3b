//! What changes inside a kept piece.

use super::{ArgumentsFix, NewText};
use crate::draft::PartKind;

/// What changes inside a kept piece. There is one for every piece, so it is small.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartPatch {
    /// Its id is new: that of its outline.
    pub id: bool,
    /// Its name is new: that of its outline.
    pub name: bool,
    /// Arguments spelled anew.
    pub arguments: Option<ArgumentsFix>,
    /// What an answer holds beside its content goes.
    pub content_only: bool,
    /// The documented bypass value as thought signature.
    pub signature: bool,
    /// White space at the end of the text goes.
    pub trim: bool,
    /// The content of an answer is told in a form that the format takes.
    pub recode_content: bool,
    /// A call says of which type it is.
    pub typed: bool,
    text: Option<Box<PatchText>>,
}

/// Words that a patch writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct PatchText {
    output: Option<NewText>,
    pointer: Option<&'static str>,
}

impl PartPatch {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == PartPatch::default()
    }

    /// The new id of a piece of that kind.
    pub fn new_id<'k>(&self, kind: &'k PartKind<'_>) -> Option<&'k str> {
        kind.id().filter(|_| self.id)
    }

    /// The new name of a piece of that kind.
    pub fn new_name<'k>(&self, kind: &'k PartKind<'_>) -> Option<&'k str> {
        kind.tool().filter(|_| self.name)
    }

    /// Other content for an answer: it has none, or too much.
    pub fn output(&self) -> Option<&str> {
        self.text.as_ref()?.output.as_deref()
    }

    /// Media leaves the answer; these words point to where it went.
    pub fn pointer(&self) -> Option<&'static str> {
        self.text.as_ref()?.pointer
    }

    pub(super) fn set_output(&mut self, words: NewText) {
        self.text.get_or_insert_default().output = Some(words);
    }

    pub(super) fn set_pointer(&mut self, words: &'static str) {
        self.text.get_or_insert_default().pointer = Some(words);
    }
}
