//! How much is tried, and by which chance: the usual amount fits into every test run, a campaign
//! asks for more by environment variables.

use std::{
    env,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How many rounds a harness goes.
pub(crate) fn rounds(variable: &str, usual: usize) -> usize {
    match env::var(variable) {
        Ok(told) => told.parse().unwrap_or_else(|_| panic!("{variable}: {told} is no number")),
        Err(_) => usual,
    }
}

/// Where chance begins.
pub(crate) fn seed() -> u64 {
    rounds("FOXWEDGE_CHAOS_SEED", 1) as u64
}

/// One harness at a time: each of them is many processes.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs something that waits for stores.
pub(crate) fn wait_for<T>(work: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(work)
}
