//! Event times on the clock of the source. Some lines have a time and others do not; a recording
//! that is read a day later keeps its own times and durations.

use foxwedge_run::RunEvent;

/// Estimates the clock of the source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SourceClock {
    /// The newest source time, and the local time when it was read.
    newest: Option<(u64, u64)>,
}

impl SourceClock {
    /// Sets the time of events without one. All events were read at `now`.
    pub(super) fn stamp_events(&mut self, now: u64, events: &mut [RunEvent]) {
        if self.newest.is_none() {
            // Events before the first time happened no later than that.
            self.newest = events.iter().find_map(|event| event.at).map(|at| (at, now));
        }
        for event in events {
            match event.at {
                Some(at) => {
                    let newest = self.newest.map_or(at, |(newest, _)| newest.max(at));
                    self.newest = Some((newest, now));
                }
                None => event.at = Some(self.source_time(now)),
            }
        }
    }

    /// The current time of the source, or the local time if the source has none.
    pub(super) fn source_time(&self, now: u64) -> u64 {
        match self.newest {
            Some((at, read_at)) => at.saturating_add(now.saturating_sub(read_at)),
            None => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use foxwedge_run::{EventPayload, SharedId, StopRequest};

    use super::*;

    fn stamped(clock: &mut SourceClock, now: u64, times: &[Option<u64>]) -> Vec<u64> {
        let event = |at: &Option<u64>| RunEvent {
            at: *at,
            ..RunEvent::new(&SharedId::from("r"), EventPayload::Stop(StopRequest::default()))
        };
        let mut events: Vec<RunEvent> = times.iter().map(event).collect();
        clock.stamp_events(now, &mut events);
        events.iter().filter_map(|event| event.at).collect()
    }

    #[test]
    fn missing_times_are_filled_from_the_source_clock() {
        let mut clock = SourceClock::default();
        assert_eq!(stamped(&mut clock, 9_000, &[None, Some(50), None]), [50, 50, 50]);
        assert_eq!(stamped(&mut clock, 9_020, &[None, Some(60), None]), [70, 60, 60]);
        assert_eq!(clock.source_time(9_120), 160);
        let mut silent = SourceClock::default();
        assert_eq!(stamped(&mut silent, 9_000, &[None, None]), [9_000, 9_000]);
        assert_eq!(silent.source_time(9_001), 9_001);
    }
}
