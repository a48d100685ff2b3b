//! The newest requests. Bounded by number and by bytes.

use std::{collections::VecDeque, sync::Arc};

use super::RequestEntry;

/// The newest requests, in the order of their numbers.
pub(in crate::console) struct RequestRing {
    entries: VecDeque<Arc<RequestEntry>>,
    max_entries: usize,
    max_bytes: usize,
    bytes: usize,
    /// The number before the first one of this process.
    first: u64,
    last: u64,
    /// The number of the newest one that is no longer here.
    last_dropped: u64,
}

/// What came behind a number.
pub(in crate::console) struct RequestBatch {
    /// The oldest first.
    pub(in crate::console) entries: Vec<Arc<RequestEntry>>,
    /// How many fell out before they could be told.
    pub(in crate::console) missed: u64,
    /// Behind which number to go on.
    pub(in crate::console) last: u64,
}

impl RequestRing {
    pub(super) fn new(first: u64, most: usize, room: usize) -> RequestRing {
        let entries = VecDeque::new();
        RequestRing {
            entries,
            max_entries: most,
            max_bytes: room,
            bytes: 0,
            first,
            last: first,
            last_dropped: first,
        }
    }

    /// Takes one in, and lets the oldest go; its number.
    pub(super) fn push(&mut self, mut entry: RequestEntry) -> u64 {
        self.last += 1;
        entry.number = self.last;
        self.bytes += entry.memory_size();
        self.entries.push_back(Arc::new(entry));
        while self.entries.len() > self.max_entries || self.bytes > self.max_bytes {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.memory_size());
            self.last_dropped = oldest.number;
        }
        self.last
    }

    /// The newest of those that fit, behind a number on the way back; at most so many.
    pub(in crate::console) fn before(
        &self,
        number: Option<u64>,
        limit: usize,
        fits: impl Fn(&RequestEntry) -> bool,
    ) -> Vec<Arc<RequestEntry>> {
        let end = match number {
            Some(number) => self.entries.partition_point(|entry| entry.number < number),
            None => self.entries.len(),
        };
        let older = self.entries.iter().take(end).rev();
        older.filter(|entry| fits(entry)).take(limit).cloned().collect()
    }

    /// What came behind a number; at most so many are looked at.
    pub(in crate::console) fn after(
        &self,
        number: u64,
        looks: usize,
        fits: impl Fn(&RequestEntry) -> bool,
    ) -> RequestBatch {
        // A number of another process, or of the future, is as good as none.
        let number = if number > self.last { self.last } else { number };
        let start = self.entries.partition_point(|entry| entry.number <= number);
        let looked = self.entries.iter().skip(start).take(looks);
        let last =
            looked.clone().next_back().map_or(number.max(self.last_dropped), |entry| entry.number);
        // Numbers of an earlier process say nothing about how many there were.
        let missed = self.last_dropped.saturating_sub(number.max(self.first));
        RequestBatch {
            entries: looked.filter(|entry| fits(entry)).cloned().collect(),
            missed,
            last,
        }
    }

    /// One of them.
    pub(in crate::console) fn get(&self, number: u64) -> Option<Arc<RequestEntry>> {
        let place = self.entries.binary_search_by_key(&number, |entry| entry.number).ok()?;
        self.entries.get(place).cloned()
    }
}
