//! Signals that end the process, and the one that continues it.

use std::io;

/// A received signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only unix has such signals"))]
pub(super) enum TerminalSignal {
    /// SIGINT, like Ctrl-C.
    Interrupt,
    /// End with this exit code.
    End(u8),
    /// The process continues after it was suspended.
    Continued,
}

#[cfg(unix)]
pub(super) struct TerminalSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
    continued: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl TerminalSignals {
    pub(super) fn listen() -> io::Result<TerminalSignals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(TerminalSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            continued: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
        })
    }

    pub(super) async fn next(&mut self) -> TerminalSignal {
        tokio::select! {
            _ = self.interrupt.recv() => TerminalSignal::Interrupt,
            _ = self.terminate.recv() => TerminalSignal::End(143),
            _ = self.hangup.recv() => TerminalSignal::End(129),
            _ = self.continued.recv() => TerminalSignal::Continued,
        }
    }
}

/// Suspends the process, as Ctrl-Z does. Returns when it continues.
#[cfg(unix)]
pub(super) fn suspend() {
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    // All threads need a moment to stop; the caller must run only after the process continues.
    std::thread::sleep(std::time::Duration::from_millis(50));
}

#[cfg(not(unix))]
pub(super) struct TerminalSignals;

#[cfg(not(unix))]
impl TerminalSignals {
    pub(super) fn listen() -> io::Result<TerminalSignals> {
        Ok(TerminalSignals)
    }

    pub(super) async fn next(&mut self) -> TerminalSignal {
        std::future::pending().await
    }
}

/// Suspending is not supported on this platform.
#[cfg(not(unix))]
pub(super) fn suspend() {}
