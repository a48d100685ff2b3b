//! A ring of the newest requests, limited by number and by bytes.

use std::{collections::VecDeque, sync::Arc};

use super::RequestEntry;

/// The newest requests, ordered by number.
pub(crate) struct RequestRing {
    entries: VecDeque<Arc<RequestEntry>>,
    max_entries: usize,
    max_bytes: usize,
    bytes: usize,
    /// The number before the first request of this process.
    first: u64,
    last: u64,
    /// The number of the last request that was dropped.
    last_dropped: u64,
}

/// The requests after a number.
pub(crate) struct RequestBatch {
    /// Oldest first.
    pub(crate) entries: Vec<Arc<RequestEntry>>,
    /// Number of requests dropped before they could be sent.
    pub(crate) missed: u64,
    /// The number to continue after.
    pub(crate) last: u64,
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

    /// Adds a request, drops the oldest if necessary, and returns the number of the new one.
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

    /// The newest matching requests before a number, at most `limit`.
    pub(crate) fn before(
        &self,
        number: Option<u64>,
        limit: usize,
        matches: impl Fn(&RequestEntry) -> bool,
    ) -> Vec<Arc<RequestEntry>> {
        let end = match number {
            Some(number) => self.entries.partition_point(|entry| entry.number < number),
            None => self.entries.len(),
        };
        let older = self.entries.iter().take(end).rev();
        older.filter(|entry| matches(entry)).take(limit).cloned().collect()
    }

    /// The requests after a number; at most `max` are examined.
    pub(crate) fn after(
        &self,
        number: u64,
        max: usize,
        matches: impl Fn(&RequestEntry) -> bool,
    ) -> RequestBatch {
        // A number above our own is not from this process and is ignored.
        let number = if number > self.last { self.last } else { number };
        let start = self.entries.partition_point(|entry| entry.number <= number);
        let examined = self.entries.iter().skip(start).take(max);
        let last = examined
            .clone()
            .next_back()
            .map_or(number.max(self.last_dropped), |entry| entry.number);
        // Numbers of an earlier process do not count as missed.
        let missed = self.last_dropped.saturating_sub(number.max(self.first));
        RequestBatch {
            entries: examined.filter(|entry| matches(entry)).cloned().collect(),
            missed,
            last,
        }
    }

    /// The request with this number.
    pub(crate) fn get(&self, number: u64) -> Option<Arc<RequestEntry>> {
        let index = self.entries.binary_search_by_key(&number, |entry| entry.number).ok()?;
        self.entries.get(index).cloned()
    }
}
