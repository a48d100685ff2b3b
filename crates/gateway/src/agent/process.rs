//! One agent process: its lines, its exit and its files. The content of the lines is not
//! interpreted here.

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

/// Maximum number of bytes queued for a process that does not read.
const MAX_UNREAD_INPUT: usize = 256 << 20;
/// How long to wait for the rest of the output after the exit, or for the exit after the output.
const EXIT_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait for the rest of stderr.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a process may take to exit after SIGTERM.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// How a process is started.
#[derive(Debug)]
pub(super) struct AgentProcessSpec<'a> {
    /// The command and its environment rules.
    pub(super) agent: &'a AgentConfig,
    /// Additional arguments.
    pub(super) arguments: &'a [String],
    /// Additional environment variables.
    pub(super) environment: &'a [(String, String)],
    /// Working folder.
    pub(super) folder: &'a Path,
}

/// A process. Dropping it kills it together with its children.
#[derive(Debug)]
pub(super) struct AgentProcess {
    child: Child,
    /// Process id, which is also the id of its group.
    process_id: Option<u32>,
    lines: AgentOutputReader<ChildStdout>,
    input: ChildInput,
    stderr_tail: StderrTail,
    /// Values that must not appear in messages.
    secrets: Vec<String>,
    writer: AbortHandle,
    stderr_reader: JoinHandle<()>,
    /// Exit status, once it has exited.
    status: Option<ExitStatus>,
    /// Its output is closed.
    stdout_closed: bool,
    /// When to stop waiting for the exit or the rest of the output.
    exit_deadline: Option<Instant>,
    cleanup: Option<CleanupJournal>,
}

/// An event of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ProcessEvent {
    /// A line of output.
    Line(AgentOutputLine),
    /// It has exited; the text describes how.
    Exited(String),
}

/// The process does not read its input.
#[derive(Debug)]
pub(super) struct InputOverflow;

impl AgentProcess {
    /// Starts a process. Its files are removed when it has exited, or if it cannot be started.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(
        spec: &AgentProcessSpec<'_>,
        journal: CleanupJournal,
    ) -> io::Result<AgentProcess> {
        let mut command = build_command(spec)?;
        let mut child = command.spawn()?;
        let process_id = child.id();
        let missing = || io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (input, writer) = ChildInput::new(stdin, MAX_UNREAD_INPUT);
        let stderr_tail = StderrTail::default();
        let stderr_reader = stderr_tail.read_in_background(stderr);
        Ok(AgentProcess {
            child,
            process_id,
            lines: AgentOutputReader::new(stdout),
            input,
            stderr_tail,
            secrets: secret_values(spec),
            writer: writer.abort_handle(),
            stderr_reader,
            status: None,
            stdout_closed: false,
            exit_deadline: None,
            cleanup: Some(journal),
        })
    }

    /// Queues a line of input. Never waits: unread input is kept in memory, up to a limit.
    ///
    /// # Errors
    /// If the limit is exceeded.
    pub(super) fn write_line(&self, line: String) -> Result<(), InputOverflow> {
        match self.input.write_line(line.into_bytes()) {
            Err(ChildInputError::TooMuch) => Err(InputOverflow),
            // A process that closed its input is about to exit, which is reported separately.
            Ok(()) | Err(ChildInputError::Closed) => Ok(()),
        }
    }

    /// The next event. Cancel safe.
    pub(super) async fn next_event(&mut self) -> ProcessEvent {
        loop {
            let has_deadline = match (self.stdout_closed, self.status) {
                (true, Some(_)) => return self.exit_event().await,
                (false, None) => false,
                (true, None) | (false, Some(_)) => true,
            };
            let until = match has_deadline {
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
                () = sleep_until(until), if has_deadline => return self.exit_event().await,
            }
        }
    }

    /// The exit event. Waits a moment for the rest of stderr.
    async fn exit_event(&mut self) -> ProcessEvent {
        if !self.stderr_reader.is_finished() {
            let _ = timeout(STDERR_TIMEOUT, &mut self.stderr_reader).await;
        }
        ProcessEvent::Exited(self.describe_exit())
    }

    fn describe_exit(&self) -> String {
        let how = match self.status {
            Some(status) => status.to_string(),
            None => "it closed its output".to_owned(),
        };
        let stderr = self.stderr_tail();
        if stderr.is_empty() { how } else { format!("{how}: {stderr}") }
    }

    /// The end of stderr, for messages: known secrets are removed.
    pub(super) fn stderr_tail(&self) -> String {
        self.stderr_tail.to_message(&self.secrets)
    }

    /// Ends the process and its children: SIGTERM first, then SIGKILL.
    pub(super) async fn end(mut self) {
        if self.status.is_none() {
            signal(self.process_id, ProcessSignal::Terminate);
            if let Ok(Ok(status)) = timeout(STOP_GRACE, self.child.wait()).await {
                self.status = Some(status);
            }
        }
        // Its children may still run. The group id is not reused so soon.
        self.kill();
        if self.status.is_none() {
            // A process that cannot be killed is left to the system.
            let _ = timeout(STOP_GRACE, self.child.wait()).await;
        }
        let journal = self.cleanup.take();
        // Removing a large folder may take long.
        let _ = spawn_blocking(move || drop(journal)).await;
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

fn build_command(spec: &AgentProcessSpec<'_>) -> io::Result<Command> {
    let Some((program, first)) = spec.agent.command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no command is set"));
    };
    let mut command = Command::new(program);
    command.args(first).args(spec.arguments).current_dir(spec.folder);
    command.env_clear().envs(visible_environment(&spec.agent.env, std::env::vars_os()));
    command.envs(spec.environment.iter().map(|(name, value)| (name, value)));
    command.envs(spec.agent.set_env.iter().map(|(name, value)| (name, value.reveal())));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    Ok(command)
}

/// The part of our environment that the agent sees: common variables, its own, and configured
/// ones.
fn visible_environment(
    more: &[String],
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    const OWN: [&str; 2] = ["ANTHROPIC_", "CLAUDE_"];
    child::visible_environment(all, move |name| {
        OWN.iter().any(|prefix| name.starts_with(prefix)) || more.iter().any(|one| one == name)
    })
}

/// Values that are or may be secrets.
fn secret_values(spec: &AgentProcessSpec<'_>) -> Vec<String> {
    const MIN_SECRET_BYTES: usize = 8;
    let looks_secret = |name: &str| {
        let marks = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "HEADERS"];
        marks.iter().any(|mark| name.to_ascii_uppercase().contains(mark))
    };
    let seen = visible_environment(&spec.agent.env, std::env::vars_os());
    let seen = seen.filter(|(name, _)| name.to_str().is_some_and(looks_secret));
    let seen = seen.filter_map(|(_, value)| value.into_string().ok());
    let set = spec.agent.set_env.iter().filter(|(name, _)| name != "CLAUDE_CONFIG_DIR");
    let set = set.map(|(_, value)| value.reveal().to_owned());
    let mut all: Vec<String> =
        set.chain(seen).filter(|text| text.len() >= MIN_SECRET_BYTES).collect();
    // Longest first: one may be a prefix of another.
    all.sort_by_key(|text| std::cmp::Reverse(text.len()));
    all
}

#[cfg(all(test, unix))]
mod tests;
