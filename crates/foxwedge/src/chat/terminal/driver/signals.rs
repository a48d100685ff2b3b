//! Signals: those that end us, and the one that says that we go on.

use std::io;

/// What was heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only unix has such signals"))]
pub(super) enum TerminalSignal {
    /// As Ctrl-C.
    Interrupt,
    /// We have to end, with this code.
    End(u8),
    /// We were suspended, and are no longer.
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

/// Stops the process, as Ctrl-Z does. Returns when somebody lets it go on.
#[cfg(unix)]
pub(super) fn suspend() {
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
    // It may take a moment until every thread has stopped; what follows is for afterwards.
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

/// There is no such thing here.
#[cfg(not(unix))]
pub(super) fn suspend() {}
