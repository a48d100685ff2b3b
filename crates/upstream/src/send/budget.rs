//! The retry budget of an upstream: a failing upstream does not get every request several times.
//!
//! Failed retries are limited to a share of the requests of the last seconds. A retry holds a
//! permit until its outcome is known, and returns it if the retry succeeded. Other retries wait
//! meanwhile: if retrying helps, all of them proceed; if not, they fail at once.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

/// Seconds over which requests and failed retries are counted.
const WINDOW: u64 = 10;
/// Requests per failed retry.
const REQUESTS_PER_RETRY: u64 = 5;
/// Failed retries that are always allowed.
const MIN_RETRIES: u64 = 20;

/// The retry budget of one upstream.
#[derive(Debug)]
pub struct RetryBudget {
    started: Instant,
    window: Mutex<BudgetWindow>,
    /// Notified when the outcome of a retry is known.
    changed: Notify,
}

/// Permit of a retry in flight. Dropping it returns it to the budget.
#[derive(Debug)]
pub struct RetryPermit<'a>(&'a RetryBudget);

/// Counts of the last seconds, the newest last. Reads no clock.
#[derive(Debug, Default)]
struct BudgetWindow {
    seconds: VecDeque<BudgetSecond>,
    in_flight: u64,
}

#[derive(Clone, Copy, Debug)]
struct BudgetSecond {
    at: u64,
    requests: u64,
    failed: u64,
}

/// Whether a retry may begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RetryTurn {
    Now,
    /// Once the outcome of the retries in flight is known.
    Later,
    Never,
}

impl Default for RetryBudget {
    fn default() -> RetryBudget {
        RetryBudget::new()
    }
}

impl RetryBudget {
    /// A full budget.
    pub fn new() -> RetryBudget {
        let (window, changed) = (Mutex::default(), Notify::new());
        RetryBudget { started: Instant::now(), window, changed }
    }

    /// Counts the first attempt of a request.
    pub fn count_request(&self) {
        let now = self.now();
        self.lock().count(now, 1, 0);
    }

    /// Waits until a retry may begin; `None` if it may not.
    pub async fn acquire_retry(&self, max_wait: Duration) -> Option<RetryPermit<'_>> {
        let deadline = Instant::now() + max_wait;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no notification is missed.
            changed.as_mut().enable();
            let now = self.now();
            match self.lock().try_acquire(now) {
                RetryTurn::Now => return Some(RetryPermit(self)),
                RetryTurn::Never => return None,
                RetryTurn::Later => {}
            }
            timeout_at(deadline, changed).await.ok()?;
        }
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    fn lock(&self) -> MutexGuard<'_, BudgetWindow> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RetryPermit<'_> {
    /// Counts the retry as failed.
    pub fn mark_failed(self) {
        let now = self.0.now();
        self.0.lock().count(now, 0, 1);
    }
}

impl Drop for RetryPermit<'_> {
    fn drop(&mut self) {
        let mut window = self.0.lock();
        window.in_flight = window.in_flight.saturating_sub(1);
        drop(window);
        self.0.changed.notify_waiters();
    }
}

impl BudgetWindow {
    /// Adds to the counts of the current second.
    fn count(&mut self, now: u64, requests: u64, failed: u64) {
        self.expire(now);
        match self.seconds.back_mut() {
            Some(newest) if newest.at >= now => {
                newest.requests += requests;
                newest.failed += failed;
            }
            Some(_) | None => self.seconds.push_back(BudgetSecond { at: now, requests, failed }),
        }
    }

    fn try_acquire(&mut self, now: u64) -> RetryTurn {
        self.expire(now);
        let (requests, failed) = self.seconds.iter().fold((0, 0), |(requests, failed), second| {
            (requests + second.requests, failed + second.failed)
        });
        let max_failed = (requests / REQUESTS_PER_RETRY).max(MIN_RETRIES);
        if failed + self.in_flight < max_failed {
            self.in_flight += 1;
            return RetryTurn::Now;
        }
        if self.in_flight > 0 { RetryTurn::Later } else { RetryTurn::Never }
    }

