//! Computes the links of a repaired file. A record is linked to the one before it where the repair
//! requires that; links of untouched turns stay as the agent wrote them.

use std::collections::{HashMap, HashSet};

use crate::chain::ChainStatus;
use foxwedge_core::Repair;

use super::{
    derived_id::UsedIds,
    link_changes::{LinkChanges, NewRecordLink, PathItem},
    linked_file::LinkedFileRewriter,
    placement::RecordPlacement,
    plan::{PlannedRecord, RecordOrigin},
    repaired_path::RepairedPath,
};
use foxwedge_json::quote;

/// Links the records of a plan.
pub(super) fn relink(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    repair: &Repair<'_>,
    gone: HashSet<u32>,
    places: &RecordPlacement,
) -> LinkChanges {
    let mut changes = LinkChanges { gone, ..LinkChanges::default() };
    let mut used = UsedIds::default();
    // Records whose links are repaired, and those whose wrong links stay.
    let (mut repaired, mut unrepaired) = (HashSet::new(), HashSet::new());
    let fixed: HashSet<usize> = repair.body.fixed_defects.iter().copied().collect();
    for (at, (defect, &record)) in
        rewriter.draft().body.defects.iter().zip(&rewriter.chain().defect_records).enumerate()
    {
        if !matches!(defect.code, 701..=704) || changes.gone.contains(&record) {
            continue;
        }
        if !fixed.contains(&at) {
            unrepaired.insert(record);
            continue;
        }
        repaired.insert(record);
        if defect.code == 703 {
            let id = rewriter.derive_id(&["record", rewriter.id(record)], &mut used);
            changes.ids.insert(record, id);
        }
    }
    // Where the repair changes no record, all links stay.
    let is_unchanged =
        |planned: &PlannedRecord<'_, '_>| matches!(planned.origin, RecordOrigin::Unchanged(_));
    let order = plan.iter().filter_map(PlannedRecord::record);
    if repaired.is_empty()
        && changes.gone.is_empty()
        && places.moved.is_empty()
        && plan.iter().all(is_unchanged)
        && order.eq(rewriter.chain().records.iter().copied())
    {
        return changes;
    }
    let duplicates = duplicates(rewriter, &changes.gone);
    for (record, original) in &duplicates {
        if let Some(id) = changes.ids.get(original).cloned() {
            changes.ids.insert(*record, id);
        }
    }
    let spared = rewriter.chain().spared_links.iter().copied();
    unrepaired.extend(spared.filter(|record| !repaired.contains(record)));
    let path = RepairedPath::new(rewriter, plan, &changes.gone, places, &repaired);
    assign_ids(rewriter, plan, &mut changes, &mut used);
    path.write_links(rewriter, &mut changes, &repaired, &unrepaired);
    relink_orphans(rewriter, &mut changes);
    update_duplicates(rewriter, plan, duplicates, &mut changes);
    changes
}

/// The remaining duplicates, each with the record that it repeats.
fn duplicates(rewriter: &LinkedFileRewriter<'_, '_>, gone: &HashSet<u32>) -> Vec<(u32, u32)> {
    let records = 0..u32::try_from(rewriter.log().links.len()).unwrap_or(0);
    let is_duplicate = |record: &u32| rewriter.standing(*record) == ChainStatus::Duplicate;
    let remaining: Vec<u32> =
        records.clone().filter(is_duplicate).filter(|at| !gone.contains(at)).collect();
    if remaining.is_empty() {
        return Vec::new();
    }
    let key = |record: u32| {
        let whole = rewriter.log().records[record as usize].span;
        let span = rewriter.fragment(record).map_or(whole, |message| message.span);
        (rewriter.id(record), span.of(rewriter.log().source))
    };
    let others = records.filter(|record| !is_duplicate(record));
    let originals: HashMap<(&str, &str), u32> =
        others.map(|record| (key(record), record)).collect();
    let pair = |record: u32| Some((record, *originals.get(&key(record))?));
    remaining.into_iter().filter_map(pair).collect()
}

