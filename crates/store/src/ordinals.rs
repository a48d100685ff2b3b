//! Assigns ordinals to records: existing records keep theirs, new ones follow.

use std::collections::{HashMap, HashSet};

use crate::{NewRecord, Result, StoreError, StoredRecord};

/// What the store has of the given records and their parents.
#[derive(Debug, Default)]
pub(crate) struct ExistingRecords {
    /// Existing records, by id.
    pub(crate) records: HashMap<String, StoredRecord>,
    /// Ids of existing parents.
    pub(crate) parents: HashSet<String>,
}

/// Assigns an ordinal to every record: the existing one, or the next after `last`.
pub(crate) fn assign_ordinals(
    last: u64,
    existing: &ExistingRecords,
    records: &[NewRecord],
) -> Result<Vec<u64>> {
    let mut next = last;
    let mut added: HashMap<&str, (u64, &NewRecord)> = HashMap::new();
    let mut ordinals = Vec::with_capacity(records.len());
    for record in records {
        let known = existing.records.get(&record.id).map(|known| (known.ordinal, &known.record));
        let ordinal = match known.or_else(|| added.get(record.id.as_str()).copied()) {
            Some((ordinal, other)) if other == record => ordinal,
            Some(_) => return Err(StoreError::Conflict(record.id.clone())),
            None => {
                if let Some(parent) = &record.parent
                    && !existing.parents.contains(parent)
                    && !added.contains_key(parent.as_str())
                {
                    let id = &record.id;
                    let why = format!("the parent `{parent}` of record `{id}` does not exist");
                    return Err(StoreError::Invalid(why));
                }
                next += 1;
                added.insert(&record.id, (next, record));
                next
            }
        };
        ordinals.push(ordinal);
    }
    Ok(ordinals)
}

/// The records that are new, with their ordinals. A repeated record, in this call or an earlier
/// one, has an ordinal that is taken.
pub(crate) fn new_records<'o, 'r>(
    last: u64,
    ordinals: &'o [u64],
    records: &'r [NewRecord],
) -> impl Iterator<Item = (u64, &'r NewRecord)> + use<'o, 'r> {
    let mut last = last;
    ordinals.iter().copied().zip(records).filter(move |(ordinal, _)| {
        let new = *ordinal > last;
        last = last.max(*ordinal);
        new
    })
}
