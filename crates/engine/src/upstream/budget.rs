//! How many retries an upstream gets: a failing one is not asked several times for everything.
//!
//! Retries that fail are counted against a share of the requests of the last seconds. A retry holds a
//! part of the budget until its outcome is known, and gives it back if it was of use. Others that
//! want to retry meanwhile wait for that: either retrying helps, and all of them are served, or it
//! does not, and they are told at once.

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
/// Of so many requests one may be retried in vain.
const REQUESTS_PER_RETRY: u64 = 5;
/// So many retries may always fail.
const MIN_RETRIES: u64 = 20;

/// The retries of one upstream.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    started: Instant,
    window: Mutex<BudgetWindow>,
    /// The outcome of a retry is known.
    changed: Notify,
}

/// A retry that is at work. Dropped, it gives its part of the budget back.
#[derive(Debug)]
pub(crate) struct RetryPermit<'a>(&'a RetryBudget);

/// What is known about the last seconds, the newest last. Reads no clock.
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
    /// When it is known whether those at work are of use.
    Later,
    Never,
}

impl RetryBudget {
    pub(crate) fn new() -> RetryBudget {
        let (window, changed) = (Mutex::default(), Notify::new());
        RetryBudget { started: Instant::now(), window, changed }
    }

    /// A request is sent for the first time.
    pub(crate) fn count_request(&self) {
        let now = self.now();
        self.lock().count(now, 1, 0);
    }

    /// Waits until a retry may begin; `None` if it may not.
    pub(crate) async fn acquire_retry(&self, longest: Duration) -> Option<RetryPermit<'_>> {
        let deadline = Instant::now() + longest;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Whatever changes from here on is heard.
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
    /// The retry failed as the try before it.
    pub(crate) fn mark_failed(self) {
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
    /// Counts something that happens now.
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
        let most = (requests / REQUESTS_PER_RETRY).max(MIN_RETRIES);
        if failed + self.in_flight < most {
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
    fn retries_that_fail_are_a_share_of_the_requests() {
        // (requests, retries that failed, those at work, what the next one is told)
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
    fn whatever_happens_no_more_retries_fail_than_the_budget_has() {
        let mut dice = 88_172_645_463_325_252_u64;
        let mut roll = move |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % sides
        };
        for _ in 0..300 {
            let mut window = BudgetWindow::default();
            let (mut now, mut at_work) = (0, 0_u64);
            let mut events: Vec<(u64, u64, u64)> = Vec::new();
            for _ in 0..400 {
                match roll(8) {
                    0 => now += roll(4),
                    1 | 2 => {
                        window.count(now, 1, 0);
                        events.push((now, 1, 0));
                    }
                    3 if at_work > 0 => {
                        (at_work, window.in_flight) = (at_work - 1, window.in_flight - 1);
                    }
                    4 if at_work > 0 => {
                        (at_work, window.in_flight) = (at_work - 1, window.in_flight - 1);
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
                            failed + at_work < (requests / REQUESTS_PER_RETRY).max(MIN_RETRIES);
                        let turn = window.try_acquire(now);
                        assert_eq!(turn == RetryTurn::Now, room);
                        assert_eq!(turn == RetryTurn::Never, !room && at_work == 0);
                        at_work += u64::from(room);
                    }
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_a_turn_hears_how_the_others_fared() {
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

    /// Looks once.
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
