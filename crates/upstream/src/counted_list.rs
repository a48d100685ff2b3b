//! Lists that count all entries but store only the first ones.

use std::ops::Deref;

/// How many entries a list stores; further ones are only counted.
const MAX_LISTED: usize = 1_000;

/// A list that stores only its first entries. As a slice it has those; `len` counts all of them.
/// This bounds the memory of a report on a request with many findings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedList<T> {
    listed: Vec<T>,
    total: usize,
}

impl<T> CountedList<T> {
    /// How many entries there were, stored or not.
    pub fn len(&self) -> usize {
        self.total
    }

    /// Whether there were no entries.
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

    /// A list of `total` entries of which only some are given.
    pub fn of(total: usize, entries: impl IntoIterator<Item = T>) -> CountedList<T> {
        CountedList { listed: entries.into_iter().take(MAX_LISTED).collect(), total }
    }
}

impl<T> Default for CountedList<T> {
    fn default() -> CountedList<T> {
        CountedList { listed: Vec::new(), total: 0 }
    }
}

impl<T> From<Vec<T>> for CountedList<T> {
    fn from(entries: Vec<T>) -> CountedList<T> {
        CountedList::of(entries.len(), entries)
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
    fn only_the_first_entries_are_stored_and_all_are_counted() {
        let mut list = CountedList::from((0..3_000).collect::<Vec<_>>());
        assert_eq!((list.len(), list.iter().count()), (3_000, MAX_LISTED));
        list.push(1);
        list.append(CountedList::of(7_000, [1]));
        assert_eq!((list.len(), list.iter().count()), (10_001, MAX_LISTED));
    }
}
