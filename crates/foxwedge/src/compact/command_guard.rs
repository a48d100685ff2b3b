//! Runs a shell command with an output limit and a timeout. The processes that it started are
//! killed with it, also if foxwedge itself is killed.

use std::{
    io::{self, Read, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
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
    /// It failed; with its stderr.
    Exited(ExitStatus, String),
}

/// How often the timeout is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long to wait for the stderr of a command that has failed.
const STDERR_GRACE: Duration = Duration::from_millis(500);
/// Max bytes of stderr that are kept.
const MAX_STDERR_BYTES: usize = 1 << 16;

/// The complete output of a command on one stream.
enum CommandOutput {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

/// Runs a shell command. Returns its stdout.
pub(super) fn run_command(
    command: &str,
    input: String,
    timeout: Duration,
    max_bytes: usize,
) -> Result<Vec<u8>, CommandFailure> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    set_own_process_group(&mut shell);
    let mut guard = CommandGuard::watch(shell.spawn().map_err(CommandFailure::Start)?)
        .map_err(CommandFailure::Start)?;
    let outputs = spawn_pipe_threads(&mut guard.child, input, max_bytes);
    let started = Instant::now();
    let (mut output, mut stderr_bytes, mut exited) = (None, None, None);
    loop {
        match outputs.recv_timeout(POLL_INTERVAL) {
            Ok(CommandOutput::Stdout(bytes)) if bytes.len() > max_bytes => {
                return Err(CommandFailure::OutputTooLong);
            }
            Ok(CommandOutput::Stdout(bytes)) => output = Some(bytes),
            Ok(CommandOutput::Stderr(bytes)) => stderr_bytes = Some(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL_INTERVAL),
        }
        if exited.is_none() {
            let status = guard.child.try_wait().map_err(CommandFailure::Start)?;
            exited = status.map(|status| (status, Instant::now()));
        }
        match (exited, output.take()) {
            (Some((status, _)), Some(output)) if status.success() => {
                guard.release();
                return Ok(output);
            }
            (Some((status, at)), _)
                if !status.success() && (stderr_bytes.is_some() || at.elapsed() > STDERR_GRACE) =>
            {
                let stderr = stderr_bytes.unwrap_or_default();
                return Err(CommandFailure::Exited(
                    status,
                    String::from_utf8_lossy(&stderr).into_owned(),
                ));
            }
            (_, unused) => output = unused,
        }
        if started.elapsed() >= timeout {
            return Err(CommandFailure::TimedOut);
        }
    }
}

/// Starts threads that write the input and read the output of a command. They are not joined: a
/// process that keeps a pipe open must not block foxwedge.
fn spawn_pipe_threads(
    child: &mut Child,
    input: String,
    max_bytes: usize,
) -> Receiver<CommandOutput> {
    let (sender, outputs) = channel();
    if let Some(mut stdin) = child.stdin.take() {
        // A command need not read its input.
        thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    if let Some(mut stdout) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || {
            // Sent before the pipe closes: a command that is cut off may fail because of that.
            send_output(&sender, CommandOutput::Stdout(read_up_to(stdout.by_ref(), max_bytes + 1)));
        });
    }
    if let Some(mut stderr) = child.stderr.take() {
        thread::spawn(move || {
            let bytes = read_up_to(stderr.by_ref(), MAX_STDERR_BYTES);
            send_output(&sender, CommandOutput::Stderr(bytes));
            // Drain the rest, so that the command does not block.
            drop(io::copy(&mut stderr, &mut io::sink()));
        });
    }
    outputs
}

fn read_up_to(stream: impl Read, max_bytes: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Bytes read before an error count.
    drop(stream.take(max_bytes as u64).read_to_end(&mut bytes));
    bytes
}

fn send_output(sender: &Sender<CommandOutput>, output: CommandOutput) {
    // Fails only if the receiver is gone: the command has been given up.
    drop(sender.send(output));
}

/// Kills a command and the processes it started when dropped.
struct CommandGuard {
    child: Child,
    watcher: Option<(Child, ChildStdin)>,
}

impl CommandGuard {
    /// Starts a watcher that kills the command as soon as the watcher's stdin is closed: when the
    /// guard is dropped, and when foxwedge ends for any reason.
    fn watch(child: Child) -> io::Result<CommandGuard> {
        let mut guard = CommandGuard { child, watcher: None };
        if cfg!(unix) {
            let mut watcher = Command::new("sh");
            watcher
                .args(["-c", "read -r _; kill -9 \"-$1\"", "sh"])
                .arg(guard.child.id().to_string());
            watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            set_own_process_group(&mut watcher);
            let mut watcher = watcher.spawn()?;
            let stdin = watcher.stdin.take();
            guard.watcher = stdin.map(|stdin| (watcher, stdin));
        }
        Ok(guard)
    }

    /// Stops the watcher after the command has finished. Processes that it left running stay.
    fn release(mut self) {
        if let Some((mut watcher, _stdin)) = self.watcher.take() {
            drop(watcher.kill());
            drop(watcher.wait());
        }
    }
}

impl Drop for CommandGuard {
    fn drop(&mut self) {
        if let Some((mut watcher, stdin)) = self.watcher.take() {
            drop(stdin);
            drop(watcher.wait());
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Starts the command in its own process group, so that killing the group does not hit foxwedge.
fn set_own_process_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}
