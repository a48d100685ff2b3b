//! What waits for one watcher. One lock holds both what waits and whom to wake, so that a post
//! cannot fall between a look and the wait that follows it.

use std::{
    collections::{HashMap, VecDeque},
    sync::PoisonError,
    task::{Context, Poll, Waker},
};

use foxwedge_run::Id;

use super::{Wake, sync::Mutex};

/// So many runs may wait for a watcher; with one more it has to look everywhere.
const RUNS: usize = 1_024;

/// What waits for one watcher.
#[derive(Debug, Default)]
pub(super) struct Mailbox {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waits: Waits,
    closed: bool,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Waits {
    /// Runs, the one that waits longest first, and the highest place of each.
    Runs { order: VecDeque<Id>, last: HashMap<Id, u64> },
    /// More than can be told one by one.
    All,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits::Runs { order: VecDeque::new(), last: HashMap::new() }
    }
}

impl Mailbox {
    /// A run went on to a place.
    pub(super) fn post(&self, run: &Id, place: u64) {
        self.change(|state| state.waits.add(run, place));
    }

    /// Any run may have gone on.
    pub(super) fn post_all(&self) {
        self.change(|state| state.waits = Waits::All);
    }

    /// Nothing comes any more.
    pub(super) fn close(&self) {
        self.change(|state| state.closed = true);
    }

    /// What waits longest; or, under the same lock, whom to wake.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Option<Wake>> {
        let mut state = locked(&self.state);
        match state.waits.take() {
            Some(wake) => Poll::Ready(Some(wake)),
            None if state.closed => Poll::Ready(None),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = locked(&self.state);
            change(&mut state);
            state.waker.take()
        };
        // Outside of the lock: whoever wakes up takes it at once.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Waits {
    fn add(&mut self, run: &Id, place: u64) {
        let Waits::Runs { order, last } = self else { return };
        if let Some(known) = last.get_mut(run) {
            *known = place.max(*known);
        } else if last.len() < RUNS {
            last.insert(run.clone(), place);
            order.push_back(run.clone());
        } else {
            *self = Waits::All;
        }
    }

    fn take(&mut self) -> Option<Wake> {
        match self {
            Waits::Runs { order, last } => {
                let run = order.pop_front()?;
                let last = last.remove(&run)?;
                Some(Wake::Run { run, last })
            }
            Waits::All => {
                *self = Waits::default();
                Some(Wake::All)
            }
        }
    }
}

/// A lock that somebody panicked with is still a lock: what it guards is whole between calls.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> super::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
