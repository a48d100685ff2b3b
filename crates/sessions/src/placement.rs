//! Decides where the records of a repair go in the file.

use std::collections::{HashMap, HashSet};

use crate::chain::ChainStatus;
use foxwedge_core::{Repair, Role};

use super::{
    SessionAgent,
    linked_file::LinkedFileRewriter,
    neovate::follows_other_line,
    plan::{PlannedRecord, RecordOrigin},
};

/// The positions of records that are new or moved.
#[derive(Debug, Default)]
pub(super) struct RecordPlacement {
    /// Records that go after an existing record, by index in the plan.
    pub(super) behind: HashMap<u32, Vec<usize>>,
    /// Records that go before everything else, by index in the plan.
    pub(super) first: Vec<usize>,
    /// Records that go after everything else, by index in the plan.
    pub(super) last: Vec<usize>,
    /// Existing records that leave their line.
    pub(super) moved: HashSet<u32>,
}

impl RecordPlacement {
    /// The last existing record that stays in place, or that others go after.
    pub(super) fn last_record(&self, plan: &[PlannedRecord<'_, '_>]) -> Option<u32> {
        let records = plan.iter().filter_map(PlannedRecord::record);
        let stays = records.filter(|record| !self.moved.contains(record));
        stays.chain(self.behind.keys().copied()).max()
    }
}

/// Finds a position for every new record, and for every record that stands after one it must
/// precede.
pub(super) fn place_records(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    repair: &Repair<'_>,
    gone: &HashSet<u32>,
) -> RecordPlacement {
    let defects = &rewriter.draft().body.defects;
    let mut fixed = repair.body.fixed_defects.iter().filter_map(|&at| defects.get(at));
    let relinks = fixed.any(|defect| matches!(defect.code, 701..=704));
    let moved = moved_records(rewriter, plan, gone, relinks);
    let mut places = RecordPlacement { moved, ..RecordPlacement::default() };
    let last_turn = last_turn(rewriter, plan);
    let in_last_turn = |planned: &PlannedRecord<'_, '_>| planned.slot >= last_turn;
    let stays = |planned: &PlannedRecord<'_, '_>| {
        planned.record().filter(|record| !places.moved.contains(record))
    };
    // A last turn that keeps none of its lines goes after all other records.
    let keeps_line =
        plan.iter().filter(|planned| in_last_turn(planned)).any(|it| stays(it).is_some());
    let tail = if keeps_line { None } else { plan.iter().filter_map(stays).max() };
    if keeps_line {
        move_late_records(rewriter, plan, gone, relinks, last_turn, &mut places.moved);
    }
    // After everything of its turn that precedes it; a result never before its call.
    let mut anchor = None;
    let mut last_role = Role::User;
    let end = rewritten_end(rewriter, plan, gone, &places.moved);
    // Records that the agent skips follow the reply they belong to, and may end the file.
    let empty_records = rewriter.chain().empty_records.iter();
    let skipped: HashMap<u32, u32> =
        empty_records.filter_map(|&record| Some((rewriter.parent(record)?, record))).collect();
    let after_skipped = |mut record: u32| {
        while let Some(&next) = skipped.get(&record).filter(|&&next| next > record) {
            record = next;
        }
        record
    };
    for (place, planned) in plan.iter().enumerate() {
        if let Some(last) = end.filter(|_| place + 1 == plan.len()) {
            places.moved.extend(planned.record());
            // In Neovate's files, a message without a parent after a line of another type has lost
            // its parent.
            match rewriter.agent {
                SessionAgent::Neovate => places.behind.entry(last).or_default().push(place),
                _ => places.last.push(place),
            }
            continue;
        }
        if in_last_turn(planned) {
            anchor = anchor.max(tail);
        }
        let stays = planned.record().filter(|record| !places.moved.contains(record));
        // Records that a compaction carried over are far above the summary they follow logically.
        if let Some(record) = stays.filter(|&at| rewriter.standing(at) == ChainStatus::Carried) {
            anchor = anchor.or(Some(record));
            continue;
        }
        if planned.role == Role::Assistant && last_role != Role::Assistant && stays.is_some() {
            anchor = None;
        }
        last_role = planned.role;
        match stays {
            Some(record) => anchor = anchor.max(Some(record)),
            None => match anchor {
                Some(record) => {
                    places.behind.entry(after_skipped(record)).or_default().push(place);
                }
                None => places.first.push(place),
            },
        }
    }
    places
}

