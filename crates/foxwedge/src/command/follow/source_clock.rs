//! When things happened, on the clock of whoever printed them. Some lines say it and others do
//! not; a recording that is read a day later has its own times and spans all the same.

use foxwedge_run::RunEvent;

/// What is known of the source's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SourceClock {
    /// The newest time that the source told, and when we heard it.
    newest: Option<(u64, u64)>,
}

impl SourceClock {
    /// Gives events that came at once, now, the times that their source left out.
    pub(super) fn stamp_events(&mut self, now: u64, events: &mut [RunEvent]) {
        if self.newest.is_none() {
            // What stands before the first time happened no later than that.
            self.newest = events.iter().find_map(|event| event.at).map(|at| (at, now));
        }
        for event in events {
            match event.at {
                Some(at) => {
                    let newest = self.newest.map_or(at, |(told, _)| told.max(at));
                    self.newest = Some((newest, now));
                }
                None => event.at = Some(self.source_time(now)),
            }
        }
    }

    /// The time of the source, now; ours, if it never told one.
    pub(super) fn source_time(&self, now: u64) -> u64 {
        match self.newest {
            Some((at, heard)) => at.saturating_add(now.saturating_sub(heard)),
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
    fn times_that_are_left_out_are_those_of_the_source() {
        let mut clock = SourceClock::default();
        assert_eq!(stamped(&mut clock, 9_000, &[None, Some(50), None]), [50, 50, 50]);
        assert_eq!(stamped(&mut clock, 9_020, &[None, Some(60), None]), [70, 60, 60]);
        assert_eq!(clock.source_time(9_120), 160);
        let mut silent = SourceClock::default();
        assert_eq!(stamped(&mut silent, 9_000, &[None, None]), [9_000, 9_000]);
        assert_eq!(silent.source_time(9_001), 9_001);
    }
}