/// Keeps duplicates equal to the record they repeat, because a record with the same id and other
/// content is a defect. They get the same link, unless only their messages are compared; a duplicate
/// of a record with new content is removed.
fn update_duplicates(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    duplicates: Vec<(u32, u32)>,
    changes: &mut LinkChanges,
) {
    if duplicates.is_empty() {
        return;
    }
    let changed = plan.iter().filter_map(|planned| match planned.origin {
        RecordOrigin::Changed(record, _) => Some(record),
        RecordOrigin::Unchanged(_) | RecordOrigin::New(..) => None,
    });
    let changed: HashSet<u32> = changed.collect();
    for (record, original) in duplicates {
        if changed.contains(&original) {
            changes.gone.insert(record);
        } else if rewriter.fragment(record).is_none()
            && let Some(parent) = changes.parents.get(&original).cloned()
        {
            changes.parents.insert(record, parent);
        }
    }
}

/// Messages that are not part of the repaired conversation, and records that repeat another one.
pub(super) fn removed_records(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    repair: &Repair<'_>,
) -> HashSet<u32> {
    let kept_records: HashSet<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    let messages = rewriter.chain.records.iter().copied();
    let mut gone: HashSet<u32> = messages.filter(|record| !kept_records.contains(record)).collect();
    // A duplicate of a removed record would take its place.
    let kept_ids: HashSet<&str> = kept_records.iter().map(|&record| rewriter.id(record)).collect();
    let removed_ids: HashSet<&str> = gone.iter().map(|&record| rewriter.id(record)).collect();
    if !removed_ids.is_empty() {
        let is_duplicate = |record: &u32| {
            let id = rewriter.id(*record);
            rewriter.standing(*record) == ChainStatus::Duplicate
                && !id.is_empty()
                && removed_ids.contains(id)
                && !kept_ids.contains(id)
        };
        gone.extend(
            (0..u32::try_from(rewriter.log().links.len()).unwrap_or(0)).filter(is_duplicate),
        );
    }
    for &defect in &repair.body.fixed_defects {
        let record = rewriter.chain.defect_records.get(defect).copied();
        gone.extend(record.filter(|&record| {
            rewriter.chain.statuses.get(record as usize) == Some(&ChainStatus::Duplicate)
        }));
    }
    gone
}

/// Gives new records their ids.
fn assign_ids(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    changes: &mut LinkChanges,
    used: &mut UsedIds,
) {
    for (place, planned) in plan.iter().enumerate() {
        let RecordOrigin::New(template, parts) = planned.origin else { continue };
        let mut seed = vec![rewriter.id(template)];
        seed.extend(parts.iter().filter_map(|part| match &part.part.kind {
            foxwedge_core::PartKind::Answer(answer) => answer.id.as_deref(),
            _ => Some("text"),
        }));
        let id = rewriter.derive_id(&seed, used);
        changes.new.insert(place, NewRecordLink { id, parent: "null".to_owned(), time: None });
    }
}

/// Relinks records whose parent is removed or has a new id to the record that takes its place.
fn relink_orphans(rewriter: &LinkedFileRewriter<'_, '_>, changes: &mut LinkChanges) {
    if changes.gone.is_empty() && changes.ids.is_empty() {
        return;
    }
    // Caches the record that takes the place of a removed one.
    let mut replacements: HashMap<u32, Option<u32>> = HashMap::new();
    for record in 0..u32::try_from(rewriter.log.links.len()).unwrap_or(0) {
        if changes.gone.contains(&record) || changes.parents.contains_key(&record) {
            continue;
        }
        let Some(first) = rewriter.parent(record) else { continue };
        let mut parent = Some(first);
        let mut passed = Vec::new();
        while let Some(gone) = parent.filter(|parent| changes.gone.contains(parent)) {
            if let Some(&known) = replacements.get(&gone) {
                parent = known;
                break;
            }
            // A duplicate is replaced by the record it repeats.
            let original =
                rewriter.first_record_with_id(rewriter.id(gone)).filter(|&first| first != gone);
            parent = original.or_else(|| rewriter.parent(gone));
            passed.push(gone);
            if passed.len() > changes.gone.len() {
                parent = None;
            }
        }
        replacements.extend(passed.into_iter().map(|gone| (gone, parent)));
        let id = parent.map(|parent| changes.id(rewriter, PathItem::Old(parent)).to_owned());
        if id.as_deref() != rewriter.log.links[record as usize].parent {
            changes.parents.insert(record, id.map_or("null".to_owned(), |id| quote(&id)));
        }
    }
}
