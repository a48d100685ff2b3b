//! The end of a process, noticed without taking note of it where the system can do that: until
//! somebody does, its number is its own, and no signal for its group can reach another.

use tokio::process::Child;

/// Notices the end of a process.
#[derive(Debug)]
pub(super) struct Exit {
    #[cfg(unix)]
    number: Option<rustix::process::Pid>,
    /// Tells that some process ended.
    #[cfg(unix)]
    ends: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Exit {
    pub(super) fn of(number: u32) -> Exit {
        use tokio::signal::unix::{SignalKind, signal};
        let number = i32::try_from(number).ok().and_then(rustix::process::Pid::from_raw);
        Exit { number, ends: signal(SignalKind::child()).ok() }
    }

    /// Waits for it. May be dropped while it waits, and loses nothing.
    pub(super) async fn ended(&mut self, child: &mut Child) {
        while let (Some(number), Some(ends)) = (self.number, &mut self.ends) {
            match look(number) {
                Look::Ended => return,
                Look::Alive if ends.recv().await.is_some() => {}
                Look::Alive | Look::Unknown => self.ends = None,
            }
        }
        drop(child.wait().await);
    }
}

#[cfg(unix)]
enum Look {
    Ended,
    Alive,
    /// The system does not tell it in this way.
    Unknown,
}

#[cfg(unix)]
fn look(number: rustix::process::Pid) -> Look {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(number), options) {
        Ok(Some(_)) => Look::Ended,
        Ok(None) => Look::Alive,
        Err(_) => Look::Unknown,
    }
}

#[cfg(not(unix))]
impl Exit {
    pub(super) fn of(_: u32) -> Exit {
        Exit {}
    }

    /// Waits for it.
    pub(super) async fn ended(&mut self, child: &mut Child) {
        drop(child.wait().await);
    }
}
