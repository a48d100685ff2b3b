//! Ends a process together with its process group.

/// How to end a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessSignal {
    /// `SIGTERM`.
    Terminate,
    /// `SIGKILL`.
    Kill,
}

/// Sends a signal to the group of a process. Uses the system call, not the command `kill`: it has
/// to work in `Drop`.
#[cfg(unix)]
pub fn signal(number: Option<u32>, force: ProcessSignal) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match force {
        ProcessSignal::Terminate => Signal::TERM,
        ProcessSignal::Kill => Signal::KILL,
    };
    let number = number.and_then(|number| i32::try_from(number).ok());
    if let Some(group) = number.and_then(Pid::from_raw) {
        // An error means that the process is already gone.
        let _ = kill_process_group(group, signal);
    }
}

/// No process groups here: the handle kills the process itself.
#[cfg(not(unix))]
pub fn signal(_: Option<u32>, _: ProcessSignal) {}
