//! The records of a repaired file in their order, each linked to the one before it where a repair
//! made that necessary. Links of turns that nobody touched stay as the agent wrote them.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{Repair, chain::ChainStatus};

use super::{
    linked_rewriter::{LinkedFileRewriter, UsedIds},
    plan::{PlannedRecord, RecordOrigin},
    repaired_path::RepairedPath,
};
use crate::json::quote;

/// One record on the path of the repaired file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathItem {
    /// One that was there.
    Old(u32),
    /// The new one at this place of the plan.
    New(usize),
}

/// What becomes of the links.
#[derive(Debug, Default)]
pub(super) struct LinkChanges {
    /// New parents of old records, as JSON.
    pub(super) parents: HashMap<u32, String>,
    /// New ids of old records.
    pub(super) ids: HashMap<u32, String>,
    /// New records, by their place in the plan.
    pub(super) new: HashMap<usize, NewRecordLink>,
    /// Records that go.
    pub(super) gone: HashSet<u32>,
}

/// What is new about a new record.
#[derive(Debug)]
pub(super) struct NewRecordLink {
    pub(super) id: String,
    /// Its parent, as JSON.
    pub(super) parent: String,
    /// When it was made: a moment after the record before it, since some versions of agents look
    /// for the latest record.
    pub(super) time: Option<String>,
}

/// Links what a plan holds.
pub(super) fn relink(
    desk: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    repair: &Repair<'_>,
    gone: HashSet<u32>,
    moved: &HashSet<u32>,
) -> LinkChanges {
    let mut woven = LinkChanges { gone, ..LinkChanges::default() };
    let mut used = UsedIds::default();
    // Records whose links are mended, and those whose links are wrong and stay so.
    let (mut joined, mut left) = (HashSet::new(), HashSet::new());
    let mended: HashSet<usize> = repair.body.fixed_defects.iter().copied().collect();
    for (at, (flaw, &record)) in
        desk.draft().body.defects.iter().zip(&desk.chain().defect_records).enumerate()
    {
        if !matches!(flaw.code, 701..=704) || woven.gone.contains(&record) {
            continue;
        }
        if !mended.contains(&at) {
            left.insert(record);
            continue;
        }
        joined.insert(record);
        if flaw.code == 703 {
            let id = desk.derive_id(&["record", desk.id(record)], &mut used);
            woven.ids.insert(record, id);
        }
    }
    let path = RepairedPath::new(desk, plan, &woven.gone, moved, &joined);
    assign_ids(desk, plan, &mut woven, &mut used);
    path.write_links(desk, &mut woven, &joined, &left);
    relink_orphans(desk, &mut woven);
    woven
}

impl LinkChanges {
    /// The id of an item, as it will be.
    pub(super) fn id<'w>(&'w self, desk: &LinkedFileRewriter<'_, 'w>, item: PathItem) -> &'w str {
        match item {
            PathItem::Old(record) => {
                self.ids.get(&record).map_or_else(|| desk.id(record), String::as_str)
            }
            PathItem::New(place) => self.new.get(&place).map_or("", |new| new.id.as_str()),
        }
    }
}

/// Messages that no slot holds any more, and records that repeat another one.
pub(super) fn removed_records(
    desk: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    repair: &Repair<'_>,
) -> HashSet<u32> {
    let kept: HashSet<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    let messages = desk.chain.records.iter().copied();
    let mut gone: HashSet<u32> = messages.filter(|record| !kept.contains(record)).collect();
    // A record that repeats one that goes would take its place.
    let kept: HashSet<&str> = kept.iter().map(|&record| desk.id(record)).collect();
    let lost: HashSet<&str> = gone.iter().map(|&record| desk.id(record)).collect();
    if !lost.is_empty() {
        let twin = |record: &u32| {
            let id = desk.id(*record);
            desk.standing(*record) == ChainStatus::Duplicate
                && !id.is_empty()
                && lost.contains(id)
                && !kept.contains(id)
        };
        gone.extend((0..u32::try_from(desk.log().links.len()).unwrap_or(0)).filter(twin));
    }
    for &flaw in &repair.body.fixed_defects {
        let culprit = desk.chain.defect_records.get(flaw).copied();
        gone.extend(culprit.filter(|&record| {
            desk.chain.statuses.get(record as usize) == Some(&ChainStatus::Duplicate)
        }));
    }
    gone
}

/// Gives new records their ids.
fn assign_ids(
    desk: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    woven: &mut LinkChanges,
    used: &mut UsedIds,
) {
    for (place, planned) in plan.iter().enumerate() {
        let RecordOrigin::New(template, pieces) = planned.origin else { continue };
        let mut seed = vec![desk.id(template)];
        seed.extend(pieces.iter().filter_map(|piece| match &piece.part.kind {
            foxwedge_core::PartKind::Answer(answer) => answer.id.as_deref(),
            _ => Some("text"),
        }));
        let id = desk.derive_id(&seed, used);
        woven.new.insert(place, NewRecordLink { id, parent: "null".to_owned(), time: None });
    }
}

/// Whoever hung on a record that is gone or has a new id hangs on what takes its place.
fn relink_orphans(desk: &LinkedFileRewriter<'_, '_>, woven: &mut LinkChanges) {
    if woven.gone.is_empty() && woven.ids.is_empty() {
        return;
    }
    // What takes the place of a record that is gone, once that is known.
    let mut instead: HashMap<u32, Option<u32>> = HashMap::new();
    for record in 0..u32::try_from(desk.log.links.len()).unwrap_or(0) {
        if woven.gone.contains(&record) || woven.parents.contains_key(&record) {
            continue;
        }
        let Some(first) = desk.parent(record) else { continue };
        let mut parent = Some(first);
        let mut passed = Vec::new();
        while let Some(gone) = parent.filter(|parent| woven.gone.contains(parent)) {
            if let Some(&known) = instead.get(&gone) {
                parent = known;
                break;
            }
            // Twins are gone in favour of the record they repeat.
            let twin = desk.first_record_with_id(desk.id(gone)).filter(|&first| first != gone);
            parent = twin.or_else(|| desk.parent(gone));
            passed.push(gone);
            if passed.len() > woven.gone.len() {
                parent = None;
            }
        }
        instead.extend(passed.into_iter().map(|gone| (gone, parent)));
        let id = parent.map(|parent| woven.id(desk, PathItem::Old(parent)).to_owned());
        if id.as_deref() != desk.log.links[record as usize].parent {
            woven.parents.insert(record, id.map_or("null".to_owned(), |id| quote(&id)));
        }
    }
}
