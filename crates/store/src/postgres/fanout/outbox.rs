//! What is to be told to other processes: the last place of each run, once.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// So many runs may wait; with one more, others are told to look everywhere.
const RUNS: usize = 4_096;

/// What is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OutboxNotices {
    /// Runs, and the places they went on to.
    Runs(HashMap<String, u64>),
    /// Any run may have gone on.
    All,
}

/// What waits to be told.
#[derive(Debug, Default)]
pub(super) struct NoticeOutbox {
    state: Mutex<OutboxState>,
    arrived: Notify,
    idle: Notify,
}

#[derive(Debug)]
struct OutboxState {
    notices: OutboxNotices,
    in_flight: bool,
}

impl Default for OutboxState {
    fn default() -> OutboxState {
        OutboxState { notices: no_notices(), in_flight: false }
    }
}

impl NoticeOutbox {
    /// A run went on to a place.
    pub(super) fn put(&self, run: &str, last: u64) {
        self.lock().notices.add(run, last);
        self.arrived.notify_one();
    }

    /// Wakes whoever waits for news, though there may be none.
    pub(super) fn wake(&self) {
        self.arrived.notify_one();
    }

    /// Waits until there is news, or something else makes a connection worth its while.
    pub(super) async fn wait_for_notices(&self, otherwise: impl Fn() -> bool) {
        while self.lock().notices.is_empty() && !otherwise() {
            self.arrived.notified().await;
        }
    }

    /// Takes what waits. It counts as being on its way until [`Outbox::sent`] or
    /// [`Outbox::put_back`].
    pub(super) fn take(&self) -> OutboxNotices {
        let mut state = self.lock();
        state.in_flight = true;
        mem::replace(&mut state.notices, no_notices())
    }

    /// What was taken is told.
    pub(super) fn mark_sent(&self) {
        self.lock().in_flight = false;
        self.idle.notify_waiters();
    }

    /// What was taken could not be told, and waits again.
    pub(super) fn put_back(&self, news: OutboxNotices) {
        let mut state = self.lock();
        state.in_flight = false;
        match news {
            OutboxNotices::All => state.notices = OutboxNotices::All,
            OutboxNotices::Runs(runs) => {
                runs.iter().for_each(|(run, last)| state.notices.add(run, *last))
            }
        }
    }

    /// Waits until all is told.
    pub(super) async fn wait_until_idle(&self) {
        loop {
            let told = self.idle.notified();
            let mut told = std::pin::pin!(told);
            // Registered before the look, so that nothing falls in between.
            told.as_mut().enable();
            let idle = {
                let state = self.lock();
                state.notices.is_empty() && !state.in_flight
            };
            if idle {
                return;
            }
            told.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutboxNotices {
    fn is_empty(&self) -> bool {
        matches!(self, OutboxNotices::Runs(runs) if runs.is_empty())
    }

    fn add(&mut self, run: &str, place: u64) {
        let OutboxNotices::Runs(runs) = self else { return };
        if let Some(last) = runs.get_mut(run) {
            *last = place.max(*last);
        } else if runs.len() < RUNS {
            runs.insert(run.to_owned(), place);
        } else {
            *self = OutboxNotices::All;
        }
    }
}

fn no_notices() -> OutboxNotices {
    OutboxNotices::Runs(HashMap::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(places: &[(&str, u64)]) -> OutboxNotices {
        OutboxNotices::Runs(places.iter().map(|(run, last)| ((*run).to_owned(), *last)).collect())
    }

    #[test]
    fn many_steps_of_a_run_are_told_once() {
        let outbox = NoticeOutbox::default();
        for (run, last) in [("a", 1), ("b", 7), ("a", 3), ("a", 2)] {
            outbox.put(run, last);
        }
        assert_eq!(outbox.take(), runs(&[("a", 3), ("b", 7)]));
        assert_eq!(outbox.take(), no_notices());
    }

    #[test]
    fn what_could_not_be_told_waits_again() {
        let outbox = NoticeOutbox::default();
        outbox.put("a", 3);
        let taken = outbox.take();
        outbox.put("a", 5);
        outbox.put("b", 1);
        outbox.put_back(taken);
        assert_eq!(outbox.take(), runs(&[("a", 5), ("b", 1)]));
    }

    #[test]
    fn too_many_runs_become_all() {
        let outbox = NoticeOutbox::default();
        (0..=RUNS).for_each(|run| outbox.put(&run.to_string(), 1));
        outbox.put("one more", 1);
        assert_eq!(outbox.take(), OutboxNotices::All);
    }

    #[tokio::test]
    async fn it_is_idle_once_all_is_told() {
        let outbox = NoticeOutbox::default();
        outbox.wait_until_idle().await;
        outbox.put("a", 1);
        outbox.wait_for_notices(|| false).await;
        outbox.take();
        let both = async {
            tokio::join!(outbox.wait_until_idle(), async { outbox.mark_sent() });
        };
        both.await;
    }
}
