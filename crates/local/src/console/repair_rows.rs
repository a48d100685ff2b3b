//! Aligns the messages before and after a repair: kept, changed, removed or added, and why.

use std::collections::{BTreeMap, VecDeque};

use foxwedge_core::Strategy;
use serde_json::{Value, json};

use super::{
    conversation::ConsoleConversation,
    message_json::{self, AnswerDisplay},
};
use crate::align::{DiffStep, align};

/// One row. `before` and `after` are message indexes, `edits` are indexes of edits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum RepairPlanRow {
    /// Unchanged messages that are not next to a change.
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

/// The name of a strategy in the console.
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

/// Aligns two conversations. `origins` has the old message of each new one, if the repair knows it
/// for all of them; `edited` has the old message of each edit.
pub(super) fn align_messages(
    before: &ConsoleConversation,
    after: &ConsoleConversation,
    origins: &[Option<usize>],
    edited: &[usize],
) -> Vec<RepairPlanRow> {
    let old: Vec<&str> = (0..before.len()).map(|at| before.raw(at)).collect();
    let new: Vec<&str> = (0..after.len()).map(|at| after.raw(at)).collect();
    let has_origins = origins.len() == new.len();
    let origins: Vec<Option<usize>> =
        if has_origins { origins.to_vec() } else { vec![None; new.len()] };
    let steps = align(&old, &new, &origins);
    let is_pair = |a: usize, b: usize| match has_origins {
        true => origins.get(b) == Some(&Some(a)),
        false => before.role(a) == after.role(b),
    };
    let mut rows = pair_steps(&steps, is_pair);
    attach_edits(&mut rows, edited);
    fold_gaps(rows)
}

/// A row as JSON.
pub(super) fn row_json(
    row: &RepairPlanRow,
    before: &ConsoleConversation,
    after: &ConsoleConversation,
) -> Value {
    let old = |at: usize| message_json::message(before, at, AnswerDisplay::InOwnMessage);
    let new = |at: usize| message_json::message(after, at, AnswerDisplay::InOwnMessage);
    match row {
        RepairPlanRow::Gap { before, after, count } => {
            json!({ "kind": "gap", "count": count, "before": before, "after": after })
        }
        RepairPlanRow::Kept { before, after } => json!({
            "kind": "kept",
            "before": old(*before),
            "after": { "index": after, "same": true },
            "edits": [],
        }),
        RepairPlanRow::Changed { before, after, edits } => json!({
            "kind": "changed",
            "before": old(*before),
            "after": new(*after),
            "edits": edits,
        }),
        RepairPlanRow::Removed { before, edits } => json!({
            "kind": "removed",
            "before": old(*before),
            "after": null,
            "edits": edits,
        }),
        RepairPlanRow::Added { after, edits } => json!({
            "kind": "added",
            "before": null,
            "after": new(*after),
            "edits": edits,
        }),
    }
}

/// Turns steps into rows. A removed message and the one that replaces it share a row.
fn pair_steps(steps: &[DiffStep], is_pair: impl Fn(usize, usize) -> bool) -> Vec<RepairPlanRow> {
    let mut rows = Vec::with_capacity(steps.len());
    let mut pending: VecDeque<usize> = VecDeque::new();
    let mut after = 0;
    let removed = |before: usize| RepairPlanRow::Removed { before, edits: Vec::new() };
    for step in steps {
        match *step {
            DiffStep::Removed(at) => pending.push_back(at),
            DiffStep::Added(_, at) => {
                after = at + 1;
                match pending.iter().position(|old| is_pair(*old, at)) {
                    Some(index) => {
                        rows.extend(pending.drain(..index).map(removed));
                        let before = pending.pop_front().unwrap_or_default();
                        rows.push(RepairPlanRow::Changed { before, after: at, edits: Vec::new() });
                    }
                    None => rows.push(RepairPlanRow::Added { after: at, edits: Vec::new() }),
                }
            }
            DiffStep::Kept(before) => {
                rows.extend(pending.drain(..).map(removed));
                rows.push(RepairPlanRow::Kept { before, after });
                after += 1;
            }
        }
    }
    rows.extend(pending.drain(..).map(removed));
    rows
}

/// Adds every edit to a row: the row of its message if that changed, otherwise the next changed
/// row, otherwise the last one.
fn attach_edits(rows: &mut [RepairPlanRow], edited: &[usize]) {
    // The changed rows, by the old message at or before them.
    let mut changes: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut last = 0;
    for (index, row) in rows.iter().enumerate() {
        match row {
            RepairPlanRow::Kept { before, .. } | RepairPlanRow::Gap { before, .. } => {
                last = *before
            }
            RepairPlanRow::Changed { before, .. } | RepairPlanRow::Removed { before, .. } => {
                last = *before;
                changes.insert((last, index), index);
            }
            RepairPlanRow::Added { .. } => {
                changes.insert((last, index), index);
            }
        }
    }
    for (number, message) in edited.iter().enumerate() {
        let next = changes.range((*message, 0)..).next();
        let Some(index) = next.or_else(|| changes.iter().next_back()).map(|(_, index)| *index)
        else {
            return;
        };
        match rows.get_mut(index) {
            Some(
                RepairPlanRow::Changed { edits, .. }
                | RepairPlanRow::Removed { edits, .. }
                | RepairPlanRow::Added { edits, .. },
            ) => edits.push(number),
            Some(RepairPlanRow::Kept { .. } | RepairPlanRow::Gap { .. }) | None => {}
        }
    }
}

/// Folds unchanged messages into gaps, except one before and one after each change.
fn fold_gaps(rows: Vec<RepairPlanRow>) -> Vec<RepairPlanRow> {
    let is_kept = |at: Option<usize>| {
        at.and_then(|at| rows.get(at)).is_none_or(|row| matches!(row, RepairPlanRow::Kept { .. }))
    };
    let far: Vec<bool> = (0..rows.len())
        .map(|at| is_kept(at.checked_sub(1)) && is_kept(Some(at)) && is_kept(Some(at + 1)))
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

    /// `0=0` is kept, `1~1` changed, `-1` removed, `+1` added, `…2` a gap.
    fn drawn(steps: &[DiffStep], origins: &[(usize, usize)], at: &[usize]) -> String {
        let mut rows = pair_steps(steps, |a, b| origins.contains(&(a, b)));
        attach_edits(&mut rows, at);
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
        // A tool result is inserted after message 1.
        let steps = [Kept(0), Kept(1), Added(2, 2), Kept(2), Kept(3), Kept(4)];
        assert_eq!(drawn(&steps, &[], &[1]), "…1 1=1 +2[0] 2=3 …2");
        // Message 1 changes, message 2 is removed.
        let steps = [Kept(0), Removed(1), Removed(2), Added(3, 1), Kept(3)];
        assert_eq!(drawn(&steps, &[(1, 1)], &[1, 2]), "0=0 1~1[0] -2[1] 3=2");
        // Two messages become one.
        let steps = [Removed(0), Removed(1), Added(2, 0)];
        assert_eq!(drawn(&steps, &[(1, 0)], &[0]), "-0[0] 1~0[]");
        // The conversation does not change, only the file around it.
        assert_eq!(drawn(&[Kept(0), Kept(1)], &[], &[1]), "…2");
        assert_eq!(drawn(&[], &[], &[0]), "");
    }
}
