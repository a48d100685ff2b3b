//! Before and after, side by side: which message stayed, changed, went or came, and why.

use std::collections::{BTreeMap, VecDeque};

use foxwedge_core::{Edit, Strategy};

use super::conversation::ConsoleConversation;
use crate::diff::{DiffStep, align};

/// One row. Numbers are places of messages, `edits` places of edits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum RepairPlanRow {
    /// Messages that stay, and are far from every change.
    Gap {
        before: usize,
        after: usize,
        count: usize,
    },
    Kept {
        before: usize,
        after: usize,
    },
    Changed {
        before: usize,
        after: usize,
        edits: Vec<usize>,
    },
    Removed {
        before: usize,
        edits: Vec<usize>,
    },
    Added {
        after: usize,
        edits: Vec<usize>,
    },
}

/// The word for what a step did.
pub(super) fn strategy_word(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Recover => "recovered",
        Strategy::Synthesize => "answered",
        Strategy::Reorder => "moved",
        Strategy::Merge => "merged",
        Strategy::Split => "split",
        Strategy::Rename => "renamed",
        Strategy::Drop | Strategy::DropThinking => "dropped",
        Strategy::Quote => "quoted",
        Strategy::Recode => "respelled",
        Strategy::Insert => "inserted",
        Strategy::Nothing => "none",
    }
}

/// Lays two conversations side by side. `origins` are the old messages of the new ones, where the
/// repair says so for each of them.
pub(super) fn align_messages(
    before: &ConsoleConversation,
    after: &ConsoleConversation,
    origins: &[Option<usize>],
    edits: &[Edit],
) -> Vec<RepairPlanRow> {
    let old: Vec<&str> = (0..before.len()).map(|at| before.raw(at)).collect();
    let new: Vec<&str> = (0..after.len()).map(|at| after.raw(at)).collect();
    let told = origins.len() == new.len();
    let origins: Vec<Option<usize>> = if told { origins.to_vec() } else { vec![None; new.len()] };
    let steps = align(&old, &new, &origins);
    let alike = |a: usize, b: usize| match told {
        true => origins.get(b) == Some(&Some(a)),
        false => before.role(a) == after.role(b),
    };
    let mut rows = pair_steps(&steps, alike);
    attach_edits(&mut rows, edits);
    fold_gaps(rows)
}

/// Steps as rows: what went and what came of it stand in one row.
fn pair_steps(steps: &[DiffStep], alike: impl Fn(usize, usize) -> bool) -> Vec<RepairPlanRow> {
    let mut rows = Vec::with_capacity(steps.len());
    let mut gone: VecDeque<usize> = VecDeque::new();
    let mut after = 0;
    let removed = |before: usize| RepairPlanRow::Removed { before, edits: Vec::new() };
    for step in steps {
        match *step {
            DiffStep::Removed(at) => gone.push_back(at),
            DiffStep::Added(_, at) => {
                after = at + 1;
                match gone.iter().position(|old| alike(*old, at)) {
                    Some(place) => {
                        rows.extend(gone.drain(..place).map(removed));
                        let before = gone.pop_front().unwrap_or_default();
                        rows.push(RepairPlanRow::Changed { before, after: at, edits: Vec::new() });
                    }
                    None => rows.push(RepairPlanRow::Added { after: at, edits: Vec::new() }),
                }
            }
            DiffStep::Kept(before) => {
                rows.extend(gone.drain(..).map(removed));
                rows.push(RepairPlanRow::Kept { before, after });
                after += 1;
            }
        }
    }
    rows.extend(gone.drain(..).map(removed));
    rows
}

