//! One process of an agent: its lines, its end, and everything it leaves behind. It knows nothing
//! about what the lines say.

use std::{
    ffi::OsString,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    process::{Child, ChildStdout, Command},
    task::{AbortHandle, JoinHandle, spawn_blocking},
    time::{Instant, sleep_until, timeout},
};

use super::{
    lines::{Line, Lines},
    litter::Litter,
};
use crate::{
    child::{self, Force, Input, LastWords, Unread, signal},
    config::Agent,
};

/// Bytes that may wait for a process that does not read.
const UNREAD: usize = 256 << 20;
/// How long is waited for the rest of the output behind the end of a process, and the other way.
const REST: Duration = Duration::from_secs(2);
/// How long is waited for the last of what it says on stderr.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a process may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// How a process is started.
#[derive(Debug)]
pub(super) struct Start<'a> {
    /// The command, and what it may see.
    pub(super) agent: &'a Agent,
    /// More arguments.
    pub(super) arguments: &'a [String],
    /// More variables.
    pub(super) environment: &'a [(String, String)],
    /// Where it works.
    pub(super) folder: &'a Path,
}

/// A process. Dropping it kills it, with everything it started.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// Its number, which is that of its group, too.
    number: Option<u32>,
    lines: Lines<ChildStdout>,
    input: Input,
    words: LastWords,
    /// Values that no message may hold.
    secrets: Vec<String>,
    writer: AbortHandle,
    listener: JoinHandle<()>,
    /// It has ended, so.
    status: Option<ExitStatus>,
    /// It says nothing more.
    closed: bool,
    /// When what is missing is not waited for any more.
    until: Option<Instant>,
    litter: Option<Litter>,
}

/// What a process does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// It says something.
    Line(Line),
    /// It is gone, in words.
    Gone(String),
}

/// It does not read what it is told.
#[derive(Debug)]
pub(super) struct Deaf;

impl Process {
    /// Starts it. What lies on disk for it is removed when it is gone, also if it never was there.
    ///
    /// # Errors
    /// If it cannot be started, in words.
    pub(super) fn start(start: &Start<'_>, litter: Litter) -> io::Result<Process> {
        let mut command = command(start)?;
        let mut child = command.spawn()?;
        let number = child.id();
        let missing = || io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (input, writer) = Input::new(stdin, UNREAD);
        let words = LastWords::default();
        let listener = words.listen(stderr);
        Ok(Process {
            child,
            number,
            lines: Lines::new(stdout),
            input,
            words,
            secrets: secrets(start),
            writer: writer.abort_handle(),
            listener,
            status: None,
            closed: false,
            until: None,
            litter: Some(litter),
        })
    }

    /// Tells it a line. Never waits: what it has not read yet lies in memory, up to a point.
    ///
    /// # Errors
    /// If too much lies there.
    pub(super) fn tell(&self, line: String) -> Result<(), Deaf> {
        match self.input.tell(line.into_bytes()) {
            Err(Unread::TooMuch) => Err(Deaf),
            // Whoever closed its input is about to be gone, and that is told in another way.
            Ok(()) | Err(Unread::Closed) => Ok(()),
        }
    }

    /// What it does next. May be dropped while it waits, and loses nothing.
    pub(super) async fn next(&mut self) -> Told {
        loop {
            let waits = match (self.closed, self.status) {
                (true, Some(_)) => return self.gone().await,
                (false, None) => false,
                (true, None) | (false, Some(_)) => true,
            };
            let until = match waits {
                true => *self.until.get_or_insert_with(|| Instant::now() + REST),
                false => Instant::now(),
            };
            tokio::select! {
                biased;
                line = self.lines.next(), if !self.closed => match line {
                    Some(line) => return Told::Line(line),
                    None => self.closed = true,
                },
                status = self.child.wait(), if self.status.is_none() => match status {
                    Ok(status) => self.status = Some(status),
                    Err(_) => return self.gone().await,
                },
                () = sleep_until(until), if waits => return self.gone().await,
            }
        }
    }

    /// How it ended, and what it said last: that may come a moment later.
    async fn gone(&mut self) -> Told {
        if !self.listener.is_finished() {
            let _ = timeout(LAST_WORDS, &mut self.listener).await;
        }
        Told::Gone(self.ending())
    }

    fn ending(&self) -> String {
        let how = match self.status {
            Some(status) => format!("it ended with {status}"),
            None => "it closed its output".to_owned(),
        };
        let words = self.words();
        if words.is_empty() { how } else { format!("{how}: {words}") }
    }

    /// The last of what it said on stderr, fit for a message: without secrets that we know.
    pub(super) fn words(&self) -> String {
        self.words.told(&self.secrets)
    }

    /// Ends it: a wish first, then by force, and nothing that it started stays.
    pub(super) async fn end(mut self) {
        if self.status.is_none() {
            signal(self.number, Force::Wish);
            if let Ok(Ok(status)) = timeout(GRACE, self.child.wait()).await {
                self.status = Some(status);
            }
        }
        // Its children may be there although it is not. A number that is free again is not given
        // to another group so soon.
        self.kill();
        if self.status.is_none() {
            // One that cannot even be killed is left to the system.
            let _ = timeout(GRACE, self.child.wait()).await;
        }
        let litter = self.litter.take();
        // What an agent left in its folder may take its time.
        let _ = spawn_blocking(move || drop(litter)).await;
    }

    fn kill(&mut self) {
        signal(self.number, Force::Kill);
        let _ = self.child.start_kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.litter.is_some() {
            self.kill();
        }
        self.writer.abort();
        self.listener.abort();
    }
}

fn command(start: &Start<'_>) -> io::Result<Command> {
    let Some((program, first)) = start.agent.command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no command is set"));
    };
    let mut command = Command::new(program);
    command.args(first).args(start.arguments).current_dir(start.folder);
    command.env_clear().envs(seen(&start.agent.env, std::env::vars_os()));
    command.envs(start.environment.iter().map(|(name, value)| (name, value)));
    command.envs(start.agent.set.iter().map(|(name, value)| (name, value.reveal())));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    Ok(command)
}

/// What an agent sees of our environment: what every program does, and what is its own.
fn seen(
    more: &[String],
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    const OWN: [&str; 2] = ["ANTHROPIC_", "CLAUDE_"];
    child::seen(all, move |name| {
        OWN.iter().any(|beginning| name.starts_with(beginning))
            || more.iter().any(|one| one == name)
    })
}

/// Values that look like secrets, or may be some.
fn secrets(start: &Start<'_>) -> Vec<String> {
    const SHORTEST: usize = 8;
    let looks = |name: &str| {
        let words = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "HEADERS"];
        words.iter().any(|word| name.to_ascii_uppercase().contains(word))
    };
    let seen = seen(&start.agent.env, std::env::vars_os());
    let seen = seen.filter(|(name, _)| name.to_str().is_some_and(looks));
    let seen = seen.filter_map(|(_, value)| value.into_string().ok());
    let set = start.agent.set.iter().filter(|(name, _)| name != "CLAUDE_CONFIG_DIR");
    let set = set.map(|(_, value)| value.reveal().to_owned());
    let mut all: Vec<String> = set.chain(seen).filter(|text| text.len() >= SHORTEST).collect();
    // One may be the beginning of another.
    all.sort_by_key(|text| std::cmp::Reverse(text.len()));
    all
}

#[cfg(all(test, unix))]
mod tests;
