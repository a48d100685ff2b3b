//! Keeps a run ours while it is at work, and notices when it is not any more.

use std::{sync::Arc, time::Duration};

use foxwedge_run::Id;
use foxwedge_store::{AnyStore, Lease, RunState, Store, StoreError};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::runs::LEASE;

/// How often is looked whether the run is still ours, in milliseconds.
const LOOK: u64 = 1_000;
/// So many looks later the lease is renewed: several times before it runs out.
const LOOKS: u64 = LEASE / 4 / LOOK;

/// Renews a lease until it is dropped.
pub(super) struct Renewal {
    task: JoinHandle<()>,
}

impl Renewal {
    /// Begins. If the run is somebody else's, or over, that is told once.
    pub(super) fn new(
        store: &Arc<AnyStore>,
        run: &Id,
        lease: &Lease,
        lost: mpsc::UnboundedSender<Id>,
    ) -> Renewal {
        let (store, run, lease) = (store.clone(), run.clone(), lease.clone());
        let task = tokio::spawn(async move {
            let mut looks = 0;
            loop {
                tokio::time::sleep(Duration::from_millis(LOOK)).await;
                looks += 1;
                let ours = match looks % LOOKS {
                    0 => store.renew(&run, &lease, LEASE).await,
                    _ => look(&store, &run, &lease).await,
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
        Renewal { task }
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether the run is at work and ours. Costs no write.
async fn look(store: &AnyStore, run: &Id, lease: &Lease) -> Result<(), StoreError> {
    let row = store.run(run).await?.ok_or_else(|| StoreError::NoRun(run.to_string()))?;
    match (&row.state, &row.lease) {
        (RunState::Open, Some(held)) if held == lease => Ok(()),
        (RunState::Open | RunState::Ended { .. }, _) => Err(StoreError::Ended(Box::new(row))),
    }
}
