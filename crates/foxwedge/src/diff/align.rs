//! Which messages stayed, went and came.

use std::collections::{HashMap, VecDeque};

/// One step from the old list to the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DiffStep {
    /// In both; index into the old list.
    Kept(usize),
    /// Index into the old list.
    Removed(usize),
    /// Where it stands in the old list, and its index in the new one.
    Added(usize, usize),
}

impl DiffStep {
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, DiffStep::Kept(_))
    }

    /// Where it stands in the old list.
    pub(super) fn old_index(&self) -> usize {
        match *self {
            DiffStep::Kept(at) | DiffStep::Removed(at) | DiffStep::Added(at, _) => at,
        }
    }
}

/// Aligns two lists: removals stand before additions. A new message is known to come from an old
/// one, or from none; it is kept if it also says the same and stands where it stood.
pub(crate) fn align(old: &[&str], new: &[&str], origins: &[Option<usize>]) -> Vec<DiffStep> {
    let mut steps = Vec::with_capacity(old.len() + new.len());
    let (mut at, mut come) = (0, 0);
    for (a, b) in
        longest_increasing(find_same(old, new, origins)).into_iter().chain([(old.len(), new.len())])
    {
        steps.extend((at..a).map(DiffStep::Removed));
        steps.extend((come..b).map(|new| DiffStep::Added(a, new)));
        if a < old.len() {
            steps.push(DiffStep::Kept(a));
        }
        (at, come) = (a + 1, b + 1);
    }
    steps
}

/// New messages that say what an old one said, in the order of the new list: their origin, or
/// else the next old message of the same words that no other comes from.
fn find_same(old: &[&str], new: &[&str], origins: &[Option<usize>]) -> Vec<(usize, usize)> {
    let by_origin =
        |(origin, text): (&Option<usize>, &&str)| origin.filter(|&at| old.get(at) == Some(text));
    let mut found: Vec<Option<usize>> = origins.iter().zip(new).map(by_origin).collect();
    let mut is_taken = vec![false; old.len()];
    found.iter().flatten().for_each(|&at| is_taken[at] = true);
    let mut free: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (at, text) in old.iter().enumerate().filter(|(at, _)| !is_taken[*at]) {
        free.entry(text).or_default().push_back(at);
    }
    for (place, text) in found.iter_mut().zip(new).filter(|(place, _)| place.is_none()) {
        *place = free.get_mut(text).and_then(VecDeque::pop_front);
    }
    found.into_iter().enumerate().filter_map(|(b, a)| Some((a?, b))).collect()
}

/// The most pairs that stand in the order of both lists: the longest rising run of old places.
fn longest_increasing(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    // For every length, the pair that ends the run of that length with the lowest old place.
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

    /// Words are messages; a new one comes from the old one with the same first letter.
    fn told(old: &str, new: &str) -> String {
        let old: Vec<&str> = old.split_whitespace().collect();
        let new: Vec<&str> = new.split_whitespace().collect();
        let origin = |word: &&str| old.iter().position(|known| known[..1] == word[..1]);
        let origins: Vec<Option<usize>> = new.iter().map(origin).collect();
        let word = |step: &DiffStep| match *step {
            DiffStep::Kept(at) => old[at].to_owned(),
            DiffStep::Removed(at) => format!("-{}", old[at]),
            DiffStep::Added(_, at) => format!("+{}", new[at]),
        };
        align(&old, &new, &origins).iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn messages_stay_go_and_come() {
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
            assert_eq!(told(old, new), expected, "{old} -> {new}");
        }
    }
}
