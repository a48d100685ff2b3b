//! The parts of a repaired message.

use std::ops::{Deref, DerefMut};

use super::RepairedPart;

/// The parts of a repaired message, or none yet if they are still those of the input. It never has
/// spare capacity: there may be as many lists as messages, and most of them hold one part.
#[derive(Clone, Debug, Default)]
pub struct PartList<'a>(Option<Box<[RepairedPart<'a>]>>);

impl<'a> PartList<'a> {
    /// The parts are still those of the input.
    pub(super) const UNLOADED: PartList<'static> = PartList(None);

    /// Whether the list holds the parts of its message.
    pub(super) fn is_loaded(&self) -> bool {
        self.0.is_some()
    }

    /// Takes the parts out; the list stays loaded and is empty.
    pub(super) fn take(&mut self) -> Vec<RepairedPart<'a>> {
        self.0.replace(Box::default()).unwrap_or_default().into_vec()
    }

    /// Changes the list as a vector.
    pub(super) fn update<T>(&mut self, change: impl FnOnce(&mut Vec<RepairedPart<'a>>) -> T) -> T {
        let mut parts = self.take();
        let result = change(&mut parts);
        *self = parts.into();
        result
    }

    /// Inserts a part.
    pub(super) fn insert(&mut self, at: usize, part: RepairedPart<'a>) {
        self.update(|parts| {
            parts.reserve_exact(1);
            parts.insert(at, part);
        });
    }

    /// Moves parts into the list, which has to be empty. Does nothing if there are none.
    pub(super) fn fill(&mut self, parts: &mut Vec<RepairedPart<'a>>) {
        if !parts.is_empty() {
            *self = PartList(Some(parts.drain(..).collect()));
        }
    }

    /// Appends parts.
    pub(super) fn append(&mut self, other: Vec<RepairedPart<'a>>) {
        self.update(|parts| {
            parts.reserve_exact(other.len());
            parts.extend(other);
        });
    }
}

impl<'a> From<Vec<RepairedPart<'a>>> for PartList<'a> {
    fn from(parts: Vec<RepairedPart<'a>>) -> PartList<'a> {
        PartList(Some(parts.into_boxed_slice()))
    }
}

impl<'a> Deref for PartList<'a> {
    type Target = [RepairedPart<'a>];

    fn deref(&self) -> &[RepairedPart<'a>] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<'a> DerefMut for PartList<'a> {
    fn deref_mut(&mut self) -> &mut [RepairedPart<'a>] {
        self.0.as_deref_mut().unwrap_or_default()
    }
}

impl<'a> IntoIterator for PartList<'a> {
    type Item = RepairedPart<'a>;
    type IntoIter = std::vec::IntoIter<RepairedPart<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.unwrap_or_default().into_vec().into_iter()
    }
}

impl<'s, 'a> IntoIterator for &'s PartList<'a> {
    type Item = &'s RepairedPart<'a>;
    type IntoIter = std::slice::Iter<'s, RepairedPart<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'s, 'a> IntoIterator for &'s mut PartList<'a> {
    type Item = &'s mut RepairedPart<'a>;
    type IntoIter = std::slice::IterMut<'s, RepairedPart<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