/// The last message of a file decides which branch is the conversation. If a repair removes it and
/// a message of another branch would be last, the end of the conversation is written again. Returns
/// that other message.
fn rewritten_end(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    gone: &HashSet<u32>,
    moved: &HashSet<u32>,
) -> Option<u32> {
    let stays = |record: &u32| !gone.contains(record) && !moved.contains(record);
    let last = possible_ends(rewriter).find(stays)?;
    let own = rewriter.standing(last).is_in_conversation();
    (!own && !plan.is_empty()).then_some(last)
}

/// The records of the file from its end: agents start at the last message, some at the last record. They do not
/// start at a message of a sub-agent, or at a record that only repeats another one.
fn possible_ends(rewriter: &LinkedFileRewriter<'_, '_>) -> impl Iterator<Item = u32> {
    let records = (0..u32::try_from(rewriter.log().links.len()).unwrap_or(0)).rev();
    records.filter(|&record| {
        let standing = rewriter.standing(record);
        let aside = matches!(standing, ChainStatus::Subagent | ChainStatus::Duplicate);
        let link = &rewriter.log().links[record as usize];
        let is_end = link.fragment.is_some() || rewriter.starts_at_notes() && link.id.is_some();
        is_end && !aside
    })
}

/// The index of the first message of the last turn.
fn last_turn(rewriter: &LinkedFileRewriter<'_, '_>, plan: &[PlannedRecord<'_, '_>]) -> usize {
    let own_reply = |planned: &&PlannedRecord<'_, '_>| {
        let carried = |record| rewriter.standing(record) == ChainStatus::Carried;
        planned.role == Role::Assistant && !planned.record().is_some_and(carried)
    };
    let reply = plan.iter().rev().find(own_reply).or(plan.first());
    reply.map_or(0, |planned| planned.slot)
}

/// Moves records of earlier turns away from the end of the file, because agents start there.
fn move_late_records(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    gone: &HashSet<u32>,
    relinks: bool,
    last_turn: usize,
    moved: &mut HashSet<u32>,
) {
    let relinks = relinks || !moved.is_empty();
    let own: HashSet<u32> = plan
        .iter()
        .filter(|planned| planned.slot >= last_turn)
        .filter_map(PlannedRecord::record)
        .collect();
    let known: HashSet<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    for record in possible_ends(rewriter) {
        if gone.contains(&record) || moved.contains(&record) {
            continue;
        }
        if own.contains(&record) || !known.contains(&record) {
            // In a relinked turn, the last record of the chain must be the last in the file.
            let touched = plan
                .iter()
                .filter(|planned| planned.slot >= last_turn)
                .any(|planned| !matches!(planned.origin, RecordOrigin::Unchanged(_)));
            if relinks || touched || loses_record(rewriter, gone, &own) {
                // A record without content has no place in the plan: it follows another one.
                let place = preceding_message(rewriter, &known, record);
                let later = plan.iter().skip_while(|planned| planned.record() != place);
                let later = later.skip(1).filter_map(PlannedRecord::record);
                // Records that a compaction carried over stay where they are.
                let carried = |at: u32| rewriter.standing(at) == ChainStatus::Carried;
                moved.extend(later.filter(|&at| at < record && !carried(at)));
            }
            break;
        }
        moved.insert(record);
    }
}

/// The record itself if it is one of `known`. For a record that is left out because it has no
/// content, the last of them before it.
fn preceding_message(
    rewriter: &LinkedFileRewriter<'_, '_>,
    known: &HashSet<u32>,
    record: u32,
) -> Option<u32> {
    if known.contains(&record) || !rewriter.chain().empty_records.contains(&record) {
        return Some(record);
    }
    let order = rewriter.chain().order.iter().copied();
    order.take_while(|&at| at != record).filter(|at| known.contains(at)).last()
}

