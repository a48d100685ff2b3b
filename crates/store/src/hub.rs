//! Wake-ups within a process: the hub notifies every watcher when an event is stored.
//!
//! A wake-up means that there is something to read; it carries no events. A slow watcher keeps one
//! number per run, for a fixed number of runs. With more runs it receives [`StoreWake::All`].

mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard};
}
mod mailbox;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;
#[cfg(test)]
mod tests;

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use foxwedge_run::SharedId;
use mailbox::{WatchMailbox, lock};

/// A wake-up: there is something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreWake {
    /// A run has new events.
    Run {
        /// The run.
        run: SharedId,
        /// The highest sequence number published since the last wake-up.
        last: u64,
    },
    /// Any run may have new events.
    All,
}

/// Receives wake-ups. To miss nothing, subscribe first, then read, then wait.
#[derive(Debug)]
pub struct StoreWatch {
    mailbox: Arc<WatchMailbox>,
    hub: WakeHub,
}

impl StoreWatch {
    /// Waits for the next wake-up. Returns `None` once the store is closed. Cancel-safe: a wake-up
    /// that was not returned stays queued.
    pub async fn next(&mut self) -> Option<StoreWake> {
        poll_fn(|context| self.mailbox.poll(context)).await
    }
}

impl Drop for StoreWatch {
    fn drop(&mut self) {
        lock(&self.hub.shared.watchers).retain(|mailbox| !Arc::ptr_eq(mailbox, &self.mailbox));
        self.hub.shared.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All watchers of a store. Clones share state.
#[derive(Clone, Debug, Default)]
pub(crate) struct WakeHub {
    shared: Arc<HubState>,
}

#[derive(Debug, Default)]
struct HubState {
    watchers: sync::Mutex<Vec<Arc<WatchMailbox>>>,
    count: AtomicUsize,
}

impl WakeHub {
    /// Adds a watcher.
    pub(crate) fn watch(&self) -> StoreWatch {
        let mailbox = Arc::new(WatchMailbox::default());
        lock(&self.shared.watchers).push(mailbox.clone());
        self.shared.count.fetch_add(1, Ordering::Relaxed);
        StoreWatch { mailbox, hub: self.clone() }
    }

    /// Number of watchers.
    pub(crate) fn watchers(&self) -> usize {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// Announces new events of a run.
    pub(crate) fn publish(&self, run: &str, last: u64) {
        if self.watchers() == 0 {
            return;
        }
        let run = SharedId::from(run);
        lock(&self.shared.watchers).iter().for_each(|mailbox| mailbox.post(&run, last));
    }

    /// Announces that any run may have new events.
    pub(crate) fn wake_all(&self) {
        lock(&self.shared.watchers).iter().for_each(|mailbox| mailbox.post_all());
    }

    /// Closes the hub. Watchers receive the queued wake-ups, then `None`.
    pub(crate) fn close(&self) {
        lock(&self.shared.watchers).iter().for_each(|mailbox| mailbox.close());
    }
}
