//! The parts of all messages of a draft.

use std::{
    ops::{Index, IndexMut, Range},
    sync::Arc,
};

use super::Part;

/// The parts of all messages of a draft. The outline of a repaired history shares the parts of the
/// input and adds those of changed messages behind them: it does not copy what is unchanged. So its
/// parts are in no order, and some belong to no message.
#[derive(Clone, Debug, Default)]
pub struct PartTable<'a> {
    shared: Arc<Vec<Part<'a>>>,
    own: Vec<Part<'a>>,
}

impl<'a> PartTable<'a> {
    pub(super) fn with_capacity(parts: usize) -> PartTable<'a> {
        PartTable { shared: Arc::default(), own: Vec::with_capacity(parts) }
    }

    /// A table that begins with the parts of another one, with room for `parts` more.
    pub(super) fn sharing(other: &PartTable<'a>, parts: usize) -> PartTable<'a> {
        // Only outlines of repaired histories have parts of both kinds, and nothing is built on them.
        debug_assert!(other.own.is_empty());
        PartTable { shared: Arc::clone(&other.shared), own: Vec::with_capacity(parts) }
    }

    /// Allows other tables to share its parts.
    pub(super) fn share(&mut self) {
        if self.shared.is_empty() {
            self.shared = Arc::new(std::mem::take(&mut self.own));
        }
    }

    pub(super) fn push(&mut self, part: Part<'a>) {
        self.own.push(part);
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.own.truncate(len.saturating_sub(self.shared.len()));
    }

    /// The number of parts.
    pub fn len(&self) -> usize {
        self.shared.len() + self.own.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One part.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Part<'a>> {
        match index.checked_sub(self.shared.len()) {
            None => self.shared.get(index),
            Some(index) => self.own.get(index),
        }
    }

    /// Adjacent parts of one message; none if the range is not valid.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> &[Part<'a>] {
        let parts = match range.start.checked_sub(self.shared.len()) {
            None => self.shared.get(range),
            Some(start) => self.own.get(start..range.end.saturating_sub(self.shared.len())),
        };
        parts.unwrap_or(&[])
    }

    /// All parts, in order. Only for drafts that were read.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Part<'a>> {
        debug_assert!(self.own.is_empty() || self.shared.is_empty());
        self.shared.iter().chain(&self.own)
    }
}

impl<'a> Index<usize> for PartTable<'a> {
    type Output = Part<'a>;

    #[inline]
    fn index(&self, index: usize) -> &Part<'a> {
        match index.checked_sub(self.shared.len()) {
            None => &self.shared[index],
            Some(index) => &self.own[index],
        }
    }
}

impl<'a> IndexMut<usize> for PartTable<'a> {
    fn index_mut(&mut self, index: usize) -> &mut Part<'a> {
        match index.checked_sub(self.shared.len()) {
            None => &mut Arc::make_mut(&mut self.shared)[index],
            Some(index) => &mut self.own[index],
        }
    }
}
