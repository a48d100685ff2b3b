//! Handling of Ctrl-C and SIGTERM.

/// Receives requests to stop: Ctrl-C, and SIGTERM on Unix.
#[cfg(unix)]
pub struct ProcessSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl ProcessSignals {
    /// Installs the handlers. From now on a signal no longer ends the program.
    pub fn listen() -> std::io::Result<ProcessSignals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(ProcessSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Receives requests to stop: Ctrl-C, and SIGTERM on Unix.
#[cfg(not(unix))]
pub struct ProcessSignals;

#[cfg(not(unix))]
impl ProcessSignals {
    /// Does nothing: the handler is installed by the first call to [`ProcessSignals::next`].
    pub fn listen() -> std::io::Result<ProcessSignals> {
        Ok(ProcessSignals)
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
