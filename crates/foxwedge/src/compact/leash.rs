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
pub(super) enum Failed {
    /// It could not be started.
    Start(io::Error),
    /// It had not ended in time.
    Slow,
    /// It said too much.
    Long,
    /// It ended badly, and said this on stderr.
    Ended(ExitStatus, String),
}

/// How long we listen before we look at the clock.
const STEP: Duration = Duration::from_millis(20);
/// How long a command that has ended may take to say why.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Bytes of complaints that are kept.
const COMPLAINT: usize = 1 << 16;

/// What a command said, or that it has nothing more to say.
enum Heard {
    Output(Vec<u8>),
    Complaint(Vec<u8>),
}

/// Runs a command of the shell.
pub(super) fn run(
    command: &str,
    input: String,
    patience: Duration,
    most: usize,
) -> Result<Vec<u8>, Failed> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    alone(&mut shell);
    let mut leash = Leash::put_on(shell.spawn().map_err(Failed::Start)?).map_err(Failed::Start)?;
    let heard = listen(&mut leash.child, input, most);
    let begun = Instant::now();
    let (mut output, mut complaint, mut ended) = (None, None, None);
    loop {
        match heard.recv_timeout(STEP) {
            Ok(Heard::Output(bytes)) if bytes.len() > most => return Err(Failed::Long),
            Ok(Heard::Output(bytes)) => output = Some(bytes),
            Ok(Heard::Complaint(bytes)) => complaint = Some(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(STEP),
        }
        if ended.is_none() {
            let status = leash.child.try_wait().map_err(Failed::Start)?;
            ended = status.map(|status| (status, Instant::now()));
        }
        match (ended, output.take()) {
            (Some((status, _)), Some(output)) if status.success() => {
                leash.take_off();
                return Ok(output);
            }
            (Some((status, at)), _)
                if !status.success() && (complaint.is_some() || at.elapsed() > LAST_WORDS) =>
            {
                let said = complaint.unwrap_or_default();
                return Err(Failed::Ended(status, String::from_utf8_lossy(&said).into_owned()));
            }
            (_, heard) => output = heard,
        }
        if begun.elapsed() >= patience {
            return Err(Failed::Slow);
        }
    }
}

/// Feeds a command and listens to it. Nobody waits for the threads: whatever keeps a pipe open
/// must not keep us.
fn listen(child: &mut Child, input: String, most: usize) -> Receiver<Heard> {
    let (sender, heard) = channel();
    if let Some(mut stdin) = child.stdin.take() {
        // Who does not read what he is told is free to do so.
        thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    }
    if let Some(mut stdout) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || {
            // Told before the pipe closes: a command that is cut short may complain about that.
            tell(&sender, Heard::Output(beginning(stdout.by_ref(), most + 1)));
        });
    }
    if let Some(mut stderr) = child.stderr.take() {
        thread::spawn(move || {
            let said = beginning(stderr.by_ref(), COMPLAINT);
            tell(&sender, Heard::Complaint(said));
            // Listened to, so that it can go on.
            drop(io::copy(&mut stderr, &mut io::sink()));
        });
    }
    heard
}

fn beginning(stream: impl Read, most: usize) -> Vec<u8> {
    let mut said = Vec::new();
    // What was said before a pipe broke was said.
    drop(stream.take(most as u64).read_to_end(&mut said));
    said
}

fn tell(sender: &Sender<Heard>, heard: Heard) {
    // Nobody listens any more: then nobody wants to know.
    drop(sender.send(heard));
}

/// A command that ends when this is dropped, with everything it started.
struct Leash {
    child: Child,
    watcher: Option<(Child, ChildStdin)>,
}

impl Leash {
    /// Starts a watcher that ends the command as soon as nobody holds the other end of its stdin:
    /// when we let it go, and when we are gone, however we went.
    fn put_on(child: Child) -> io::Result<Leash> {
        let mut leash = Leash { child, watcher: None };
        if cfg!(unix) {
            let mut watcher = Command::new("sh");
            watcher
                .args(["-c", "read -r _; kill -9 \"-$1\"", "sh"])
                .arg(leash.child.id().to_string());
            watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            alone(&mut watcher);
            let mut watcher = watcher.spawn()?;
            let stdin = watcher.stdin.take();
            leash.watcher = stdin.map(|stdin| (watcher, stdin));
        }
        Ok(leash)
    }

    /// The command has ended: whatever it left running may stay.
    fn take_off(mut self) {
        if let Some((mut watcher, _stdin)) = self.watcher.take() {
            drop(watcher.kill());
            drop(watcher.wait());
        }
    }
}

impl Drop for Leash {
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
fn alone(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}
