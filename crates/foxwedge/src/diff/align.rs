//! Which messages stayed, went and came.

use std::collections::HashMap;

/// One step from the old list to the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// In both; index into the old list.
    Kept(usize),
    /// Index into the old list.
    Removed(usize),
    /// Where it stands in the old list, and its index in the new one.
    Added(usize, usize),
}

impl Step {
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Step::Kept(_))
    }

    /// Where it stands in the old list.
    pub(super) fn old(&self) -> usize {
        match *self {
            Step::Kept(at) | Step::Removed(at) | Step::Added(at, _) => at,
        }
    }
}

/// Tables up to this size are filled in; larger lists are aligned by a quick guess.
const TABLE: usize = 1 << 20;

/// Aligns two lists: removals stand before additions.
pub(super) fn align(old: &[&str], new: &[&str]) -> Vec<Step> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = tail.take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let pairs = common(&old[head..old_end], &new[head..new_end]);
    let mut steps: Vec<Step> = (0..head).map(Step::Kept).collect();
    let (mut at, mut come) = (head, head);
    let ends = pairs.into_iter().map(|(a, b)| (a + head, b + head)).chain([(old_end, new_end)]);
    for (a, b) in ends {
        steps.extend((at..a).map(Step::Removed));
        steps.extend((come..b).map(|new| Step::Added(a, new)));
        if a < old_end {
            steps.push(Step::Kept(a));
        }
        (at, come) = (a + 1, b + 1);
    }
    steps.extend((old_end..old.len()).map(Step::Kept));
    steps
}

/// Pairs of equal messages, in the order of both lists.
fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    if old.len().saturating_mul(new.len()) > TABLE { quick(old, new) } else { longest(old, new) }
}

fn longest(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    // Equal texts get equal numbers, so that large messages are compared once.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut number = |text| {
        let next = numbers.len();
        *numbers.entry(text).or_insert(next)
    };
    let old: Vec<usize> = old.iter().map(|text| number(text)).collect();
    let new: Vec<usize> = new.iter().map(|text| number(text)).collect();
    let width = new.len() + 1;
    let mut best = vec![0_usize; (old.len() + 1) * width];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            best[a * width + b] = if old[a] == new[b] {
                best[(a + 1) * width + b + 1] + 1
            } else {
                best[(a + 1) * width + b].max(best[a * width + b + 1])
            };
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::new());
    while a < old.len() && b < new.len() {
        if old[a] == new[b] {
            pairs.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if best[(a + 1) * width + b] >= best[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}

/// Takes for every new message the next equal old one.
fn quick(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, text) in old.iter().enumerate().rev() {
        places.entry(text).or_default().push(at);
    }
    let mut next = 0;
    let mut pairs = Vec::new();
    for (b, text) in new.iter().enumerate() {
        let Some(waiting) = places.get_mut(text) else { continue };
        while waiting.last().is_some_and(|&a| a < next) {
            waiting.pop();
        }
        if let Some(a) = waiting.pop() {
            pairs.push((a, b));
            next = a + 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &str, new: &str) -> String {
        let old: Vec<&str> = old.split_whitespace().collect();
        let new: Vec<&str> = new.split_whitespace().collect();
        let word = |step: &Step| match *step {
            Step::Kept(at) => old[at].to_owned(),
            Step::Removed(at) => format!("-{}", old[at]),
            Step::Added(_, at) => format!("+{}", new[at]),
        };
        align(&old, &new).iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn messages_stay_go_and_come() {
        let table = [
            ("a b c", "a b c", "a b c"),
            ("a b c", "a x c", "a -b +x c"),
            ("a b c", "a c b", "a -b c +b"),
            ("a", "a b", "a +b"),
            ("", "a", "+a"),
            ("a b", "", "-a -b"),
            ("a b c d", "a b x c y d", "a b +x c +y d"),
        ];
        for (old, new, expected) in table {
            assert_eq!(told(old, new), expected, "{old} -> {new}");
        }
    }

    #[test]
    fn long_lists_are_aligned_by_a_quick_guess() {
        let old: Vec<String> = (0..3000).map(|n| n.to_string()).collect();
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let mut new = old.clone();
        new[5] = "x";
        new[2990] = "y";
        let changed = align(&old, &new).iter().filter(|step| !step.is_kept()).count();
        assert_eq!(changed, 4);
    }
}
