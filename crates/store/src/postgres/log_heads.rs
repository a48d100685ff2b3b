//! The ends of logs that this process writes to, remembered: an append then needs no reading.
//!
//! What is remembered is only ever a guess. The statement that appends checks it, and where it is
//! wrong the truth is read.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::row::PostgresRun;
use crate::chain::ChainLink;

/// So many are remembered.
const RUNS: usize = 8_192;

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CachedLogHead {
    pub(super) serial: i64,
    pub(super) epoch: u64,
    pub(super) fence: u64,
    pub(super) last: u64,
    pub(super) chain: ChainLink,
}

impl From<&PostgresRun> for CachedLogHead {
    fn from(run: &PostgresRun) -> CachedLogHead {
        CachedLogHead {
            serial: run.serial,
            epoch: run.row.epoch,
            fence: run.fence,
            last: run.row.last,
            chain: run.chain,
        }
    }
}

/// Ends of logs, by run.
#[derive(Debug, Default)]
pub(super) struct LogHeadCache {
    known: Mutex<HashMap<String, CachedLogHead>>,
}

impl LogHeadCache {
    /// What is remembered.
    pub(super) fn get(&self, run: &str) -> Option<CachedLogHead> {
        self.lock().get(run).copied()
    }

    /// Remembers. A later end is never replaced by an earlier one of the same holder.
    pub(super) fn put(&self, run: &str, head: CachedLogHead) {
        let mut known = self.lock();
        if let Some(before) = known.get_mut(run) {
            if (head.fence, head.last) > (before.fence, before.last) {
                *before = head;
            }
            return;
        }
        // Forgetting all of them costs one reading for each: rare, and simpler than their ages.
        if known.len() >= RUNS {
            known.clear();
        }
        known.insert(run.to_owned(), head);
    }

    /// Forgets.
    pub(super) fn forget(&self, run: &str) {
        self.lock().remove(run);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CachedLogHead>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(fence: u64, last: u64) -> CachedLogHead {
        CachedLogHead { serial: 1, epoch: 1, fence, last, chain: [0; 16] }
    }

    #[test]
    fn the_later_end_stays() {
        let table = [
            ((1, 5), (1, 4), (1, 5)),
            ((1, 5), (1, 6), (1, 6)),
            ((2, 3), (1, 9), (2, 3)),
            ((1, 9), (2, 3), (2, 3)),
        ];
        for (first, second, stays) in table {
            let heads = LogHeadCache::default();
            heads.put("run", head(first.0, first.1));
            heads.put("run", head(second.0, second.1));
            assert_eq!(heads.get("run"), Some(head(stays.0, stays.1)));
        }
    }

    #[test]
    fn the_number_of_remembered_runs_is_bounded() {
        let heads = LogHeadCache::default();
        (0..3 * RUNS).for_each(|run| heads.put(&run.to_string(), head(1, 1)));
        assert!(heads.lock().len() <= RUNS);
        heads.forget(&(3 * RUNS - 1).to_string());
        assert_eq!(heads.get(&(3 * RUNS - 1).to_string()), None);
    }
}
