//! How much is tried, and with which seed: the default fits into every test run, a campaign sets
//! environment variables.

use std::{
    env,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Number of rounds of a harness.
pub(crate) fn rounds(variable: &str, default: usize) -> usize {
    match env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}: {text} is no number")),
        Err(_) => default,
    }
}

/// The random seed.
pub(crate) fn seed() -> u64 {
    rounds("FOXWEDGE_CHAOS_SEED", 1) as u64
}

/// One harness at a time, because each starts many processes.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a future on a new runtime.
pub(crate) fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(future)
}
