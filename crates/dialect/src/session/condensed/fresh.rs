//! Ids and times of what a compaction writes. They follow from the file and from the compaction:
//! nothing here knows what time it is.

use std::collections::HashSet;

use super::{Condensed, Session};
use crate::session::{desk::uuid, path::later};

/// Ids that nobody has, and times that come after all others.
pub(super) struct Fresh<'a> {
    /// The id of the compaction.
    pub(super) compaction: String,
    used: HashSet<&'a str>,
    given: HashSet<String>,
    time: Option<String>,
}

impl<'a> Fresh<'a> {
    pub(super) fn new(session: &Session<'a>, condensed: &Condensed<'_>) -> Fresh<'a> {
        let log = &session.log;
        let links = log.links.iter().filter_map(|link| link.id);
        let used = links.chain(log.entries.iter().map(|entry| entry.id)).collect();
        let times = log.records.iter().filter_map(|record| record.time);
        let time = times.filter(|time| later(time).is_some()).max().map(str::to_owned);
        let mut fresh = Fresh { compaction: String::new(), used, given: HashSet::new(), time };
        let size = log.source.len().to_string();
        let mut seed = vec!["compaction", session.about.id.as_deref().unwrap_or(""), &size];
        let new = condensed.messages.iter().filter(|shown| !shown.kept);
        seed.extend(new.map(|shown| shown.json));
        fresh.compaction = fresh.unused(&seed);
        fresh
    }

    /// An id that follows from a few words and from the compaction.
    pub(super) fn id(&mut self, seed: &[&str]) -> String {
        let compaction = self.compaction.clone();
        let mut words = vec![compaction.as_str()];
        words.extend(seed);
        self.unused(&words)
    }

    fn unused(&mut self, seed: &[&str]) -> String {
        let mut round = 0;
        loop {
            let id = uuid(seed, round);
            if !self.used.contains(id.as_str()) && self.given.insert(id.clone()) {
                return id;
            }
            round += 1;
        }
    }

    /// A moment after everything else. Some versions of agents look for the latest record.
    pub(super) fn time(&mut self) -> Option<String> {
        self.time = self.time.take().map(|time| later(&time).unwrap_or(time));
        self.time.clone()
    }
}
