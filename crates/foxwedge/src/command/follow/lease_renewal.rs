//! Keeps a run ours while it is at work, and notices when it is not any more.

use std::{sync::Arc, time::Duration};

use foxwedge_run::SharedId;
use foxwedge_store::{AnyStore, Lease, RunState, Store, StoreError};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::runs::LEASE;

/// How often is looked whether the run is still ours, in milliseconds.
const CHECK_MILLIS: u64 = 1_000;
/// So many looks later the lease is renewed: several times before it runs out.
const CHECKS_PER_RENEWAL: u64 = LEASE / 4 / CHECK_MILLIS;

/// Renews a lease until it is dropped.
pub(super) struct FollowLeaseRenewal {
    task: JoinHandle<()>,
}

impl FollowLeaseRenewal {
    /// Begins. If the run is somebody else's, or over, that is told once.
    pub(super) fn new(
        store: &Arc<AnyStore>,
        run: &SharedId,
        lease: &Lease,
        lost: mpsc::UnboundedSender<SharedId>,
    ) -> FollowLeaseRenewal {
        let (store, run, lease) = (store.clone(), run.clone(), lease.clone());
        let task = tokio::spawn(async move {
            let mut looks = 0;
            loop {
                tokio::time::sleep(Duration::from_millis(CHECK_MILLIS)).await;
                looks += 1;
                let ours = match looks % CHECKS_PER_RENEWAL {
                    0 => store.renew(&run, &lease, LEASE).await,
                    _ => check_lease(&store, &run, &lease).await,
                };
                match ours {
                    // A store that is away for a moment may be back before the lease runs out.
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

/// Whether the run is at work and ours. Costs no write.
async fn check_lease(store: &AnyStore, run: &SharedId, lease: &Lease) -> Result<(), StoreError> {
    let row = store.run(run).await?.ok_or_else(|| StoreError::NoRun(run.to_string()))?;
    match (&row.state, &row.lease) {
        (RunState::Open, Some(held)) if held == lease => Ok(()),
        (RunState::Open | RunState::Ended { .. }, _) => Err(StoreError::Ended(Box::new(row))),
    }
}
