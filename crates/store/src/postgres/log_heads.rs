//! Caches the ends of logs that this process writes, so that an append needs no read.
//!
//! A cached value may be outdated. The appending statement checks it; if it is wrong, the row is
//! read.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::row::PostgresRun;
use crate::chain::ChainLink;

/// Maximum number of cached runs.
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

/// Cached log ends, by run.
#[derive(Debug, Default)]
pub(super) struct LogHeadCache {
    heads: Mutex<HashMap<String, CachedLogHead>>,
}

impl LogHeadCache {
    /// Returns the cached end.
    pub(super) fn get(&self, run: &str) -> Option<CachedLogHead> {
        self.lock().get(run).copied()
    }

    /// Caches an end. An earlier end never replaces a later one of the same holder.
    pub(super) fn put(&self, run: &str, head: CachedLogHead) {
        let mut heads = self.lock();
        if let Some(cached) = heads.get_mut(run) {
            if (head.fence, head.last) > (cached.fence, cached.last) {
                *cached = head;
            }
            return;
        }
        // Clearing the whole cache costs one read per run. That is rare, and simpler than tracking
        // ages.
        if heads.len() >= RUNS {
            heads.clear();
        }
        heads.insert(run.to_owned(), head);
    }

    /// Removes a run from the cache.
    pub(super) fn forget(&self, run: &str) {
        self.lock().remove(run);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CachedLogHead>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(fence: u64, last: u64) -> CachedLogHead {
        CachedLogHead { serial: 1, epoch: 1, fence, last, chain: [0; 16] }
    }

    #[test]
    fn later_end_is_kept() {
        let table = [
            ((1, 5), (1, 4), (1, 5)),
            ((1, 5), (1, 6), (1, 6)),
            ((2, 3), (1, 9), (2, 3)),
            ((1, 9), (2, 3), (2, 3)),
        ];
        for (first, second, expected) in table {
            let heads = LogHeadCache::default();
            heads.put("run", head(first.0, first.1));
            heads.put("run", head(second.0, second.1));
            assert_eq!(heads.get("run"), Some(head(expected.0, expected.1)));
        }
    }

    #[test]
    fn cache_size_is_bounded() {
        let heads = LogHeadCache::default();
        (0..3 * RUNS).for_each(|run| heads.put(&run.to_string(), head(1, 1)));
        assert!(heads.lock().len() <= RUNS);
        heads.forget(&(3 * RUNS - 1).to_string());
        assert_eq!(heads.get(&(3 * RUNS - 1).to_string()), None);
    }
}
