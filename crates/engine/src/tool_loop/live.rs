//! Which runs this process works on. A run of this process that is open in the store and not among
//! them was left: whoever waited for it went away.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use foxwedge_store::process;

static LIVE: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// A run that is worked on, until this is dropped.
#[derive(Debug)]
pub(super) struct Live(String);

impl Live {
    pub(super) fn new(run: &str) -> Live {
        with(|live| live.insert(run.to_owned()));
        Live(run.to_owned())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        with(|live| live.remove(&self.0));
    }
}

/// Whether a run was left by this very process.
pub(super) fn is_left_by_us(owner: &str, run: &str) -> bool {
    process::machine().is_some() && owner == process::me() && !with(|live| live.contains(run))
}

fn with<T>(work: impl FnOnce(&mut HashSet<String>) -> T) -> T {
    let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    work(live.get_or_insert_default())
}
