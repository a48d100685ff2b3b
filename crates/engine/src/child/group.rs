//! Ends a process with everything it started.

/// How strongly a process is asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProcessSignal {
    Terminate,
    Kill,
}

/// A signal for a process and everything it started, which is in its group. A call of the system
/// and not the command `kill`: it has to work while something is dropped.
#[cfg(unix)]
pub(crate) fn signal(number: Option<u32>, force: ProcessSignal) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match force {
        ProcessSignal::Terminate => Signal::TERM,
        ProcessSignal::Kill => Signal::KILL,
    };
    let number = number.and_then(|number| i32::try_from(number).ok());
    if let Some(group) = number.and_then(Pid::from_raw) {
        // One that is gone already needs none.
        let _ = kill_process_group(group, signal);
    }
}

/// There are no groups: the process itself is killed by its handle.
#[cfg(not(unix))]
pub(crate) fn signal(_: Option<u32>, _: ProcessSignal) {}
