//! Milliseconds since 1970 that never go back while the program runs.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A clock that was set once, and is not set again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SteadyClock {
    started_at: u64,
    since: Instant,
}

impl SteadyClock {
    /// Sets it by the machine's clock.
    pub(crate) fn new() -> SteadyClock {
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        SteadyClock { started_at: milliseconds(begun.as_millis()), since: Instant::now() }
    }

    /// What it shows.
    pub(crate) fn now(&self) -> u64 {
        self.started_at.saturating_add(milliseconds(self.since.elapsed().as_millis()))
    }
}

fn milliseconds(long: u128) -> u64 {
    u64::try_from(long).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_go_back() {
        let clock = SteadyClock::new();
        let (one, two) = (clock.now(), clock.now());
        assert!(one >= 1_600_000_000_000 && two >= one);
    }
}
