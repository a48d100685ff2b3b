//! Runs a shell command with an output limit and a timeout. The processes that it started are
//! killed with it, also if foxwedge itself is killed.

use std::{
    io,
    process::{Child, ExitStatus, Stdio},
    time::Duration,
};

use foxwedge_process::{GroupAtExit, PipedProcess};
use tokio::{
    io::AsyncReadExt as _,
    process::{ChildStdout, Command},
    time::timeout,
};

/// Why a command produced no output.
#[derive(Debug)]
pub(super) enum CommandFailure {
    /// It could not be started.
    Start(io::Error),
    /// It did not finish in time.
    TimedOut,
    /// It wrote too much to stdout.
    OutputTooLong,
    /// It failed; with the end of its stderr.
    Exited(ExitStatus, String),
}

/// Runs a shell command. Returns its stdout.
pub(super) fn run_command(
    command: &str,
    input: String,
    limit: Duration,
    max_bytes: usize,
) -> Result<Vec<u8>, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CommandFailure::Start)?.block_on(async {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command);
        let (process, stdin, stdout) =
            PipedProcess::start(shell, GroupAtExit::Keep, usize::MAX, Vec::new())
                .map_err(CommandFailure::Start)?;
        let watcher = DeathWatcher::start(process.id()).map_err(CommandFailure::Start)?;
        // A command need not read its input.
        let _ = stdin.write(input.into_bytes());
        drop(stdin);
        let both =
            async { tokio::try_join!(read_output(stdout, max_bytes), wait_for_success(&process)) };
        let result = timeout(limit, both).await.unwrap_or(Err(CommandFailure::TimedOut));
        match &result {
            // Processes that it left running stay.
            Ok(_) => process.release_group(),
            Err(_) => drop(process),
        }
        drop(watcher);
        result.map(|(output, ())| output)
    })
}

async fn read_output(stdout: ChildStdout, max_bytes: usize) -> Result<Vec<u8>, CommandFailure> {
    let mut output = Vec::new();
    // Bytes read before an error count.
    let _ = stdout.take(max_bytes as u64 + 1).read_to_end(&mut output).await;
    if output.len() > max_bytes { Err(CommandFailure::OutputTooLong) } else { Ok(output) }
}

async fn wait_for_success(process: &PipedProcess) -> Result<(), CommandFailure> {
    process.wait_for_exit().await;
    match process.exit() {
        Some(Ok(status)) if status.success() => Ok(()),
        Some(Ok(status)) => {
            process.wait_for_message().await;
            Err(CommandFailure::Exited(status, process.stderr_text()))
        }
        Some(Err(unknown)) => Err(CommandFailure::Start(io::Error::other(unknown))),
        None => Err(CommandFailure::TimedOut),
    }
}

/// A process that kills the command's group as soon as its stdin is closed: when foxwedge ends for
/// any reason. Dropping the watcher ends it without that.
struct DeathWatcher(Option<Child>);

impl DeathWatcher {
    #[cfg(unix)]
    fn start(group: Option<u32>) -> io::Result<DeathWatcher> {
        let Some(group) = group else { return Ok(DeathWatcher(None)) };
        let mut watcher = std::process::Command::new("sh");
        watcher.args(["-c", "read -r _; kill -9 \"-$1\"", "sh"]).arg(group.to_string());
        watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Its own group, so that a signal to ours does not end it.
        std::os::unix::process::CommandExt::process_group(&mut watcher, 0);
        watcher.spawn().map(|watcher| DeathWatcher(Some(watcher)))
    }

    #[cfg(not(unix))]
    fn start(_: Option<u32>) -> io::Result<DeathWatcher> {
        Ok(DeathWatcher(None))
    }
}

impl Drop for DeathWatcher {
    fn drop(&mut self) {
        if let Some(watcher) = &mut self.0 {
            // Before its stdin closes: `wait` would close it.
            drop(watcher.kill());
            drop(watcher.wait());
        }
    }
}
