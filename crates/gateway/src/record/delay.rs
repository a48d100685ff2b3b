//! How long the writer may wait before it writes. Waiting is useful: a request that ends within
//! that time is written once and not twice, and many are written together. But what a client has
//! received should be written soon, so there is a limit. Does not read a clock.

use std::time::Duration;

/// How long the writer waits for more items.
const BATCH_WAIT: Duration = Duration::from_millis(10);

/// The longest intentional delay. Commits in progress come on top.
pub(super) const MAX_DELAY: Duration = Duration::from_millis(50);

/// Whether a queued item ends a run that is open in the store. If the process were killed now, the
/// run would be marked as interrupted although its client has the complete reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QueuedRunEnd {
    OpenRun,
    Nothing,
}

/// How long the writer may wait for more, given the age of the oldest queued item.
pub(super) fn pause(oldest: Duration, ends: QueuedRunEnd) -> Duration {
    match ends {
        QueuedRunEnd::OpenRun => Duration::ZERO,
        QueuedRunEnd::Nothing => BATCH_WAIT.min(MAX_DELAY.saturating_sub(oldest)),
    }
}

/// Whether the start of a request may wait for its end until the next batch.
pub(super) fn may_hold(age: Duration) -> bool {
    age + BATCH_WAIT <= MAX_DELAY
}

/// The time between two timestamps in milliseconds since 1970; zero if the clock was set back.
pub(super) fn age(then: u64, now: u64) -> Duration {
    Duration::from_millis(now.saturating_sub(then))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_never_exceeds_the_limit() {
        let milliseconds = Duration::from_millis;
        for (age, ends, expected) in [
            (0, QueuedRunEnd::Nothing, 10),
            (39, QueuedRunEnd::Nothing, 10),
            (45, QueuedRunEnd::Nothing, 5),
            (50, QueuedRunEnd::Nothing, 0),
            (5_000, QueuedRunEnd::Nothing, 0),
            (0, QueuedRunEnd::OpenRun, 0),
        ] {
            assert_eq!(pause(milliseconds(age), ends), milliseconds(expected), "{age}");
        }
        assert_eq!([40, 41, 1_000].map(|age| may_hold(milliseconds(age))), [true, false, false]);
        assert_eq!(age(5, 3), Duration::ZERO);
    }

    /// Simulates the writer with an artificial clock: items come at any time, a commit takes any
    /// time.
    #[test]
    fn nothing_is_older_than_the_bound_and_the_commits_before_it_when_its_own_begins() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        for _ in 0..2_000 {
            // (time of arrival, whether it is only a start), in order.
            let mut at = 0;
            let mut coming: Vec<(u64, bool)> = (0..40)
                .map(|_| {
                    at += random(30);
                    (at, random(2) == 0)
                })
                .collect();
            let max_commit = random(200) + 1;
            let mut delayed: Vec<u64> = Vec::new();
            let (mut now, mut last_commit) = (0_u64, 0_u64);
            while !coming.is_empty() || !delayed.is_empty() {
                if delayed.is_empty() {
                    now = now.max(coming[0].0);
                }
                let arrived = coming.iter().filter(|(at, _)| *at <= now).map(|(at, _)| *at);
                let oldest = arrived.chain(delayed.iter().copied()).min().expect("something waits");
                let wait = pause(age(oldest, now), QueuedRunEnd::Nothing);
                now += u64::try_from(wait.as_millis()).expect("short");
                let (batch, later) = coming.into_iter().partition(|(at, _)| *at <= now);
                let batch: Vec<(u64, bool)> = batch;
                coming = later;
                let mut writes: Vec<u64> = std::mem::take(&mut delayed);
                for (at, is_start) in batch {
                    if is_start && may_hold(age(at, now)) {
                        delayed.push(at)
                    } else {
                        writes.push(at)
                    }
                }
                for at in writes {
                    let limit = u64::try_from(MAX_DELAY.as_millis()).expect("short") + last_commit;
                    assert!(now - at <= limit, "{} > {limit}", now - at);
                }
                // Items that arrive meanwhile wait for the commit.
                last_commit = random(max_commit);
                now += last_commit;
            }
        }
    }
}
