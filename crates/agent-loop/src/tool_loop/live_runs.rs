//! The runs that this process works on. A run of this process that is open in the store but not
//! listed here was abandoned: its future was dropped.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use foxwedge_store::process;

static LIVE_RUNS: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Marks a run as live until it is dropped.
#[derive(Debug)]
pub(super) struct LiveRunGuard(String);

impl LiveRunGuard {
    pub(super) fn new(run: &str) -> LiveRunGuard {
        with_live_runs(|live| live.insert(run.to_owned()));
        LiveRunGuard(run.to_owned())
    }
}

impl Drop for LiveRunGuard {
    fn drop(&mut self) {
        with_live_runs(|live| live.remove(&self.0));
    }
}

/// Whether this process started the run and abandoned it.
pub(super) fn is_abandoned_here(owner: &str, run: &str) -> bool {
    process::machine_id().is_some()
        && owner == process::current_owner()
        && !with_live_runs(|live| live.contains(run))
}

fn with_live_runs<T>(work: impl FnOnce(&mut HashSet<String>) -> T) -> T {
    let mut live = LIVE_RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    work(live.get_or_insert_default())
}
