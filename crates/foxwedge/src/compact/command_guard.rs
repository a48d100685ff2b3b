//! A command on a leash: it gets its input, may say so much, and has so long. Whatever it started
//! goes with it, also when we are the ones who die.

use std::{
    io::{self, Read, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

/// Why a command gave nothing.
#[derive(Debug)]
pub(super) enum CommandFailure {
    /// It could not be started.
    Start(io::Error),
    /// It had not ended in time.
    TimedOut,
    /// It said too much.
    OutputTooLong,
    /// It ended badly, and said this on stderr.
    Exited(ExitStatus, String),
}

/// How long we listen before we look at the clock.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long a command that has ended may take to say why.
const STDERR_GRACE: Duration = Duration::from_millis(500);
/// Bytes of complaints that are kept.
const MAX_STDERR_BYTES: usize = 1 << 16;

/// What a command said, or that it has nothing more to say.
enum CommandOutput {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

/// Runs a command of the shell.
pub(super) fn run_command(
    command: &str,
    input: String,
    patience: Duration,
    most: usize,
) -> Result<Vec<u8>, CommandFailure> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    set_own_process_group(&mut shell);
    let mut leash = CommandGuard::watch(shell.spawn().map_err(CommandFailure::Start)?)
        .map_err(CommandFailure::Start)?;
    let heard = spawn_pipe_threads(&mut leash.child, input, most);
    let begun = Instant::now();
    let (mut output, mut complaint, mut ended) = (None, None, None);
    loop {
        match heard.recv_timeout(POLL_INTERVAL) {
            Ok(CommandOutput::Stdout(bytes)) if bytes.len() > most => {
                return Err(CommandFailure::OutputTooLong);
            }
            Ok(CommandOutput::Stdout(bytes)) => output = Some(bytes),
            Ok(CommandOutput::Stderr(bytes)) => complaint = Some(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL_INTERVAL),
        }
        if ended.is_none() {
            let status = leash.child.try_wait().map_err(CommandFailure::Start)?;
            ended = status.map(|status| (status, Instant::now()));
        }
        match (ended, output.take()) {
            (Some((status, _)), Some(output)) if status.success() => {
                leash.release();
                return Ok(output);
            }
            (Some((status, at)), _)
                if !status.success() && (complaint.is_some() || at.elapsed() > STDERR_GRACE) =>
            {
                let said = complaint.unwrap_or_default();
                return Err(CommandFailure::Exited(
                    status,
                    String::from_utf8_lossy(&said).into_owned(),
                ));
            }
            (_, heard) => output = heard,
        }
        if begun.elapsed() >= patience {
            return Err(CommandFailure::TimedOut);
        }
    }
}

/// Feeds a command and listens to it. Nobody waits for the threads: whatever keeps a pipe open
/// must not keep us.
fn spawn_pipe_threads(child: &mut Child, input: String, most: usize) -> Receiver<CommandOutput> {
    let (sender, heard) = channel();
    if let Some(mut stdin) = child.stdin.take() {
        // Who does not read what he is told is free to do so.
        thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    if let Some(mut stdout) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || {
            // Told before the pipe closes: a command that is cut short may complain about that.
            send_output(&sender, CommandOutput::Stdout(read_up_to(stdout.by_ref(), most + 1)));
        });
    }
    if let Some(mut stderr) = child.stderr.take() {
        thread::spawn(move || {
            let said = read_up_to(stderr.by_ref(), MAX_STDERR_BYTES);
            send_output(&sender, CommandOutput::Stderr(said));
            // Listened to, so that it can go on.
            drop(io::copy(&mut stderr, &mut io::sink()));
        });
    }
    heard
}

fn read_up_to(stream: impl Read, most: usize) -> Vec<u8> {
    let mut said = Vec::new();
    // What was said before a pipe broke was said.
    drop(stream.take(most as u64).read_to_end(&mut said));
    said
}

fn send_output(sender: &Sender<CommandOutput>, heard: CommandOutput) {
    // Nobody listens any more: then nobody wants to know.
    drop(sender.send(heard));
}

/// A command that ends when this is dropped, with everything it started.
struct CommandGuard {
    child: Child,
    watcher: Option<(Child, ChildStdin)>,
}

impl CommandGuard {
    /// Starts a watcher that ends the command as soon as nobody holds the other end of its stdin:
    /// when we let it go, and when we are gone, however we went.
    fn watch(child: Child) -> io::Result<CommandGuard> {
        let mut leash = CommandGuard { child, watcher: None };
        if cfg!(unix) {
            let mut watcher = Command::new("sh");
            watcher
                .args(["-c", "read -r _; kill -9 \"-$1\"", "sh"])
                .arg(leash.child.id().to_string());
            watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            set_own_process_group(&mut watcher);
            let mut watcher = watcher.spawn()?;
            let stdin = watcher.stdin.take();
            leash.watcher = stdin.map(|stdin| (watcher, stdin));
        }
        Ok(leash)
    }

    /// The command has ended: whatever it left running may stay.
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

/// In a group of its own: a signal for it is none for us.
fn set_own_process_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}
