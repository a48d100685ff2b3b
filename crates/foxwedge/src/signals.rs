//! Ctrl-C and SIGTERM, heard instead of died of.

/// Hears when somebody asks.
#[cfg(unix)]
pub(crate) struct ProcessSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl ProcessSignals {
    /// Listens from now on: a signal does not end the program any more.
    pub(crate) fn listen() -> std::io::Result<ProcessSignals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(ProcessSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits until somebody asks, or asks again.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Hears when somebody asks.
#[cfg(not(unix))]
pub(crate) struct ProcessSignals;

#[cfg(not(unix))]
impl ProcessSignals {
    /// Listens from now on.
    pub(crate) fn listen() -> std::io::Result<ProcessSignals> {
        Ok(ProcessSignals)
    }

    /// Waits until somebody asks, or asks again.
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
