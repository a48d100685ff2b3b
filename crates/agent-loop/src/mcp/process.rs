//! The process of a server: its pipes, its stderr, and its end together with everything it started.
//! The messages in the pipes are handled elsewhere.

use std::{
    ffi::OsString,
    io,
    path::Path,
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::watch,
    task::JoinHandle,
    time::timeout,
};

use foxwedge_tools::child::{self, ProcessSignal, StderrTail, signal};

/// How long the last output on stderr is awaited.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a process may take to end by itself, and again after a termination signal.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// A server process. Dropping it kills its process group.
#[derive(Debug)]
pub(super) struct McpProcess {
    /// Its process id, which is also the id of its group.
    process_id: Option<u32>,
    /// How it ended; `None` while it runs.
    exit: watch::Receiver<Option<String>>,
    stderr_tail: StderrTail,
    /// Values that must not appear in messages.
    secrets: Vec<String>,
    /// Why we killed it, if it misbehaved.
    kill_reason: Mutex<Option<&'static str>>,
}

/// Stdin and stdout of the process.
pub(super) type McpPipes = (ChildStdin, ChildStdout);

impl McpProcess {
    /// Starts the process.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(
        command: &[String],
        env: &[(String, String)],
        folder: Option<&Path>,
        secrets: Vec<String>,
    ) -> io::Result<(McpProcess, McpPipes)> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no command is set"));
        };
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(visible_environment(std::env::vars_os()));
        command.envs(env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let process_id = child.id();
        let missing = || io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let stderr_tail = StderrTail::default();
        let stderr_reader = stderr_tail.read_in_background(stderr);
        let (exit_sender, exit) = watch::channel(None);
        // Ends with the process, which is killed when `McpProcess` is dropped.
        tokio::spawn(reap_process(child, process_id, stderr_reader, exit_sender));
        let kill_reason = Mutex::new(None);
        Ok((McpProcess { process_id, exit, stderr_tail, secrets, kill_reason }, (stdin, stdout)))
    }

    /// Waits until it has ended.
    pub(super) async fn wait_for_exit(&self) {
        // The sender is gone only with the whole runtime.
        let _ = self.exit.clone().wait_for(Option::is_some).await;
    }

    /// Kills it at once. Later errors name the reason.
    pub(super) fn kill_because(&self, reason: &'static str) {
        self.kill_reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.kill();
    }

    /// Kills it at once, with everything it started.
    pub(super) fn kill(&self) {
        // After the exit, its group is gone and its id may belong to another process.
        if self.exit.borrow().is_none() {
            signal(self.process_id, ProcessSignal::Kill);
        }
    }

    /// Stops it after its input was closed: waits, terminates, kills.
    pub(super) async fn stop(&self) {
        if timeout(STOP_GRACE, self.wait_for_exit()).await.is_ok() {
            return;
        }
        signal(self.process_id, ProcessSignal::Terminate);
        if timeout(STOP_GRACE, self.wait_for_exit()).await.is_ok() {
            return;
        }
        self.kill();
        let _ = timeout(STOP_GRACE, self.wait_for_exit()).await;
    }

    /// How it ended, and its last output. Waits a moment for both.
    pub(super) async fn describe_exit(&self) -> String {
        let _ = timeout(STDERR_TIMEOUT, self.wait_for_exit()).await;
        let reason = *self.kill_reason.lock().unwrap_or_else(PoisonError::into_inner);
        let exit = match (reason, self.exit.borrow().as_deref()) {
            (Some(reason), _) => reason.to_owned(),
            (None, Some(exit)) => exit.to_owned(),
            (None, None) => "it closed its output".to_owned(),
        };
        let stderr = self.stderr_tail();
        if stderr.is_empty() { exit } else { format!("{exit}; stderr: {stderr}") }
    }

    /// The end of its stderr for messages, without the secrets that we know.
    pub(super) fn stderr_tail(&self) -> String {
        self.stderr_tail.to_message(&self.secrets)
    }
}

impl Drop for McpProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for the end of a process, then kills what it started.
async fn reap_process(
    mut child: Child,
    process_id: Option<u32>,
    stderr_reader: JoinHandle<()>,
    exit_sender: watch::Sender<Option<String>>,
) {
    let exit = match child.wait().await {
        Ok(status) => format!("it ended with {status}"),
        Err(error) => format!("its exit status is unknown: {error}"),
    };
    signal(process_id, ProcessSignal::Kill);
    let _ = timeout(STDERR_TIMEOUT, stderr_reader).await;
    exit_sender.send_replace(Some(exit));
}

/// Variables that servers may see in addition to those of every program.
const VISIBLE_VARIABLES: [&str; 12] = [
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "SYSTEMDRIVE",
    "TEMP",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "PROGRAMFILES",
];

/// The part of our environment that a server sees: no keys.
fn visible_environment(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    child::visible_environment(all, |name| {
        VISIBLE_VARIABLES.contains(&name) || name.starts_with("XDG_")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_passed_on() {
        let names =
            ["PATH", "LC_ALL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CLAUDE_X", "NPM_TOKEN"];
        let all = names.map(|name| (OsString::from(name), OsString::from("x")));
        let visible: Vec<_> = visible_environment(all.into_iter())
            .filter_map(|(name, _)| name.into_string().ok())
            .collect();
        assert_eq!(visible, ["PATH", "LC_ALL"]);
    }
}
