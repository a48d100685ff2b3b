//! Closes runs whose process is gone: a lease that ran out says so, and so does this machine if
//! the process was one of its own.

use foxwedge_store::{AnyStore, ClosedRun, ListFilter, Result, close_dead_runs};

use super::owner::current_owner;

/// So many are closed before anything else happens; the next command goes on.
const MAX_CLOSED: usize = 1_000;

/// Closes them, and returns those that this call closed.
pub(super) async fn sweep(store: &AnyStore) -> Result<Vec<ClosedRun>> {
    let mut swept = foxwedge_store::sweep(store, &current_owner(), MAX_CLOSED).await?;
    swept.extend(close_dead_runs(store, ListFilter::default(), MAX_CLOSED).await?);
    Ok(swept)
}