/// Puts every edit to the row that it is about: that of its message if it changed, else the next
/// row that did, else the last.
fn attach_edits(rows: &mut [RepairPlanRow], edits: &[Edit]) {
    // The rows that change something, by the old message that they stand at or behind.
    let mut changes: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut last = 0;
    for (place, row) in rows.iter().enumerate() {
        match row {
            RepairPlanRow::Kept { before, .. } | RepairPlanRow::Gap { before, .. } => {
                last = *before
            }
            RepairPlanRow::Changed { before, .. } | RepairPlanRow::Removed { before, .. } => {
                last = *before;
                changes.insert((last, place), place);
            }
            RepairPlanRow::Added { .. } => {
                changes.insert((last, place), place);
            }
        }
    }
    for (number, edit) in edits.iter().enumerate() {
        let next = changes.range((edit.message, 0)..).next();
        let Some(place) = next.or_else(|| changes.iter().next_back()).map(|(_, place)| *place)
        else {
            return;
        };
        match rows.get_mut(place) {
            Some(
                RepairPlanRow::Changed { edits, .. }
                | RepairPlanRow::Removed { edits, .. }
                | RepairPlanRow::Added { edits, .. },
            ) => edits.push(number),
            Some(RepairPlanRow::Kept { .. } | RepairPlanRow::Gap { .. }) | None => {}
        }
    }
}

/// Of what stays, one message before and behind each change is shown.
fn fold_gaps(rows: Vec<RepairPlanRow>) -> Vec<RepairPlanRow> {
    let kept = |at: Option<usize>| {
        at.and_then(|at| rows.get(at)).is_none_or(|row| matches!(row, RepairPlanRow::Kept { .. }))
    };
    let far: Vec<bool> = (0..rows.len())
        .map(|at| kept(at.checked_sub(1)) && kept(Some(at)) && kept(Some(at + 1)))
        .collect();
    let mut folded: Vec<RepairPlanRow> = Vec::new();
    for (row, far) in rows.into_iter().zip(far) {
        match (row, far, folded.last_mut()) {
            (RepairPlanRow::Kept { .. }, true, Some(RepairPlanRow::Gap { count, .. })) => {
                *count += 1
            }
            (RepairPlanRow::Kept { before, after }, true, _) => {
                folded.push(RepairPlanRow::Gap { before, after, count: 1 });
            }
            (row, _, _) => folded.push(row),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `=0` stays, `-1` goes, `+1` comes.
    fn drawn(steps: &[DiffStep], origins: &[(usize, usize)], at: &[usize]) -> String {
        let mut rows = pair_steps(steps, |a, b| origins.contains(&(a, b)));
        let edit = |message: &usize| Edit {
            code: 101,
            strategy: Strategy::Synthesize,
            message: *message,
            ids: Vec::new(),
            note: String::new(),
        };
        attach_edits(&mut rows, &at.iter().map(edit).collect::<Vec<_>>());
        let row = |row: &RepairPlanRow| match row {
            RepairPlanRow::Gap { count, .. } => format!("…{count}"),
            RepairPlanRow::Kept { before, after } => format!("{before}={after}"),
            RepairPlanRow::Changed { before, after, edits } => format!("{before}~{after}{edits:?}"),
            RepairPlanRow::Removed { before, edits } => format!("-{before}{edits:?}"),
            RepairPlanRow::Added { after, edits } => format!("+{after}{edits:?}"),
        };
        fold_gaps(rows).iter().map(row).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_are_aligned_and_carry_their_edits() {
        use DiffStep::{Added, Kept, Removed};
        // An answer is put in behind message 1.
        let steps = [Kept(0), Kept(1), Added(2, 2), Kept(2), Kept(3), Kept(4)];
        assert_eq!(drawn(&steps, &[], &[1]), "…1 1=1 +2[0] 2=3 …2");
        // Message 1 changes, message 2 goes.
        let steps = [Kept(0), Removed(1), Removed(2), Added(3, 1), Kept(3)];
        assert_eq!(drawn(&steps, &[(1, 1)], &[1, 2]), "0=0 1~1[0] -2[1] 3=2");
        // Two become one: the first is where it comes from.
        let steps = [Removed(0), Removed(1), Added(2, 0)];
        assert_eq!(drawn(&steps, &[(1, 0)], &[0]), "-0[0] 1~0[]");
        // Nothing in the conversation changes, only the file around it.
        assert_eq!(drawn(&[Kept(0), Kept(1)], &[], &[1]), "…2");
        assert_eq!(drawn(&[], &[], &[0]), "");
    }
}
