//! Closes runs whose process is gone: their lease expired, or the process ran on this machine and
//! has ended.

use foxwedge_store::{AnyStore, ClosedRun, ListFilter, Result, close_dead_runs};

use super::owner::current_owner;

/// Runs that one command closes at most. The next command continues.
const MAX_CLOSED: usize = 1_000;

/// Closes dead runs. Returns the runs that this call closed.
pub(super) async fn sweep(store: &AnyStore) -> Result<Vec<ClosedRun>> {
    let mut swept = foxwedge_store::sweep(store, &current_owner(), MAX_CLOSED).await?;
    swept.extend(close_dead_runs(store, ListFilter::default(), MAX_CLOSED).await?);
    Ok(swept)
}
