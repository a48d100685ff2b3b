//! The machine's clock. It never goes back, whatever the caller's clock does.

/// Elapsed milliseconds, and the last time on the caller's clock.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct MachineClock {
    elapsed: u64,
    now: u64,
    begun: bool,
}

impl MachineClock {
    pub(super) fn advance(&mut self, now: u64) {
        if self.begun {
            self.elapsed = self.elapsed.saturating_add(now.saturating_sub(self.now));
        }
        self.begun = true;
        self.now = now;
    }

    /// Returns the moment `by` milliseconds from now.
    pub(super) fn later(&self, by: u64) -> u64 {
        self.elapsed.saturating_add(by)
    }

    pub(super) fn has_passed(&self, moment: u64) -> bool {
        self.elapsed >= moment
    }

    /// Converts a moment to the caller's clock.
    pub(super) fn to_caller_time(&self, moment: u64) -> u64 {
        self.now.saturating_add(moment.saturating_sub(self.elapsed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_stands_still_when_the_caller_clock_jumps_back() {
        let mut clock = MachineClock::default();
        clock.advance(1_000_000);
        let moment = clock.later(2_000);
        clock.advance(5);
        assert!(!clock.has_passed(moment));
        assert_eq!(clock.to_caller_time(moment), 2_005);
        clock.advance(1_005);
        clock.advance(3);
        clock.advance(1_003);
        assert!(clock.has_passed(moment));
    }

    #[test]
    fn clock_saturates_at_the_maximum() {
        let mut clock = MachineClock::default();
        clock.advance(0);
        clock.advance(u64::MAX);
        assert_eq!(clock.later(10), u64::MAX);
        assert!(clock.has_passed(u64::MAX));
    }
}
