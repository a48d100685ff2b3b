//! Handling of Ctrl-C and SIGTERM.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives requests to stop: Ctrl-C, and SIGTERM on Unix.
pub struct ProcessSignals {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
}

impl ProcessSignals {
    /// Installs the handlers. From now on a signal no longer ends the program. Where there are no Unix
    /// signals, the first call to [`ProcessSignals::next`] does that.
    pub fn listen() -> io::Result<ProcessSignals> {
        Ok(ProcessSignals {
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    #[cfg(unix)]
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for the next signal.
    #[cfg(not(unix))]
    pub async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
