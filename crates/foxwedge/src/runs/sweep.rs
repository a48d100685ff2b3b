//! Closes runs whose process is gone: a lease that ran out says so, and so does this machine if
//! the process was one of its own.

use foxwedge_run::{Body, Ended, Outcome};
use foxwedge_store::{
    AnyStore, Authority, Filter, Finalized, Page, Result, Store, StoreError, Swept,
};

use super::owner::{is_gone, me};

/// So many are closed before anything else happens; the next command goes on.
const MOST: usize = 1_000;

/// Closes them, and returns those that this call closed.
pub(super) async fn sweep(store: &AnyStore) -> Result<Vec<Swept>> {
    let mut swept = foxwedge_store::sweep(store, &me(), MOST).await?;
    let open = Filter { open: Some(true), ..Filter::default() };
    for run in store.runs(open, Page { after: None, limit: MOST }).await? {
        let owner = run.lease.as_ref().map(|lease| lease.owner.as_str());
        if !owner.is_some_and(is_gone) {
            continue;
        }
        let end = Body::Ended(Ended { outcome: Some(Outcome::Interrupted), ..Ended::default() });
        match foxwedge_store::close(store, &run.id, end, Authority::Operator).await {
            Ok(Finalized::Won(run)) => swept.push(Swept { run, damage: None }),
            // Somebody else was faster, or deleted it.
            Ok(Finalized::Lost(_)) | Err(StoreError::Ended(_) | StoreError::NoRun(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(swept)
}
