//! Protects our own variables, including keys, from the commands that tools run. A command gets few
//! variables of its own, but a process can read those of another process of the same user.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use tokio::process::Command;

/// The first argument of a launcher.
const LAUNCH: &str = "__run-tool-command";

/// Keeps other processes of the same user (but not of the administrator) from reading the variables
/// and the memory of this process. Also disables core dumps and debuggers. Only on Linux.
pub fn hide_variables() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Not supported on old systems.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// A launcher that starts a command.
pub(super) fn launcher_command(launcher: &Path, command: &str) -> Command {
    let mut process = Command::new(launcher);
    process.arg(LAUNCH).arg(command);
    process
}

/// The command to [`launch`], if this process was started as a launcher.
pub fn launched_command() -> Option<OsString> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == LAUNCH).then(|| arguments.next()).flatten()
}

/// Runs a shell command as a child and exits with its status. This process has the same variables
/// as the command, so a command that reads its parent's variables finds nothing new.
pub fn launch(command: &OsStr) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let status = runtime.and_then(|runtime| runtime.block_on(run_child(command)));
    match status {
        Ok(status) => exit_code(status),
        Err(error) => {
            report_error(&error);
            ExitCode::from(127)
        }
    }
}

/// Written to stderr, like the output of the command.
fn report_error(error: &io::Error) {
    let _ = writeln!(io::stderr(), "the shell cannot be started: {error}");
}

async fn run_child(command: &OsStr) -> io::Result<std::process::ExitStatus> {
    // Signals go to the whole group, and the command decides what to do. Handlers of this process
    // are not inherited by the child.
    #[cfg(unix)]
    let _handled = {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [
            SignalKind::terminate(),
            SignalKind::interrupt(),
            SignalKind::hangup(),
            SignalKind::quit(),
        ];
        kinds.map(signal)
    };
    super::shell(command).status().await
}

/// Exits as the command did.
fn exit_code(status: std::process::ExitStatus) -> ExitCode {
    #[cfg(unix)]
    {
        use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
        if let Some(signal) = status.signal() {
            // A new program has no handlers, so the signal ends it.
            let mut shell = std::process::Command::new("/bin/sh");
            let error = shell.arg("-c").arg(format!("kill -{signal} $$")).exec();
            report_error(&error);
            return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
        }
    }
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
