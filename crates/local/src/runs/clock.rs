//! A clock in milliseconds since 1970 that never goes back while the program runs.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A monotonic clock. Changes of the system clock do not affect it.
#[derive(Clone, Copy, Debug)]
pub struct SteadyClock {
    started_at: u64,
    since: Instant,
}

impl SteadyClock {
    /// Starts from the system clock.
    pub fn start() -> SteadyClock {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        SteadyClock { started_at: milliseconds(since_epoch.as_millis()), since: Instant::now() }
    }

    /// The current time.
    pub fn now(&self) -> u64 {
        self.started_at.saturating_add(milliseconds(self.since.elapsed().as_millis()))
    }
}

fn milliseconds(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_go_back() {
        let clock = SteadyClock::start();
        let (one, two) = (clock.now(), clock.now());
        assert!(one >= 1_600_000_000_000 && two >= one);
    }
}
