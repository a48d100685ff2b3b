//! The deadlines of a connection.
//!
//! They are kept outside the reply, which may have stalled. They move with every request, so
//! moving one is only an atomic store. The single timer of a connection reads them when it
//! fires and is reset early only when a deadline moves forward.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tokio::time::Instant;

use super::ConnectionRules;

/// The read and write deadlines. Only one task uses them.
#[derive(Debug)]
pub(super) struct ConnectionTimers {
    start: Instant,
    rules: ConnectionRules,
    /// Milliseconds since the start.
    read_by: AtomicU64,
    write_by: AtomicU64,
    /// Bytes written since a write last blocked.
    written: AtomicU64,
    /// Between two requests, with no byte of the next one received.
    idle: AtomicBool,
    /// The client may still be sending a body that will not be read.
    linger: AtomicBool,
}

const NEVER: u64 = u64::MAX;

/// A blocked connection must write this many bytes per timeout period, if it has as many.
const MIN_WRITTEN_BYTES: u64 = 64 << 10;

/// How long the rest of a refused body is discarded, so that the error reply arrives.
const LINGER: Duration = Duration::from_secs(2);

impl ConnectionTimers {
    /// Starts the timers of a new connection, which must send its first head.
    pub(super) fn new(rules: ConnectionRules) -> ConnectionTimers {
        ConnectionTimers {
            start: Instant::now(),
            rules,
            read_by: AtomicU64::new(milliseconds(rules.head)),
            write_by: AtomicU64::new(NEVER),
            written: AtomicU64::new(0),
            idle: AtomicBool::new(false),
            linger: AtomicBool::new(false),
        }
    }

    /// When to check for a timeout next.
    pub(super) fn next_deadline(&self) -> Instant {
        let due = self.read_by.load(Relaxed).min(self.write_by.load(Relaxed));
        // Capped at one day; the timer is then set again.
        self.start + Duration::from_millis(due.min(self.now().saturating_add(86_400_000)))
    }

    /// Whether a deadline has passed.
    pub(super) fn is_late(&self) -> bool {
        self.now() >= self.read_by.load(Relaxed).min(self.write_by.load(Relaxed))
    }

    /// Notes received bytes.
    pub(super) fn note_read(&self) {
        if self.idle.load(Relaxed) {
            self.idle.store(false, Relaxed);
            self.read_by.store(self.deadline_after(self.rules.head), Relaxed);
        }
    }

    /// A request head is complete. The request itself has no read deadline.
    pub(super) fn request_started(&self) {
        self.idle.store(false, Relaxed);
        self.linger.store(false, Relaxed);
        self.read_by.store(NEVER, Relaxed);
    }

    /// The reply has ended; the keep-alive time begins.
    pub(super) fn reply_finished(&self) {
        self.idle.store(true, Relaxed);
        self.read_by.store(self.deadline_after(self.rules.keep_alive), Relaxed);
    }

    /// Notes that `number` bytes of `of` were written.
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

    /// Notes that a write is blocked.
    pub(super) fn note_blocked(&self) {
        if self.write_by.load(Relaxed) == NEVER {
            self.written.store(0, Relaxed);
            self.write_by.store(self.deadline_after(self.rules.write), Relaxed);
        }
    }

    /// Notes that a request was refused, possibly before its body was read.
    pub(super) fn note_refused(&self) {
        self.linger.store(true, Relaxed);
    }

    /// Whether incoming bytes must be discarded before closing. If so, the linger deadline is the
    /// only one left.
    pub(super) fn start_linger(&self) -> bool {
        let lingers = self.linger.swap(false, Relaxed);
        if lingers {
            self.idle.store(false, Relaxed);
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
    use crate::config::{GatewayLimits, GatewayTimeouts};

    use super::*;

    /// Seconds until the next deadline, rounded.
    fn next_wait(timers: &ConnectionTimers) -> u64 {
        let due = timers.next_deadline().saturating_duration_since(Instant::now());
        (due.as_secs_f64()).round() as u64
    }

    #[tokio::test]
    async fn each_phase_of_a_connection_has_its_timeout() {
        let seconds = Duration::from_secs;
        let rules = ConnectionRules {
            head: seconds(10),
            keep_alive: seconds(75),
            write: seconds(30),
            ..ConnectionRules::from_config(&GatewayLimits::default(), &GatewayTimeouts::default())
        };
        let timers = ConnectionTimers::new(rules);
        let day = 86_400;
        assert_eq!(next_wait(&timers), 10, "the first head is due, whether a byte came or not");
        timers.note_read();
        assert_eq!(next_wait(&timers), 10);
        timers.request_started();
        assert_eq!(next_wait(&timers), day, "a request has no read deadline");
        timers.note_blocked();
        assert_eq!(next_wait(&timers), 30);
        timers.note_written(10, 100);
        assert_eq!(next_wait(&timers), 30, "a few bytes are no progress");
        timers.note_written(100, 100);
        assert_eq!(next_wait(&timers), day, "everything was written");
        timers.note_blocked();
        timers.note_written(64 << 10, 1 << 20);
        assert_eq!(next_wait(&timers), day, "enough was written");
        timers.reply_finished();
        assert_eq!(next_wait(&timers), 75, "idle; keep-alive is longer than the head timeout");
        timers.note_read();
        assert_eq!(next_wait(&timers), 10, "the next head began");
        timers.request_started();
        timers.note_refused();
        timers.reply_finished();
        assert!(timers.start_linger() && !timers.start_linger());
        assert_eq!(next_wait(&timers), 2, "the rest of a refused body");
        assert!(!timers.is_late());
    }

    #[tokio::test]
    async fn a_missed_deadline_is_detected() {
        let rules = ConnectionRules {
            head: Duration::ZERO,
            ..ConnectionRules::from_config(&GatewayLimits::default(), &GatewayTimeouts::default())
        };
        let timers = ConnectionTimers::new(rules);
        assert!(timers.is_late());
        timers.request_started();
        assert!(!timers.is_late());
    }
}
