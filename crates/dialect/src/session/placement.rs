//! Where in the file the records of a repair stand.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{Role, chain::ChainStatus};

use super::{
    linked_rewriter::LinkedFileRewriter,
    plan::{PlannedRecord, RecordOrigin},
};

/// Where in the file records go that are not where they were.
#[derive(Debug, Default)]
pub(super) struct RecordPlacement {
    /// Records of the plan that go behind an old record, by their places in the plan.
    pub(super) behind: HashMap<u32, Vec<usize>>,
    /// Records of the plan that go before everything else.
    pub(super) first: Vec<usize>,
    /// Records of the plan that go behind everything else.
    pub(super) last: Vec<usize>,
    /// Old records that leave their line.
    pub(super) moved: HashSet<u32>,
}

/// Finds a place for everything that is new, and for what stands behind something it belongs
/// before.
pub(super) fn place_records(
    desk: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    gone: &HashSet<u32>,
) -> RecordPlacement {
    let mut places =
        RecordPlacement { moved: moved_records(desk, plan), ..RecordPlacement::default() };
    move_late_records(desk, plan, gone, &mut places.moved);
    // Behind everything of its turn that stands before it; an answer never before its call.
    let mut anchor = None;
    let mut speaker = Role::User;
    let end = rewritten_end(desk, plan, gone, &places.moved);
    for (place, planned) in plan.iter().enumerate() {
        if end == Some(place) {
            places.moved.extend(planned.record());
            places.last.push(place);
            continue;
        }
        let stays = planned.record().filter(|record| !places.moved.contains(record));
        // What a compaction carried over stands far above the summary that it counts behind.
        if let Some(record) = stays.filter(|&at| desk.standing(at) == ChainStatus::Carried) {
            anchor = anchor.or(Some(record));
            continue;
        }
        if planned.role == Role::Assistant && speaker != Role::Assistant && stays.is_some() {
            anchor = None;
        }
        speaker = planned.role;
        match stays {
            Some(record) => anchor = anchor.max(Some(record)),
            None => match anchor {
                Some(record) => places.behind.entry(record).or_default().push(place),
                None => places.first.push(place),
            },
        }
    }
    places
}

/// The last message of a file decides which branch is the conversation. If a repair takes it away
/// and a message of another branch would be the last, the end of the conversation is written again.
fn rewritten_end(
    desk: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    gone: &HashSet<u32>,
    moved: &HashSet<u32>,
) -> Option<usize> {
    let stays = |record: &u32| !gone.contains(record) && !moved.contains(record);
    let last = (0..u32::try_from(desk.log().links.len()).unwrap_or(0)).rev().find(|record| {
        let link = &desk.log().links[*record as usize];
        // Nobody begins at a record that only repeats another one.
        let other =
            matches!(desk.standing(*record), ChainStatus::Subagent | ChainStatus::Duplicate);
        link.fragment.is_some() && stays(record) && !other
    })?;
    let own = desk.standing(last).is_in_conversation();
    (!own).then(|| plan.len().checked_sub(1)).flatten()
}

/// A record of an earlier turn may not be the last message of the file: agents begin there.
fn move_late_records(
    desk: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    gone: &HashSet<u32>,
    moved: &mut HashSet<u32>,
) {
    let own_reply = |planned: &PlannedRecord<'_, '_>| {
        let carried = |record| desk.standing(record) == ChainStatus::Carried;
        planned.role == Role::Assistant && !planned.record().is_some_and(carried)
    };
    let begins = plan.iter().rposition(own_reply).unwrap_or(0);
    let slot = plan.get(begins).map_or(0, |planned| planned.slot);
    let own: HashSet<u32> = plan
        .iter()
        .filter(|planned| planned.slot >= slot)
        .filter_map(PlannedRecord::record)
        .collect();
    let known: HashSet<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    let messages = (0..u32::try_from(desk.log().links.len()).unwrap_or(0)).rev();
    for record in messages.filter(|&record| desk.log().links[record as usize].fragment.is_some()) {
        if gone.contains(&record) || moved.contains(&record) {
            continue;
        }
        if own.contains(&record) || !known.contains(&record) {
            // In a turn that is linked anew the last in line has to be the last in the file.
            let touched = plan
                .iter()
                .filter(|planned| planned.slot >= slot)
                .any(|planned| matches!(planned.origin, RecordOrigin::Changed(..)));
            if touched || !gone.is_empty() {
                let behind = plan.iter().skip_while(|planned| planned.record() != Some(record));
                let behind = behind.skip(1).filter_map(PlannedRecord::record);
                // What a compaction carried over stands where it was.
                let carried = |at: u32| desk.standing(at) == ChainStatus::Carried;
                moved.extend(behind.filter(|&at| at < record && !carried(at)));
            }
            break;
        }
        moved.insert(record);
    }
}

/// Old records that have to stand elsewhere in the file.
fn moved_records(
    desk: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
) -> HashSet<u32> {
    let records: Vec<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    // Claude Code follows links, and writes records before their parents, and answers between the
    // pieces of a reply: there only what the repair put into another order moves. Neovate tells
    // records in the order of the file.
    let order: Vec<u32> = if desk.mixes_turns() {
        let places: HashMap<u32, u32> =
            desk.chain().records.iter().zip(0..).map(|(&record, at)| (record, at)).collect();
        records.iter().map(|record| places.get(record).copied().unwrap_or(0)).collect()
    } else {
        records.clone()
    };
    let home = records.iter().copied().filter(|&record| desk.inlines_record(record));
    let mut moved: HashSet<u32> = home.collect();
    if !order.is_sorted() {
        let kept = longest_increasing(&order);
        let out = records.iter().zip(&order).filter(|(_, at)| !kept.contains(at));
        moved.extend(out.map(|(record, _)| *record));
    }
    moved
}

/// The longest rising subsequence: whatever is not in it has to move.
pub(super) fn longest_increasing(order: &[u32]) -> HashSet<u32> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(order.len());
    for (at, value) in order.iter().enumerate() {
        let length = ends.partition_point(|&end| order[end] < *value);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() { ends.push(at) } else { ends[length] = at }
    }
    let mut kept = HashSet::new();
    let mut at = ends.last().copied();
    while let Some(index) = at {
        kept.insert(order[index]);
        at = before[index];
    }
    kept
}

/// Whether a record of the plan is written at its old line.
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
    fn what_breaks_the_rise_has_to_move() {
        let table: [(&[u32], &[u32]); 4] =
            [(&[1, 2, 3], &[]), (&[1, 9, 2, 3, 4], &[9]), (&[5, 1, 2], &[5]), (&[], &[])];
        for (order, expected) in table {
            let kept = longest_increasing(order);
            let moved: Vec<u32> =
                order.iter().copied().filter(|record| !kept.contains(record)).collect();
            assert_eq!(moved, expected, "{order:?}");
        }
    }
}
