//! Ids and times of what a compaction writes. They follow from the file and from the compaction:
//! nothing here knows what time it is.

use std::collections::HashSet;

use super::{CompactedFile, ParsedSession};
use crate::session::{linked_rewriter::derive_uuid, repaired_path::next_millisecond};

/// Ids that nobody has, and times that come after all others.
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
        condensed: &CompactedFile<'_>,
    ) -> CompactionIds<'a> {
        let log = &session.log;
        let links = log.links.iter().filter_map(|link| link.id);
        let used = links.chain(log.entries.iter().map(|entry| entry.id)).collect();
        let times = log.records.iter().filter_map(|record| record.time);
        let time = times.filter(|time| next_millisecond(time).is_some()).max().map(str::to_owned);
        let mut fresh = CompactionIds {
            compaction: String::new(),
            existing: used,
            issued: HashSet::new(),
            time,
        };
        let size = log.source.len().to_string();
        let mut seed = vec!["compaction", session.metadata.id.as_deref().unwrap_or(""), &size];
        let new = condensed.messages.iter().filter(|shown| !shown.kept);
        seed.extend(new.map(|shown| shown.json));
        fresh.compaction = fresh.unused_id(&seed);
        fresh
    }

    /// An id that follows from a few words and from the compaction.
    pub(super) fn new_id(&mut self, seed: &[&str]) -> String {
        let compaction = self.compaction.clone();
        let mut words = vec![compaction.as_str()];
        words.extend(seed);
        self.unused_id(&words)
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

    /// A moment after everything else. Some versions of agents look for the latest record.
    pub(super) fn next_time(&mut self) -> Option<String> {
        self.time = self.time.take().map(|time| next_millisecond(&time).unwrap_or(time));
        self.time.clone()
    }
}
