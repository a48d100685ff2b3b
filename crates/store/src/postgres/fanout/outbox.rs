//! Wake-ups to send to other processes: the last sequence number of each run, once.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Maximum number of queued runs. With one more, the message becomes [`OutboxNotices::All`].
const RUNS: usize = 4_096;

/// Wake-ups to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OutboxNotices {
    /// Runs with their last sequence numbers.
    Runs(HashMap<String, u64>),
    /// Any run may have new events.
    All,
}

/// The queue of wake-ups to send.
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
    /// Queues a run with its last sequence number.
    pub(super) fn put(&self, run: &str, last: u64) {
        self.lock().notices.add(run, last);
        self.arrived.notify_one();
    }

    /// Wakes the waiting task, even if there is nothing to send.
    pub(super) fn wake(&self) {
        self.arrived.notify_one();
    }

    /// Waits until there is something to send, or `otherwise` returns `true`.
    pub(super) async fn wait_for_notices(&self, otherwise: impl Fn() -> bool) {
        while self.lock().notices.is_empty() && !otherwise() {
            self.arrived.notified().await;
        }
    }

    /// Takes the queued notices. They count as in flight until [`NoticeOutbox::mark_sent`] or
    /// [`NoticeOutbox::put_back`].
    pub(super) fn take(&self) -> OutboxNotices {
        let mut state = self.lock();
        state.in_flight = true;
        mem::replace(&mut state.notices, no_notices())
    }

    /// Marks the taken notices as sent.
    pub(super) fn mark_sent(&self) {
        self.lock().in_flight = false;
        self.idle.notify_waiters();
    }

    /// Queues the taken notices again, because they could not be sent.
    pub(super) fn put_back(&self, notices: OutboxNotices) {
        let mut state = self.lock();
        state.in_flight = false;
        match notices {
            OutboxNotices::All => state.notices = OutboxNotices::All,
            OutboxNotices::Runs(runs) => {
                runs.iter().for_each(|(run, last)| state.notices.add(run, *last))
            }
        }
    }

    /// Waits until everything is sent.
    pub(super) async fn wait_until_idle(&self) {
        loop {
            let notified = self.idle.notified();
            let mut notified = std::pin::pin!(notified);
            // Registered before the check, so that no notification is missed.
            notified.as_mut().enable();
            let idle = {
                let state = self.lock();
                state.notices.is_empty() && !state.in_flight
            };
            if idle {
                return;
            }
            notified.await;
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

    fn add(&mut self, run: &str, seq: u64) {
        let OutboxNotices::Runs(runs) = self else { return };
        if let Some(last) = runs.get_mut(run) {
            *last = seq.max(*last);
        } else if runs.len() < RUNS {
            runs.insert(run.to_owned(), seq);
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

    fn runs(runs: &[(&str, u64)]) -> OutboxNotices {
        OutboxNotices::Runs(runs.iter().map(|(run, last)| ((*run).to_owned(), *last)).collect())
    }

    #[test]
    fn several_updates_of_a_run_are_sent_once() {
        let outbox = NoticeOutbox::default();
        for (run, last) in [("a", 1), ("b", 7), ("a", 3), ("a", 2)] {
            outbox.put(run, last);
        }
        assert_eq!(outbox.take(), runs(&[("a", 3), ("b", 7)]));
        assert_eq!(outbox.take(), no_notices());
    }

    #[test]
    fn unsent_notices_are_queued_again() {
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
    async fn outbox_is_idle_once_everything_is_sent() {
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
