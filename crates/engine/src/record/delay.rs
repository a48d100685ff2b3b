//! How long the writer may wait before it writes. Waiting is worth it: a request that is over by then is
//! written once and not twice, and many are written together. But what a client has heard should be
//! written soon, so there is a bound, whatever comes. Reads no clock.

use std::time::Duration;

/// How long the writer waits for more, before it writes.
const BATCH_WAIT: Duration = Duration::from_millis(10);

/// Nothing is kept back on purpose for longer. The commits that are at work meanwhile come on top.
pub(super) const MAX_DELAY: Duration = Duration::from_millis(50);

/// Whether something that waits is the end of a run which is open in the store. A process that is killed
/// now would leave it as interrupted, although its client has the whole reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QueuedRunEnd {
    OpenRun,
    Nothing,
}

/// How long the writer may wait for more, if the oldest of what waits is so old.
pub(super) fn pause(oldest: Duration, ends: QueuedRunEnd) -> Duration {
    match ends {
        QueuedRunEnd::OpenRun => Duration::ZERO,
        QueuedRunEnd::Nothing => BATCH_WAIT.min(MAX_DELAY.saturating_sub(oldest)),
    }
}

/// Whether a request that has only begun may wait for its end until the next time.
pub(super) fn may_hold(age: Duration) -> bool {
    age + BATCH_WAIT <= MAX_DELAY
}

/// The time between two moments, in milliseconds since 1970. A clock that was set back says nothing.
pub(super) fn age(then: u64, now: u64) -> Duration {
    Duration::from_millis(now.saturating_sub(then))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_waits_no_longer_than_the_bound() {
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

    /// The writer, as a game with a made-up clock: notes come at any time, a commit takes any time.
    #[test]
    fn nothing_is_older_than_the_bound_and_the_commits_before_it_when_its_own_begins() {
        let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
        let mut roll = move |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % sides
        };
        for _ in 0..2_000 {
            // (when it came, whether it is only a beginning), in order.
            let mut at = 0;
            let mut coming: Vec<(u64, bool)> = (0..40)
                .map(|_| {
                    at += roll(30);
                    (at, roll(2) == 0)
                })
                .collect();
            let slow = roll(200) + 1;
            let mut held: Vec<u64> = Vec::new();
            let (mut now, mut before) = (0_u64, 0_u64);
            while !coming.is_empty() || !held.is_empty() {
                if held.is_empty() {
                    now = now.max(coming[0].0);
                }
                let there = coming.iter().filter(|(at, _)| *at <= now).map(|(at, _)| *at);
                let oldest = there.chain(held.iter().copied()).min().expect("something waits");
                let wait = pause(age(oldest, now), QueuedRunEnd::Nothing);
                now += u64::try_from(wait.as_millis()).expect("short");
                let (batch, later) = coming.into_iter().partition(|(at, _)| *at <= now);
                let batch: Vec<(u64, bool)> = batch;
                coming = later;
                let mut writes: Vec<u64> = std::mem::take(&mut held);
                for (at, begins) in batch {
                    if begins && may_hold(age(at, now)) { held.push(at) } else { writes.push(at) }
                }
                for at in writes {
                    let bound = u64::try_from(MAX_DELAY.as_millis()).expect("short") + before;
                    assert!(now - at <= bound, "{} > {bound}", now - at);
                }
                // What comes meanwhile waits for it.
                before = roll(slow);
                now += before;
            }
        }
    }
}
