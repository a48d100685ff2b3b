//! The places of records that are to be added: what is there keeps its own, the rest follows.

use std::collections::{HashMap, HashSet};

use crate::{NewRecord, Result, StoreError, StoredRecord};

/// What is there of records and of those they follow.
#[derive(Debug, Default)]
pub(crate) struct ExistingRecords {
    /// Records that are told again, by their ids.
    pub(crate) records: HashMap<String, StoredRecord>,
    /// Parents.
    pub(crate) parents: HashSet<String>,
}

/// Gives every record its ordinal behind the last one of the session: the one it has, or the next.
pub(crate) fn assign_ordinals(
    last: u64,
    there: &ExistingRecords,
    records: &[NewRecord],
) -> Result<Vec<u64>> {
    let mut next = last;
    let mut fresh: HashMap<&str, (u64, &NewRecord)> = HashMap::new();
    let mut ordinals = Vec::with_capacity(records.len());
    for record in records {
        let known = there.records.get(&record.id).map(|known| (known.ordinal, &known.record));
        let ordinal = match known.or_else(|| fresh.get(record.id.as_str()).copied()) {
            Some((ordinal, same)) if same == record => ordinal,
            Some(_) => return Err(StoreError::Conflict(record.id.clone())),
            None => {
                if let Some(parent) = &record.parent
                    && !there.parents.contains(parent)
                    && !fresh.contains_key(parent.as_str())
                {
                    let id = &record.id;
                    let why = format!("record `{id}` follows `{parent}`, which is not there");
                    return Err(StoreError::Invalid(why));
                }
                next += 1;
                fresh.insert(&record.id, (next, record));
                next
            }
        };
        ordinals.push(ordinal);
    }
    Ok(ordinals)
}

/// Those of the records that are new, in their places. One that is told again, here or in an
/// earlier call, has a place that is taken.
pub(crate) fn new_records<'a>(
    last: u64,
    ordinals: &'a [u64],
    records: &'a [NewRecord],
) -> impl Iterator<Item = (u64, &'a NewRecord)> {
    let mut last = last;
    ordinals.iter().copied().zip(records).filter(move |(ordinal, _)| {
        let new = *ordinal > last;
        last = last.max(*ordinal);
        new
    })
}
