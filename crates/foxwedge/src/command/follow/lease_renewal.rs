//! Renews the lease of a run, and reports when another process took over or ended the run.

use std::{sync::Arc, time::Duration};

use foxwedge_run::SharedId;
use foxwedge_store::{AnyStore, Lease, RunState, Store, StoreError};
use tokio::{sync::mpsc, task::JoinHandle};

use foxwedge_local::runs::LEASE;

/// How often the lease is checked, in milliseconds.
const CHECK_MILLIS: u64 = 1_000;
/// Checks between two renewals: a lease is renewed several times before it expires.
const CHECKS_PER_RENEWAL: u64 = LEASE / 4 / CHECK_MILLIS;

/// Renews a lease until it is dropped.
pub(super) struct FollowLeaseRenewal {
    task: JoinHandle<()>,
}

impl FollowLeaseRenewal {
    /// Starts the renewal. If the lease is lost or the run ended, sends the run id once.
    pub(super) fn new(
        store: &Arc<AnyStore>,
        run: &SharedId,
        lease: &Lease,
        lost: mpsc::UnboundedSender<SharedId>,
    ) -> FollowLeaseRenewal {
        let (store, run, lease) = (store.clone(), run.clone(), lease.clone());
        let task = tokio::spawn(async move {
            let mut checks = 0;
            loop {
                tokio::time::sleep(Duration::from_millis(CHECK_MILLIS)).await;
                checks += 1;
                let result = match checks % CHECKS_PER_RENEWAL {
                    0 => store.renew(&run, &lease, LEASE).await,
                    _ => check_lease(&store, &run, &lease).await,
                };
                match result {
                    // The store may become available again before the lease expires.
                    Ok(()) | Err(StoreError::Unavailable(_)) => {}
                    Err(_) => {
                        let _ = lost.send(run);
                        return;
                    }
                }
            }
        });
        FollowLeaseRenewal { task }
    }
}

impl Drop for FollowLeaseRenewal {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether the run is open and this lease is current. Reads only.
async fn check_lease(store: &AnyStore, run: &SharedId, lease: &Lease) -> Result<(), StoreError> {
    let row = store.run(run).await?.ok_or_else(|| StoreError::NoRun(run.to_string()))?;
    match (&row.state, &row.lease) {
        (RunState::Open, Some(current)) if current == lease => Ok(()),
        (RunState::Open | RunState::Ended { .. }, _) => Err(StoreError::Ended(Box::new(row))),
    }
}
