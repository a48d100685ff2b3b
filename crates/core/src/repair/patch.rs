//! What changes inside a kept piece.

use std::{
    borrow::Cow,
    ops::{Deref, DerefMut},
};

use super::ArgumentsFix;
use crate::draft::Kind;

/// What changes inside a kept piece.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Patch {
    /// Its id is new: that of its outline.
    pub id: bool,
    /// Its name is new: that of its outline.
    pub name: bool,
    /// Arguments spelled anew.
    pub arguments: Option<ArgumentsFix>,
    /// Other content for an answer: it has none, or too much.
    pub output: Option<Cow<'static, str>>,
    /// What an answer holds beside its content goes.
    pub bare: bool,
    /// The documented bypass value as thought signature.
    pub signature: bool,
    /// White space at the end of the text goes.
    pub trim: bool,
    /// Media leaves the answer; these words point to where it went.
    pub pointer: Option<&'static str>,
    /// The content of an answer is told in a form that the format takes.
    pub told: bool,
    /// A call says of which type it is.
    pub typed: bool,
}

impl Patch {
    /// The new id of a piece of that kind.
    pub fn new_id<'k>(&self, kind: &'k Kind<'_>) -> Option<&'k str> {
        kind.id().filter(|_| self.id)
    }

    /// The new name of a piece of that kind.
    pub fn new_name<'k>(&self, kind: &'k Kind<'_>) -> Option<&'k str> {
        kind.tool().filter(|_| self.name)
    }

    const NONE: Patch = Patch {
        id: false,
        name: false,
        arguments: None,
        output: None,
        bare: false,
        signature: false,
        trim: false,
        pointer: None,
        told: false,
        typed: false,
    };
}

/// The patch of a piece. Most pieces have none, and none takes no room.
#[derive(Clone, Debug, Default)]
pub struct PatchCell(Option<Box<Patch>>);

impl PatchCell {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        **self == Patch::NONE
    }
}

impl Deref for PatchCell {
    type Target = Patch;

    fn deref(&self) -> &Patch {
        self.0.as_deref().unwrap_or(&Patch::NONE)
    }
}

impl DerefMut for PatchCell {
    fn deref_mut(&mut self) -> &mut Patch {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for PatchCell {
    fn eq(&self, other: &PatchCell) -> bool {
        **self == **other
    }
}

impl Eq for PatchCell {}
