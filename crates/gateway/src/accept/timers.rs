//! When a connection has to go on, or else is let go.
//!
//! The times lie beside the connection, not inside the reply that may have stalled. They move with
//! every request, so that moving one is a store into memory; the one timer of a connection looks
//! at them when it fires, and is set anew only when it would be late.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tokio::time::Instant;

use super::ConnectionRules;

/// Two times by which something has to happen. Everything here is used by one task.
#[derive(Debug)]
pub(super) struct ConnectionTimers {
    start: Instant,
    rules: ConnectionRules,
    /// Milliseconds since the start.
    read_by: AtomicU64,
    write_by: AtomicU64,
    /// Bytes that went out since a write had to wait.
    written: AtomicU64,
    /// Between two requests, and not a byte of the next one is there.
    resting: AtomicBool,
    /// The client may still be sending what nobody will read.
    linger: AtomicBool,
}

const NEVER: u64 = u64::MAX;

/// So much has to go out in the time for a write, if there is so much.
const MIN_WRITTEN_BYTES: u64 = 64 << 10;

/// How long the rest of a refused body is thrown away, so that the refusal arrives.
const LINGER: Duration = Duration::from_secs(2);

impl ConnectionTimers {
    /// A connection begins: its first head is due.
    pub(super) fn new(rules: ConnectionRules) -> ConnectionTimers {
        ConnectionTimers {
            start: Instant::now(),
            rules,
            read_by: AtomicU64::new(milliseconds(rules.head)),
            write_by: AtomicU64::new(NEVER),
            written: AtomicU64::new(0),
            resting: AtomicBool::new(false),
            linger: AtomicBool::new(false),
        }
    }

    /// When somebody has to look again.
    pub(super) fn next_deadline(&self) -> Instant {
        let due = self.read_by.load(Relaxed).min(self.write_by.load(Relaxed));
        // A day is never: the timer is set anew then.
        self.start + Duration::from_millis(due.min(self.now().saturating_add(86_400_000)))
    }

    /// Something did not happen in time.
    pub(super) fn is_late(&self) -> bool {
        self.now() >= self.read_by.load(Relaxed).min(self.write_by.load(Relaxed))
    }

    /// Bytes came.
    pub(super) fn note_read(&self) {
        if self.resting.load(Relaxed) {
            self.resting.store(false, Relaxed);
            self.read_by.store(self.deadline_after(self.rules.head), Relaxed);
        }
    }

    /// A head is there; the request takes its time.
    pub(super) fn request_started(&self) {
        self.resting.store(false, Relaxed);
        self.linger.store(false, Relaxed);
        self.read_by.store(NEVER, Relaxed);
    }

    /// The reply is over.
    pub(super) fn reply_finished(&self) {
        self.resting.store(true, Relaxed);
        self.read_by.store(self.deadline_after(self.rules.keep_alive), Relaxed);
    }

    /// So many bytes went out, of so many.
    pub(super) fn note_written(&self, number: usize, of: usize) {
        if self.write_by.load(Relaxed) == NEVER {
            return;
        }
        let written = self.written.load(Relaxed).saturating_add(number as u64);
        self.written.store(written, Relaxed);
        if number == of || written >= MIN_WRITTEN_BYTES {
            self.write_by.store(NEVER, Relaxed);
        }
    }

    /// Bytes wait to go out.
    pub(super) fn note_blocked(&self) {
        if self.write_by.load(Relaxed) == NEVER {
            self.written.store(0, Relaxed);
            self.write_by.store(self.deadline_after(self.rules.write), Relaxed);
        }
    }

    /// A request with a body was refused, perhaps before its body was read.
    pub(super) fn note_refused(&self) {
        self.linger.store(true, Relaxed);
    }

    /// Whether what still comes has to be thrown away before the end; from now on that is all
    /// that is waited for.
    pub(super) fn start_linger(&self) -> bool {
        let lingers = self.linger.swap(false, Relaxed);
        if lingers {
            self.resting.store(false, Relaxed);
            self.read_by.store(self.deadline_after(LINGER), Relaxed);
        }
        lingers
    }

    fn now(&self) -> u64 {
        milliseconds(self.start.elapsed())
    }

    fn deadline_after(&self, time: Duration) -> u64 {
        self.now().saturating_add(milliseconds(time))
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(NEVER - 1)
}

#[cfg(test)]
mod tests {
    use foxwedge_engine::config::{GatewayLimits, GatewayTimeouts};

    use super::*;

    /// What is waited for, in seconds from now, rounded.
    fn waits(pulse: &ConnectionTimers) -> u64 {
        let due = pulse.next_deadline().saturating_duration_since(Instant::now());
        (due.as_secs_f64()).round() as u64
    }

    #[tokio::test]
    async fn a_connection_has_one_time_for_each_thing_it_does() {
        let seconds = Duration::from_secs;
        let rules = ConnectionRules {
            head: seconds(10),
            keep_alive: seconds(75),
            write: seconds(30),
            ..ConnectionRules::from_config(&GatewayLimits::default(), &GatewayTimeouts::default())
        };
        let pulse = ConnectionTimers::new(rules);
        let day = 86_400;
        assert_eq!(waits(&pulse), 10, "the first head is due, whether a byte came or not");
        pulse.note_read();
        assert_eq!(waits(&pulse), 10);
        pulse.request_started();
        assert_eq!(waits(&pulse), day, "a request takes its time");
        pulse.note_blocked();
        assert_eq!(waits(&pulse), 30);
        pulse.note_written(10, 100);
        assert_eq!(waits(&pulse), 30, "a few bytes are no progress");
        pulse.note_written(100, 100);
        assert_eq!(waits(&pulse), day, "everything went out");
        pulse.note_blocked();
        pulse.note_written(64 << 10, 1 << 20);
        assert_eq!(waits(&pulse), day, "enough went out");
        pulse.reply_finished();
        assert_eq!(waits(&pulse), 75, "it rests, and longer than a head may take");
        pulse.note_read();
        assert_eq!(waits(&pulse), 10, "the next head began");
        pulse.request_started();
        pulse.note_refused();
        pulse.reply_finished();
        assert!(pulse.start_linger() && !pulse.start_linger());
        assert_eq!(waits(&pulse), 2, "the rest of a refused body");
        assert!(!pulse.is_late());
    }

    #[tokio::test]
    async fn whoever_is_late_is_found() {
        let rules = ConnectionRules {
            head: Duration::ZERO,
            ..ConnectionRules::from_config(&GatewayLimits::default(), &GatewayTimeouts::default())
        };
        let pulse = ConnectionTimers::new(rules);
        assert!(pulse.is_late());
        pulse.request_started();
        assert!(!pulse.is_late());
    }
}
