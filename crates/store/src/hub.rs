//! Wake-ups within a process: whoever stores an event tells the hub, and the hub tells everybody
//! who watches.
//!
//! A wake-up says that there is something to read, never what. What waits for a slow watcher is
//! one number for each run, and a fixed number of runs; beyond that it is told to look everywhere.

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

/// Something to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreWake {
    /// A run went on.
    Run {
        /// The run.
        run: SharedId,
        /// The highest place that was told of since the last wake-up.
        last: u64,
    },
    /// Any run may have gone on.
    All,
}

/// A watcher's end. Begin to watch, then read, then wait: so nothing is missed.
#[derive(Debug)]
pub struct StoreWatch {
    mailbox: Arc<WatchMailbox>,
    hub: WakeHub,
}

impl StoreWatch {
    /// Waits until there is something to read. `None` once the store is gone. May be dropped
    /// halfway: a wake-up that was not returned is still there.
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

/// Everybody who watches a store. A copy is the same hub.
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
    /// A new watcher.
    pub(crate) fn watch(&self) -> StoreWatch {
        let mailbox = Arc::new(WatchMailbox::default());
        lock(&self.shared.watchers).push(mailbox.clone());
        self.shared.count.fetch_add(1, Ordering::Relaxed);
        StoreWatch { mailbox, hub: self.clone() }
    }

    /// How many watch.
    pub(crate) fn watchers(&self) -> usize {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// A run went on to a place.
    pub(crate) fn publish(&self, run: &str, last: u64) {
        if self.watchers() == 0 {
            return;
        }
        let run = SharedId::from(run);
        lock(&self.shared.watchers).iter().for_each(|mailbox| mailbox.post(&run, last));
    }

    /// Any run may have gone on.
    pub(crate) fn wake_all(&self) {
        lock(&self.shared.watchers).iter().for_each(|mailbox| mailbox.post_all());
    }

    /// The store is gone: whoever watches hears the rest, and then the end.
    pub(crate) fn close(&self) {
        lock(&self.shared.watchers).iter().for_each(|mailbox| mailbox.close());
    }
}
