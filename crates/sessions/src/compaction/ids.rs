//! Ids and times of the records that a compaction writes. They are derived from the file and the
//! compaction; the clock is not used.

use std::collections::HashSet;

use super::{CompactedFile, ParsedSession};
use crate::{derived_id::derive_uuid, repaired_path::next_millisecond};

/// Issues unused ids, and times after all others.
pub(super) struct CompactionIds<'a> {
    /// The id of the compaction.
    pub(super) compaction: String,
    existing: HashSet<&'a str>,
    issued: HashSet<String>,
    time: Option<String>,
}

impl<'a> CompactionIds<'a> {
    pub(super) fn new(
        session: &ParsedSession<'a>,
        compacted: &CompactedFile<'_>,
    ) -> CompactionIds<'a> {
        let log = &session.log;
        let links = log.links.iter().filter_map(|link| link.id);
        let existing = links.chain(log.entries.iter().map(|entry| entry.id)).collect();
        let times = log.records.iter().filter_map(|record| record.time);
        let time = times.filter(|time| next_millisecond(time).is_some()).max().map(str::to_owned);
        let mut ids =
            CompactionIds { compaction: String::new(), existing, issued: HashSet::new(), time };
        let size = log.source.len().to_string();
        let mut seed = vec!["compaction", session.metadata.id.as_deref().unwrap_or(""), &size];
        let new = compacted.messages.iter().filter(|message| !message.kept);
        seed.extend(new.map(|message| message.json));
        ids.compaction = ids.unused_id(&seed);
        ids
    }

    /// An unused id, derived from the seed and the compaction.
    pub(super) fn new_id(&mut self, seed: &[&str]) -> String {
        let compaction = self.compaction.clone();
        let mut full_seed = vec![compaction.as_str()];
        full_seed.extend(seed);
        self.unused_id(&full_seed)
    }

    fn unused_id(&mut self, seed: &[&str]) -> String {
        let mut round = 0;
        loop {
            let id = derive_uuid(seed, round);
            if !self.existing.contains(id.as_str()) && self.issued.insert(id.clone()) {
                return id;
            }
            round += 1;
        }
    }

    /// A time after all others. Some agent versions look for the latest record.
    pub(super) fn next_time(&mut self) -> Option<String> {
        self.time = self.time.take().map(|time| next_millisecond(&time).unwrap_or(time));
        self.time.clone()
    }
}
