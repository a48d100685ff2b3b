//! The queue of one watcher. One lock guards both the queue and the waker, so a post cannot fall
//! between a poll and the wait that follows it.

use std::{
    collections::{HashMap, VecDeque},
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use foxwedge_run::SharedId;

use super::{StoreWake, sync::Mutex};

/// How many runs can be queued for a watcher. With one more it receives [`StoreWake::All`].
const RUNS: usize = 1_024;

/// The queue of one watcher.
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
    /// Runs in order of arrival, and the highest sequence number of each.
    Runs { order: VecDeque<SharedId>, last: HashMap<SharedId, u64> },
    /// Too many runs to list.
    All,
}

impl Default for WaitingRuns {
    fn default() -> WaitingRuns {
        WaitingRuns::Runs { order: VecDeque::new(), last: HashMap::new() }
    }
}

impl WatchMailbox {
    /// Adds a run with its last sequence number.
    pub(super) fn post(&self, run: &SharedId, seq: u64) {
        self.change(|state| state.waiting.add(run, seq));
    }

    /// Replaces the queue with [`StoreWake::All`].
    pub(super) fn post_all(&self) {
        self.change(|state| state.waiting = WaitingRuns::All);
    }

    /// Ends the queue once it is empty.
    pub(super) fn close(&self) {
        self.change(|state| state.closed = true);
    }

    /// Takes the oldest wake-up, or registers the waker under the same lock.
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
        // Outside the lock, because the woken task takes it at once.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl WaitingRuns {
    fn add(&mut self, run: &SharedId, seq: u64) {
        let WaitingRuns::Runs { order, last } = self else { return };
        if let Some(known) = last.get_mut(run) {
            *known = seq.max(*known);
        } else if last.len() < RUNS {
            last.insert(run.clone(), seq);
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

/// Ignores poisoning: the guarded data is consistent between calls.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> super::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
