//! The edits of a repair: the first of each rule in full, all of them counted.

use std::ops::{Deref, DerefMut};

use super::Edit;
use crate::report::{EditCounts, ListBudget, id_bytes, truncate_entry};

/// Edits of a repair, in order. As a slice it holds the first edits of each rule; `len` and
/// `counts` include all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EditLog {
    listed: Vec<Edit>,
    counts: EditCounts,
    budget: ListBudget,
}

impl EditLog {
    /// The number of edits, listed or not.
    pub fn len(&self) -> usize {
        self.counts.total()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The number of edits of each kind.
    pub fn counts(&self) -> &EditCounts {
        &self.counts
    }

    /// Adds the edits of another repair.
    pub fn append(&mut self, other: EditLog) {
        let mut counts = self.counts.clone();
        counts.merge(&other.counts);
        other.listed.into_iter().for_each(|edit| self.push(edit));
        self.counts = counts;
    }

    /// Whether another edit of a rule would be listed.
    pub(super) fn lists(&self, code: u16) -> bool {
        self.budget.has_room(self.counts.of(code))
    }

    /// Counts an edit, and lists it if it is among the first of its rule.
    pub(super) fn push(&mut self, mut edit: Edit) {
        let before = self.counts.of(edit.code);
        self.counts.add(edit.code, edit.strategy, 1);
        if !self.budget.has_room(before) {
            return;
        }
        truncate_entry(&mut edit.note, &mut edit.ids);
        if self.budget.takes(before == 0, edit.note.len() + id_bytes(&edit.ids)) {
            self.listed.push(edit);
        }
    }
}

impl Deref for EditLog {
    type Target = [Edit];

    fn deref(&self) -> &[Edit] {
        &self.listed
    }
}

impl DerefMut for EditLog {
    fn deref_mut(&mut self) -> &mut [Edit] {
        &mut self.listed
    }
}

impl IntoIterator for EditLog {
    type Item = Edit;
    type IntoIter = std::vec::IntoIter<Edit>;

    fn into_iter(self) -> Self::IntoIter {
        self.listed.into_iter()
    }
}

impl<'e> IntoIterator for &'e EditLog {
    type Item = &'e Edit;
    type IntoIter = std::slice::Iter<'e, Edit>;

    fn into_iter(self) -> Self::IntoIter {
        self.listed.iter()
    }
}
