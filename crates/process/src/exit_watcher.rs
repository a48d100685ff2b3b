//! Notices the end of a process without reaping it, where the system can do that. Until it is
//! reaped its id is not reused, so no signal to its group can reach another process.

use tokio::process::Child;

/// Notices the end of a process.
#[derive(Debug)]
pub struct ExitWatcher {
    #[cfg(unix)]
    pid: Option<rustix::process::Pid>,
    /// Signals that some child process ended.
    #[cfg(unix)]
    exit_signals: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl ExitWatcher {
    /// Watches a child of this process.
    pub fn of(pid: u32) -> ExitWatcher {
        use tokio::signal::unix::{SignalKind, signal};
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        ExitWatcher { pid, exit_signals: signal(SignalKind::child()).ok() }
    }

    /// Waits for the end of the process. Cancel-safe.
    pub async fn ended(&mut self, child: &mut Child) {
        while let (Some(pid), Some(signals)) = (self.pid, &mut self.exit_signals) {
            match probe(pid) {
                ExitProbe::Ended => return,
                ExitProbe::Alive if signals.recv().await.is_some() => {}
                ExitProbe::Alive | ExitProbe::Unknown => self.exit_signals = None,
            }
        }
        drop(child.wait().await);
    }
}

#[cfg(unix)]
enum ExitProbe {
    Ended,
    Alive,
    /// The system does not support this check.
    Unknown,
}

#[cfg(unix)]
fn probe(pid: rustix::process::Pid) -> ExitProbe {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(pid), options) {
        Ok(Some(_)) => ExitProbe::Ended,
        Ok(None) => ExitProbe::Alive,
        Err(_) => ExitProbe::Unknown,
    }
}

#[cfg(not(unix))]
impl ExitWatcher {
    /// Watches a child of this process.
    pub fn of(_: u32) -> ExitWatcher {
        ExitWatcher {}
    }

    /// Waits for the end of the process.
    pub async fn ended(&mut self, child: &mut Child) {
        drop(child.wait().await);
    }
}
