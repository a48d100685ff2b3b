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
    cleanup::CleanupJournal,
    lines::{AgentOutputLine, AgentOutputReader},
};
use crate::config::AgentConfig;
use foxwedge_tools::child::{self, ChildInput, ChildInputError, ProcessSignal, StderrTail, signal};

/// Bytes that may wait for a process that does not read.
const MAX_UNREAD_INPUT: usize = 256 << 20;
/// How long is waited for the rest of the output behind the end of a process, and the other way.
const EXIT_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long is waited for the last of what it says on stderr.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a process may take to end by itself.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// How a process is started.
#[derive(Debug)]
pub(super) struct AgentProcessSpec<'a> {
    /// The command, and what it may see.
    pub(super) agent: &'a AgentConfig,
    /// More arguments.
    pub(super) arguments: &'a [String],
    /// More variables.
    pub(super) environment: &'a [(String, String)],
    /// Where it works.
    pub(super) folder: &'a Path,
}

/// A process. Dropping it kills it, with everything it started.
#[derive(Debug)]
pub(super) struct AgentProcess {
    child: Child,
    /// Its number, which is that of its group, too.
    process_id: Option<u32>,
    lines: AgentOutputReader<ChildStdout>,
    input: ChildInput,
    stderr_tail: StderrTail,
    /// Values that no message may hold.
    secrets: Vec<String>,
    writer: AbortHandle,
    stderr_reader: JoinHandle<()>,
    /// It has ended, so.
    status: Option<ExitStatus>,
    /// It says nothing more.
    stdout_closed: bool,
    /// When what is missing is not waited for any more.
    exit_deadline: Option<Instant>,
    cleanup: Option<CleanupJournal>,
}

/// What a process does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ProcessEvent {
    /// It says something.
    Line(AgentOutputLine),
    /// It is gone, in words.
    Exited(String),
}

/// It does not read what it is told.
#[derive(Debug)]
pub(super) struct InputOverflow;

impl AgentProcess {
    /// Starts it. What lies on disk for it is removed when it is gone, also if it never was there.
    ///
    /// # Errors
    /// If it cannot be started, in words.
    pub(super) fn start(
        start: &AgentProcessSpec<'_>,
        litter: CleanupJournal,
    ) -> io::Result<AgentProcess> {
        let mut command = build_command(start)?;
        let mut child = command.spawn()?;
        let number = child.id();
        let missing = || io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (input, writer) = ChildInput::new(stdin, MAX_UNREAD_INPUT);
        let words = StderrTail::default();
        let listener = words.read_in_background(stderr);
        Ok(AgentProcess {
            child,
            process_id: number,
            lines: AgentOutputReader::new(stdout),
            input,
            stderr_tail: words,
            secrets: secret_values(start),
            writer: writer.abort_handle(),
            stderr_reader: listener,
            status: None,
            stdout_closed: false,
            exit_deadline: None,
            cleanup: Some(litter),
        })
    }

    /// Tells it a line. Never waits: what it has not read yet lies in memory, up to a point.
    ///
    /// # Errors
    /// If too much lies there.
    pub(super) fn write_line(&self, line: String) -> Result<(), InputOverflow> {
        match self.input.write_line(line.into_bytes()) {
            Err(ChildInputError::TooMuch) => Err(InputOverflow),
            // Whoever closed its input is about to be gone, and that is told in another way.
            Ok(()) | Err(ChildInputError::Closed) => Ok(()),
        }
    }

    /// What it does next. May be dropped while it waits, and loses nothing.
    pub(super) async fn next_event(&mut self) -> ProcessEvent {
        loop {
            let waits = match (self.stdout_closed, self.status) {
                (true, Some(_)) => return self.exit_event().await,
                (false, None) => false,
                (true, None) | (false, Some(_)) => true,
            };
            let until = match waits {
                true => {
                    *self.exit_deadline.get_or_insert_with(|| Instant::now() + EXIT_OUTPUT_TIMEOUT)
                }
                false => Instant::now(),
            };
            tokio::select! {
                biased;
                line = self.lines.next_line(), if !self.stdout_closed => match line {
                    Some(line) => return ProcessEvent::Line(line),
                    None => self.stdout_closed = true,
                },
                status = self.child.wait(), if self.status.is_none() => match status {
                    Ok(status) => self.status = Some(status),
                    Err(_) => return self.exit_event().await,
                },
                () = sleep_until(until), if waits => return self.exit_event().await,
            }
        }
    }

    /// How it ended, and what it said last: that may come a moment later.
    async fn exit_event(&mut self) -> ProcessEvent {
        if !self.stderr_reader.is_finished() {
            let _ = timeout(STDERR_TIMEOUT, &mut self.stderr_reader).await;
        }
        ProcessEvent::Exited(self.describe_exit())
    }

    fn describe_exit(&self) -> String {
        let how = match self.status {
            Some(status) => format!("it ended with {status}"),
            None => "it closed its output".to_owned(),
        };
        let words = self.stderr_tail();
        if words.is_empty() { how } else { format!("{how}: {words}") }
    }

    /// The last of what it said on stderr, fit for a message: without secrets that we know.
    pub(super) fn stderr_tail(&self) -> String {
        self.stderr_tail.to_message(&self.secrets)
    }

    /// Ends it: a wish first, then by force, and nothing that it started stays.
    pub(super) async fn end(mut self) {
        if self.status.is_none() {
            signal(self.process_id, ProcessSignal::Terminate);
            if let Ok(Ok(status)) = timeout(STOP_GRACE, self.child.wait()).await {
                self.status = Some(status);
            }
        }
        // Its children may be there although it is not. A number that is free again is not given
        // to another group so soon.
        self.kill();
        if self.status.is_none() {
            // One that cannot even be killed is left to the system.
            let _ = timeout(STOP_GRACE, self.child.wait()).await;
        }
        let litter = self.cleanup.take();
        // What an agent left in its folder may take its time.
        let _ = spawn_blocking(move || drop(litter)).await;
    }

    fn kill(&mut self) {
        signal(self.process_id, ProcessSignal::Kill);
        let _ = self.child.start_kill();
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        if self.cleanup.is_some() {
            self.kill();
        }
        self.writer.abort();
        self.stderr_reader.abort();
    }
}

fn build_command(start: &AgentProcessSpec<'_>) -> io::Result<Command> {
    let Some((program, first)) = start.agent.command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no command is set"));
    };
    let mut command = Command::new(program);
    command.args(first).args(start.arguments).current_dir(start.folder);
    command.env_clear().envs(visible_environment(&start.agent.env, std::env::vars_os()));
    command.envs(start.environment.iter().map(|(name, value)| (name, value)));
    command.envs(start.agent.set.iter().map(|(name, value)| (name, value.reveal())));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    Ok(command)
}

/// What an agent sees of our environment: what every program does, and what is its own.
fn visible_environment(
    more: &[String],
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    const OWN: [&str; 2] = ["ANTHROPIC_", "CLAUDE_"];
    child::visible_environment(all, move |name| {
        OWN.iter().any(|beginning| name.starts_with(beginning))
            || more.iter().any(|one| one == name)
    })
}

/// Values that look like secrets, or may be some.
fn secret_values(start: &AgentProcessSpec<'_>) -> Vec<String> {
    const SHORTEST: usize = 8;
    let looks = |name: &str| {
        let words = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "HEADERS"];
        words.iter().any(|word| name.to_ascii_uppercase().contains(word))
    };
    let seen = visible_environment(&start.agent.env, std::env::vars_os());
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
