//! The end of a process, noticed without taking note of it where the system can do that: until
//! somebody does, its number is its own, and no signal for its group can reach another.

use tokio::process::Child;

/// Notices the end of a process.
#[derive(Debug)]
pub(super) struct ExitWatcher {
    #[cfg(unix)]
    pid: Option<rustix::process::Pid>,
    /// Tells that some process ended.
    #[cfg(unix)]
    exit_signals: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl ExitWatcher {
    pub(super) fn of(number: u32) -> ExitWatcher {
        use tokio::signal::unix::{SignalKind, signal};
        let number = i32::try_from(number).ok().and_then(rustix::process::Pid::from_raw);
        ExitWatcher { pid: number, exit_signals: signal(SignalKind::child()).ok() }
    }

    /// Waits for it. May be dropped while it waits, and loses nothing.
    pub(super) async fn ended(&mut self, child: &mut Child) {
        while let (Some(number), Some(ends)) = (self.pid, &mut self.exit_signals) {
            match look(number) {
                ExitProbe::Ended => return,
                ExitProbe::Alive if ends.recv().await.is_some() => {}
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
    /// The system does not tell it in this way.
    Unknown,
}

#[cfg(unix)]
fn look(number: rustix::process::Pid) -> ExitProbe {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(number), options) {
        Ok(Some(_)) => ExitProbe::Ended,
        Ok(None) => ExitProbe::Alive,
        Err(_) => ExitProbe::Unknown,
    }
}

#[cfg(not(unix))]
impl ExitWatcher {
    pub(super) fn of(_: u32) -> ExitWatcher {
        ExitWatcher {}
    }

    /// Waits for it.
    pub(super) async fn ended(&mut self, child: &mut Child) {
        drop(child.wait().await);
    }
}
