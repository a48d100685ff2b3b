//! One agent process: its lines, its exit and its files. The content of the lines is not
//! interpreted here.

use std::{ffi::OsString, io, path::Path, time::Duration};

use tokio::{
    process::{ChildStdout, Command},
    task::spawn_blocking,
    time::{Instant, sleep_until},
};

use super::{AgentConfig, cleanup::CleanupJournal};
use foxwedge_process::{
    ChildInput, ChildInputError, GroupAtExit, LineLimits, LineReader, OutputLine, PipedProcess,
    program_command,
};

/// Maximum length of a line in bytes.
const MAX_LINE: usize = 64 << 20;

/// Maximum number of bytes queued for a process that does not read.
const MAX_UNREAD_INPUT: usize = 256 << 20;
/// How long to wait for the rest of the output after the exit, or for the exit after the output.
const EXIT_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);
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
    process: PipedProcess,
    lines: LineReader<ChildStdout>,
    input: ChildInput,
    /// Its output is closed.
    stdout_closed: bool,
    /// When to stop waiting for the exit or the rest of the output.
    exit_deadline: Option<Instant>,
    /// Its files. Dropped last: the process uses them.
    journal: CleanupJournal,
}

/// An event of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ProcessEvent {
    /// A line of output.
    Line(OutputLine),
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
        // Its children may still write when it has exited.
        let (process, input, stdout) = PipedProcess::start(
            build_command(spec)?,
            GroupAtExit::Keep,
            MAX_UNREAD_INPUT,
            secret_values(spec),
        )?;
        let lines = LineReader::new(stdout, LineLimits::new(MAX_LINE));
        Ok(AgentProcess {
            process,
            lines,
            input,
            stdout_closed: false,
            exit_deadline: None,
            journal,
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
            let has_exited = self.process.exit().is_some();
            let has_deadline = match (self.stdout_closed, has_exited) {
                (true, true) => return self.exit_event().await,
                (false, false) => false,
                (true, false) | (false, true) => true,
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
                () = self.process.wait_for_exit(), if !has_exited => {}
                () = sleep_until(until), if has_deadline => return self.exit_event().await,
            }
        }
    }

    /// The exit event. Waits a moment for the rest of stderr.
    async fn exit_event(&mut self) -> ProcessEvent {
        self.process.wait_for_message().await;
        ProcessEvent::Exited(self.describe_exit())
    }

    fn describe_exit(&self) -> String {
        let how = match self.process.exit() {
            Some(Ok(status)) => status.to_string(),
            Some(Err(unknown)) => unknown,
            None => "it closed its output".to_owned(),
        };
        let stderr = self.stderr_tail();
        if stderr.is_empty() { how } else { format!("{how}: {stderr}") }
    }

    /// The end of stderr, for messages: known secrets are removed.
    pub(super) fn stderr_tail(&self) -> String {
        self.process.stderr_message()
    }

    /// Ends the process and its children: SIGTERM first, then SIGKILL.
    pub(super) async fn end(self) {
        self.process.end(STOP_GRACE).await;
        let AgentProcess { process, journal, .. } = self;
        process.release_group();
        // Removing a large folder may take long.
        let _ = spawn_blocking(move || drop(journal)).await;
    }
}

fn build_command(spec: &AgentProcessSpec<'_>) -> io::Result<Command> {
    let mut command = program_command(&spec.agent.command)?;
    command.args(spec.arguments).current_dir(spec.folder);
    command.env_clear().envs(visible_environment(&spec.agent.env, std::env::vars_os()));
    command.envs(spec.environment.iter().map(|(name, value)| (name, value)));
    command.envs(spec.agent.set_env.iter().map(|set| (set.name(), set.reveal())));
    Ok(command)
}

/// The part of our environment that the agent sees: common variables, its own, and configured
/// ones.
fn visible_environment(
    more: &[String],
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    const OWN: [&str; 2] = ["ANTHROPIC_", "CLAUDE_"];
    foxwedge_process::visible_environment(all, move |name| {
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
    let set = spec.agent.set_env.iter().filter(|set| set.name() != "CLAUDE_CONFIG_DIR");
    let set = set.map(|set| set.reveal().to_owned());
    let mut all: Vec<String> =
        set.chain(seen).filter(|text| text.len() >= MIN_SECRET_BYTES).collect();
    // Longest first: one may be a prefix of another.
    all.sort_by_key(|text| std::cmp::Reverse(text.len()));
    all
}

#[cfg(all(test, unix))]
mod tests;
