//! Process groups: a process and what it starts get signals together.

use tokio::process::Command;

/// A signal to a process group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessSignal {
    /// `SIGTERM`.
    Terminate,
    /// `SIGKILL`.
    Kill,
    /// `SIGCONT`.
    Continue,
}

/// Starts the command in its own process group, and kills it if its handle is dropped.
pub fn own_group(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    command.process_group(0);
    command.kill_on_drop(true)
}

/// Sends a signal to the group of a process. Uses the system call, not the command `kill`: it has
/// to work in `Drop`.
#[cfg(unix)]
pub fn signal_group(leader: u32, signal: ProcessSignal) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match signal {
        ProcessSignal::Terminate => Signal::TERM,
        ProcessSignal::Kill => Signal::KILL,
        ProcessSignal::Continue => Signal::CONT,
    };
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        // A group that is gone needs no signal.
        let _ = kill_process_group(group, signal);
    }
}

/// No process groups here: the handle kills the process itself.
#[cfg(not(unix))]
pub fn signal_group(_: u32, _: ProcessSignal) {}
