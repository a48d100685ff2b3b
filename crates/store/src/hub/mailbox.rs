//! What waits for one watcher. One lock holds both what waits and whom to wake, so that a post
//! cannot fall between a look and the wait that follows it.

use std::{
    collections::{HashMap, VecDeque},
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use foxwedge_run::SharedId;

use super::{StoreWake, sync::Mutex};

/// So many runs may wait for a watcher; with one more it has to look everywhere.
const RUNS: usize = 1_024;

/// What waits for one watcher.
#[derive(Debug, Default)]
pub(super) struct WatchMailbox {
    state: Mutex<MailboxState>,
}

#[derive(Debug, Default)]
struct MailboxState {
    waiting: WaitingRuns,
    closed: bool,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum WaitingRuns {
    /// Runs, the one that waits longest first, and the highest place of each.
    Runs { order: VecDeque<SharedId>, last: HashMap<SharedId, u64> },
    /// More than can be told one by one.
    All,
}

impl Default for WaitingRuns {
    fn default() -> WaitingRuns {
        WaitingRuns::Runs { order: VecDeque::new(), last: HashMap::new() }
    }
}

impl WatchMailbox {
    /// A run went on to a place.
    pub(super) fn post(&self, run: &SharedId, place: u64) {
        self.change(|state| state.waiting.add(run, place));
    }

    /// Any run may have gone on.
    pub(super) fn post_all(&self) {
        self.change(|state| state.waiting = WaitingRuns::All);
    }

    /// Nothing comes any more.
    pub(super) fn close(&self) {
        self.change(|state| state.closed = true);
    }

    /// What waits longest; or, under the same lock, whom to wake.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Option<StoreWake>> {
        let mut state = lock(&self.state);
        match state.waiting.take() {
            Some(wake) => Poll::Ready(Some(wake)),
            None if state.closed => Poll::Ready(None),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut MailboxState)) {
        let waker = {
            let mut state = lock(&self.state);
            change(&mut state);
            state.waker.take()
        };
        // Outside of the lock: whoever wakes up takes it at once.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl WaitingRuns {
    fn add(&mut self, run: &SharedId, place: u64) {
        let WaitingRuns::Runs { order, last } = self else { return };
        if let Some(known) = last.get_mut(run) {
            *known = place.max(*known);
        } else if last.len() < RUNS {
            last.insert(run.clone(), place);
            order.push_back(run.clone());
        } else {
            *self = WaitingRuns::All;
        }
    }

    fn take(&mut self) -> Option<StoreWake> {
        match self {
            WaitingRuns::Runs { order, last } => {
                let run = order.pop_front()?;
                let last = last.remove(&run)?;
                Some(StoreWake::Run { run, last })
            }
            WaitingRuns::All => {
                *self = WaitingRuns::default();
                Some(StoreWake::All)
            }
        }
    }
}

/// A lock that somebody panicked with is still a lock: what it guards is whole between calls.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> super::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
