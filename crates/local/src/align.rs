//! Aligns two lists of messages: which are kept, removed and added.

use std::collections::{HashMap, VecDeque};

/// One step from the old list to the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiffStep {
    /// In both; index into the old list.
    Kept(usize),
    /// Index into the old list.
    Removed(usize),
    /// Position in the old list, and index into the new list.
    Added(usize, usize),
}

impl DiffStep {
    /// Whether the item is in both lists.
    pub fn is_kept(&self) -> bool {
        matches!(self, DiffStep::Kept(_))
    }

    /// Position in the old list.
    pub fn old_index(&self) -> usize {
        match *self {
            DiffStep::Kept(at) | DiffStep::Removed(at) | DiffStep::Added(at, _) => at,
        }
    }
}

/// Aligns two lists. Removals come before additions. `origins` has the old index of each new
/// message, if it has one; a message is kept if its text and its order are the same.
pub fn align(old: &[&str], new: &[&str], origins: &[Option<usize>]) -> Vec<DiffStep> {
    let mut steps = Vec::with_capacity(old.len() + new.len());
    let (mut old_at, mut new_at) = (0, 0);
    for (a, b) in
        longest_increasing(find_same(old, new, origins)).into_iter().chain([(old.len(), new.len())])
    {
        steps.extend((old_at..a).map(DiffStep::Removed));
        steps.extend((new_at..b).map(|new| DiffStep::Added(a, new)));
        if a < old.len() {
            steps.push(DiffStep::Kept(a));
        }
        (old_at, new_at) = (a + 1, b + 1);
    }
    steps
}

/// Pairs new messages with old ones of the same text, in the order of the new list: with their
/// origin, else with the next old message of the same text that has no pair.
fn find_same(old: &[&str], new: &[&str], origins: &[Option<usize>]) -> Vec<(usize, usize)> {
    let by_origin =
        |(origin, text): (&Option<usize>, &&str)| origin.filter(|&at| old.get(at) == Some(text));
    let mut matched: Vec<Option<usize>> = origins.iter().zip(new).map(by_origin).collect();
    let mut is_taken = vec![false; old.len()];
    matched.iter().flatten().for_each(|&at| is_taken[at] = true);
    let mut free: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (at, text) in old.iter().enumerate().filter(|(at, _)| !is_taken[*at]) {
        free.entry(text).or_default().push_back(at);
    }
    for (old_index, text) in matched.iter_mut().zip(new).filter(|(index, _)| index.is_none()) {
        *old_index = free.get_mut(text).and_then(VecDeque::pop_front);
    }
    matched.into_iter().enumerate().filter_map(|(b, a)| Some((a?, b))).collect()
}

/// The longest subsequence of pairs with increasing old indices.
fn longest_increasing(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    // For every length, the last pair of the run of that length with the lowest old index.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, (a, _)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].0 < *a);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(index);
        } else {
            ends[length] = index;
        }
    }
    let mut run: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |&index| before[index])
            .map(|index| pairs[index])
            .collect();
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word is a message. A new one comes from the old one with the same first letter.
    fn render(old: &str, new: &str) -> String {
        let old: Vec<&str> = old.split_whitespace().collect();
        let new: Vec<&str> = new.split_whitespace().collect();
        let origin = |word: &&str| old.iter().position(|known| known[..1] == word[..1]);
        let origins: Vec<Option<usize>> = new.iter().map(origin).collect();
        let format_step = |step: &DiffStep| match *step {
            DiffStep::Kept(at) => old[at].to_owned(),
            DiffStep::Removed(at) => format!("-{}", old[at]),
            DiffStep::Added(_, at) => format!("+{}", new[at]),
        };
        align(&old, &new, &origins).iter().map(format_step).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn messages_are_kept_removed_and_added() {
        let table = [
            ("a b c", "a b c", "a b c"),
            ("a b c", "a b2 c", "a -b +b2 c"),
            ("a b c", "a x c", "a -b +x c"),
            ("a b c", "a c b", "a +c b -c"),
            ("a b c d e", "e a b c d", "+e a b c d -e"),
            ("a b c", "a b2 x b c", "a +b2 +x b c"),
            ("a", "a b", "a +b"),
            ("", "a", "+a"),
            ("a b", "", "-a -b"),
            ("a b c d", "a b x c y d", "a b +x c +y d"),
        ];
        for (old, new, expected) in table {
            assert_eq!(render(old, new), expected, "{old} -> {new}");
        }
    }
}
