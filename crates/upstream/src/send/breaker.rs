//! The circuit breaker of an upstream: after several failed requests in a row it is left alone for
//! some seconds. Then one request tries it again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Failed requests in a row that open the circuit.
const MAX_FAILURES: u32 = 5;
/// How long an upstream is left alone.
const OPEN_TIME: Duration = Duration::from_secs(10);

/// The circuit breaker of one upstream.
#[derive(Debug, Default)]
pub struct CircuitBreaker(Mutex<CircuitState>);

/// Reads no clock.
#[derive(Debug, Default)]
struct CircuitState {
    /// Failed requests since the last success.
    failures: u32,
    /// When the next request may try the upstream.
    blocked_until: Option<Instant>,
}

impl CircuitBreaker {
    /// Whether a request may be sent. While the circuit is open, one request passes every few
    /// seconds.
    pub fn allows_request(&self) -> bool {
        self.lock().allows_request(Instant::now())
    }

    /// Counts a request that succeeded, or that the upstream refused for a reason of its own.
    pub fn count_success(&self) {
        *self.lock() = CircuitState::default();
    }

    /// Counts a request that failed, after all its attempts.
    pub fn count_failure(&self) {
        self.lock().count_failure(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, CircuitState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CircuitState {
    fn allows_request(&mut self, now: Instant) -> bool {
        match self.blocked_until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                self.blocked_until = Some(now + OPEN_TIME);
                true
            }
        }
    }

    fn count_failure(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= MAX_FAILURES {
            self.blocked_until = Some(now + OPEN_TIME);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_that_fails_is_left_alone_and_then_tried_by_one_request() {
        let now = Instant::now();
        let mut state = CircuitState::default();
        for _ in 1..MAX_FAILURES {
            state.count_failure(now);
            assert!(state.allows_request(now));
        }
        state.count_failure(now);
        assert!(!state.allows_request(now));
        assert!(!state.allows_request(now + OPEN_TIME - Duration::from_millis(1)));
        let later = now + OPEN_TIME;
        assert!(state.allows_request(later), "one request tries it");
        assert!(!state.allows_request(later), "only one");
        state.count_failure(later);
        assert!(!state.allows_request(later + OPEN_TIME / 2), "it still fails");
        assert!(state.allows_request(later + OPEN_TIME));
    }

    #[test]
    fn a_success_closes_the_circuit() {
        let breaker = CircuitBreaker::default();
        for _ in 0..MAX_FAILURES {
            breaker.count_failure();
        }
        assert!(!breaker.allows_request());
        breaker.count_success();
        assert!(breaker.allows_request());
        breaker.count_failure();
        assert!(breaker.allows_request(), "a single failure does not open it");
    }
}