    fn expire(&mut self, now: u64) {
        while self.seconds.front().is_some_and(|oldest| oldest.at + WINDOW <= now) {
            self.seconds.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_retries_are_limited_to_a_share_of_requests() {
        // (requests, retries that failed, retries in flight, the decision for the next)
        let table = [
            (0, 0, 0, RetryTurn::Now),
            (1, 19, 0, RetryTurn::Now),
            (1, 20, 0, RetryTurn::Never),
            (1, 19, 1, RetryTurn::Later),
            (1, 0, 20, RetryTurn::Later),
            (200, 39, 0, RetryTurn::Now),
            (200, 40, 0, RetryTurn::Never),
            (200, 0, 40, RetryTurn::Later),
        ];
        for (requests, failed, in_flight, expected) in table {
            let mut window = BudgetWindow { in_flight, ..BudgetWindow::default() };
            window.count(3, requests, failed);
            assert_eq!(window.try_acquire(3), expected, "{requests} {failed} {in_flight}");
            assert_eq!(
                window.try_acquire(3 + WINDOW - 1) == RetryTurn::Never,
                expected == RetryTurn::Never
            );
            assert_ne!(window.try_acquire(3 + WINDOW), RetryTurn::Never, "ten seconds later");
        }
    }

    #[test]
    fn failed_retries_never_exceed_the_budget() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = move |sides: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % sides
        };
        for _ in 0..300 {
            let mut window = BudgetWindow::default();
            let (mut now, mut in_flight) = (0, 0_u64);
            let mut events: Vec<(u64, u64, u64)> = Vec::new();
            for _ in 0..400 {
                match random(8) {
                    0 => now += random(4),
                    1 | 2 => {
                        window.count(now, 1, 0);
                        events.push((now, 1, 0));
                    }
                    3 if in_flight > 0 => {
                        (in_flight, window.in_flight) = (in_flight - 1, window.in_flight - 1);
                    }
                    4 if in_flight > 0 => {
                        (in_flight, window.in_flight) = (in_flight - 1, window.in_flight - 1);
                        window.count(now, 0, 1);
                        events.push((now, 0, 1));
                    }
                    _ => {
                        let recent = events.iter().filter(|(at, _, _)| at + WINDOW > now);
                        let (requests, failed) = recent
                            .fold((0, 0), |sum, (_, request, failed)| {
                                (sum.0 + request, sum.1 + failed)
                            });
                        let room =
                            failed + in_flight < (requests / REQUESTS_PER_RETRY).max(MIN_RETRIES);
                        let turn = window.try_acquire(now);
                        assert_eq!(turn == RetryTurn::Now, room);
                        assert_eq!(turn == RetryTurn::Never, !room && in_flight == 0);
                        in_flight += u64::from(room);
                    }
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_retry_follows_the_outcome_of_those_in_flight() {
        const LONG: Duration = Duration::from_secs(60);
        for helps in [true, false] {
            let budget = RetryBudget::new();
            let mut permits = Vec::new();
            for _ in 0..MIN_RETRIES {
                permits.push(budget.acquire_retry(LONG).await.expect("there is room"));
            }
            let one_more = budget.acquire_retry(LONG);
            tokio::pin!(one_more);
            assert!(futures_poll(one_more.as_mut()).await.is_none(), "it waits");
            for permit in permits {
                if helps { drop(permit) } else { permit.mark_failed() }
            }
            assert_eq!(one_more.await.is_some(), helps);
            assert_eq!(budget.lock().in_flight, 0);
        }
    }

    /// Polls once.
    async fn futures_poll<T>(mut future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(match future.as_mut().poll(context) {
                std::task::Poll::Ready(done) => Some(done),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
