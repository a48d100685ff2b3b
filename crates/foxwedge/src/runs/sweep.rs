//! Closes runs whose process is gone: a lease that ran out says so, and so does this machine if
//! the process was one of its own.

use foxwedge_store::{AnyStore, Filter, Result, Swept, close_gone};

use super::owner::me;

/// So many are closed before anything else happens; the next command goes on.
const MOST: usize = 1_000;

/// Closes them, and returns those that this call closed.
pub(super) async fn sweep(store: &AnyStore) -> Result<Vec<Swept>> {
    let mut swept = foxwedge_store::sweep(store, &me(), MOST).await?;
    swept.extend(close_gone(store, Filter::default(), MOST).await?);
    Ok(swept)
}
