//! Lists that say how long they are, and hold no more than anybody reads.

use std::ops::Deref;

/// What one list holds; the rest is counted.
const MAX_LISTED: usize = 1_000;

/// A list of which only the beginning is kept. As a slice it is that beginning; `len` knows all of
/// it. What a request leaves behind does not grow with what is wrong with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedList<T> {
    listed: Vec<T>,
    total: usize,
}

impl<T> CountedList<T> {
    /// How many entries there were, listed or not.
    pub fn len(&self) -> usize {
        self.total
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: T) {
        self.total += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push(entry);
        }
    }

    /// Adds another list.
    pub fn append(&mut self, other: CountedList<T>) {
        let total = self.total + other.total;
        other.listed.into_iter().for_each(|entry| self.push(entry));
        self.total = total;
    }

    /// A list of `total` entries of which only some are at hand.
    pub(crate) fn of(total: usize, some: impl IntoIterator<Item = T>) -> CountedList<T> {
        CountedList { listed: some.into_iter().take(MAX_LISTED).collect(), total }
    }
}

impl<T> Default for CountedList<T> {
    fn default() -> CountedList<T> {
        CountedList { listed: Vec::new(), total: 0 }
    }
}

impl<T> From<Vec<T>> for CountedList<T> {
    fn from(all: Vec<T>) -> CountedList<T> {
        CountedList::of(all.len(), all)
    }
}

impl<T> Deref for CountedList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_is_kept_and_everything_is_counted() {
        let mut list = CountedList::from((0..3_000).collect::<Vec<_>>());
        assert_eq!((list.len(), list.iter().count()), (3_000, MAX_LISTED));
        list.push(1);
        list.append(CountedList::of(7_000, [1]));
        assert_eq!((list.len(), list.iter().count()), (10_001, MAX_LISTED));
    }
}
