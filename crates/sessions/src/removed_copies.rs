//! Counts what is lost with copies of records.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use foxwedge_core::Repair;
use foxwedge_json::object_fields;

use super::{ParsedSession, chain::ChainStatus};

/// How many fields of removed copies are in no record that stays. Two records are copies if their
/// messages are equal; a line that two writes ran together in may hold more.
pub(super) fn lost_fields(session: &ParsedSession<'_>, repair: &Repair<'_>) -> usize {
    let defects = &session.draft().body.defects;
    let fixed = repair.body.fixed_defects.iter();
    let removed = fixed.filter_map(|&at| {
        let record = *session.chain.defect_records.get(at)?;
        let is_copy = session.chain.statuses.get(record as usize) == Some(&ChainStatus::Duplicate);
        (is_copy && defects.get(at)?.code == 703).then_some(record)
    });
    let removed: HashSet<u32> = removed.collect();
    if removed.is_empty() {
        return 0;
    }
    let links = &session.log.links;
    let id = |record: u32| links.get(record as usize).and_then(|link| link.id).unwrap_or_default();
    let keys = |record: u32| -> Vec<Cow<'_, str>> {
        let Some(link) = links.get(record as usize) else { return Vec::new() };
        let fields = object_fields(session.log.source, link.span);
        fields.into_iter().map(|field| field.key).collect()
    };
    let mut kept: HashMap<&str, HashSet<Cow<'_, str>>> =
        removed.iter().map(|&record| (id(record), HashSet::new())).collect();
    for record in (0..u32::try_from(links.len()).unwrap_or(0)).filter(|at| !removed.contains(at)) {
        if let Some(kept) = kept.get_mut(id(record)) {
            kept.extend(keys(record));
        }
    }
    let lost = |record: &u32| {
        let kept = kept.get(id(*record));
        keys(*record).iter().filter(|key| !kept.is_some_and(|kept| kept.contains(*key))).count()
    };
    removed.iter().map(lost).sum()
}