/// Whether a removed record belongs to the last turn, or to no turn.
fn loses_record(
    rewriter: &LinkedFileRewriter<'_, '_>,
    gone: &HashSet<u32>,
    last_turn: &HashSet<u32>,
) -> bool {
    let (mut in_turn, mut of_turn, mut of_messages) = (false, 0, 0);
    for record in &rewriter.chain().records {
        if gone.contains(record) {
            of_turn += 1;
            of_messages += 1;
        } else if last_turn.contains(record) {
            in_turn = true;
        } else if !in_turn {
            of_turn = 0;
        }
    }
    of_turn > 0 || of_messages < gone.len()
}

/// Existing records that must move to another position in the file.
fn moved_records(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    gone: &HashSet<u32>,
    relinks: bool,
) -> HashSet<u32> {
    let records: Vec<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    // Claude Code and pi follow links. Claude Code writes records before their parents, and results
    // between the records of a reply; pi's compactions stand after the records that they keep. So
    // only records that the repair reordered move. Neovate reads records in
    // file order: all of them are sorted, unless the repair changes none of them.
    let is_unchanged =
        |planned: &PlannedRecord<'_, '_>| matches!(planned.origin, RecordOrigin::Unchanged(_));
    let changes_none =
        !relinks && records == rewriter.chain().records && plan.iter().all(is_unchanged);
    let follows_links = rewriter.mixes_turns() || rewriter.agent == SessionAgent::Pi;
    let order: Vec<u32> = if follows_links || changes_none {
        let places: HashMap<u32, u32> =
            rewriter.chain().records.iter().zip(0..).map(|(&record, at)| (record, at)).collect();
        records.iter().map(|record| places.get(record).copied().unwrap_or(0)).collect()
    } else {
        records.clone()
    };
    let inlined = records.iter().copied().filter(|&record| rewriter.inlines_record(record));
    let mut moved: HashSet<u32> = inlined.collect();
    moved.extend(new_root(rewriter, plan, gone));
    if !order.is_sorted() {
        let unmoved = longest_increasing(&order);
        let out = records.iter().zip(&order).filter(|(_, at)| !unmoved.contains(at));
        moved.extend(out.map(|(record, _)| *record));
    }
    moved
}

/// The first record of the conversation, if its parent is removed and it would seem to have lost it.
/// In Neovate's files that is how a message without a parent after a line of another type is read.
fn new_root(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    gone: &HashSet<u32>,
) -> Option<u32> {
    let first = plan.first().and_then(PlannedRecord::record)?;
    let is_neovate = rewriter.agent == SessionAgent::Neovate;
    let parent = rewriter.parent(first).filter(|_| is_neovate)?;
    let above = std::iter::successors(Some(parent), |&at| rewriter.parent(at));
    let mut above = above.take(gone.len() + 1);
    let is_root = above.all(|at| gone.contains(&at));
    (is_root && follows_other_line(rewriter.log(), first as usize)).then_some(first)
}

/// The longest increasing subsequence. All other elements must move.
pub(super) fn longest_increasing(order: &[u32]) -> HashSet<u32> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(order.len());
    for (at, value) in order.iter().enumerate() {
        let length = ends.partition_point(|&end| order[end] < *value);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() { ends.push(at) } else { ends[length] = at }
    }
    let mut longest = HashSet::new();
    let mut at = ends.last().copied();
    while let Some(index) = at {
        longest.insert(order[index]);
        at = before[index];
    }
    longest
}

/// Whether a record of the plan stays on its line.
pub(super) fn stays_in_place(planned: &PlannedRecord<'_, '_>, places: &RecordPlacement) -> bool {
    match planned.origin {
        RecordOrigin::Unchanged(record) | RecordOrigin::Changed(record, _) => {
            !places.moved.contains(&record)
        }
        RecordOrigin::New(..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_outside_the_longest_increasing_subsequence_move() {
        let table: [(&[u32], &[u32]); 4] =
            [(&[1, 2, 3], &[]), (&[1, 9, 2, 3, 4], &[9]), (&[5, 1, 2], &[5]), (&[], &[])];
        for (order, expected) in table {
            let longest = longest_increasing(order);
            let moved: Vec<u32> =
                order.iter().copied().filter(|record| !longest.contains(record)).collect();
            assert_eq!(moved, expected, "{order:?}");
        }
    }
}
