//! The process of a server, and why it ended. The messages in its pipes are handled elsewhere.

use std::{
    ffi::OsString,
    io,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{process::ChildStdout, time::timeout};

use foxwedge_process::{ChildInput, GroupAtExit, PipedProcess, program_command};

/// How long a process may take to end by itself, and again after a termination signal.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// A server process. Dropping it kills its process group.
#[derive(Debug)]
pub(super) struct McpProcess {
    process: PipedProcess,
    /// Why we killed it, if it misbehaved.
    kill_reason: Mutex<Option<&'static str>>,
}

/// Stdin and stdout of the process.
pub(super) type McpPipes = (ChildInput, ChildStdout);

impl McpProcess {
    /// Starts the process. `max_unread` limits the bytes that wait for one that does not read.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(
        command: &[String],
        env: &[(String, String)],
        folder: Option<&Path>,
        secrets: Vec<String>,
        max_unread: usize,
    ) -> io::Result<(McpProcess, McpPipes)> {
        let mut command = program_command(command)?;
        command.env_clear().envs(visible_environment(std::env::vars_os()));
        command.envs(env.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        let (process, stdin, stdout) =
            PipedProcess::start(command, GroupAtExit::Kill, max_unread, secrets)?;
        Ok((McpProcess { process, kill_reason: Mutex::new(None) }, (stdin, stdout)))
    }

    /// Waits until it has ended.
    pub(super) async fn wait_for_exit(&self) {
        self.process.wait_for_exit().await;
    }

    /// Kills it at once. Later errors name the reason.
    pub(super) fn kill_because(&self, reason: &'static str) {
        self.kill_reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.kill();
    }

    /// Kills it at once, with everything it started.
    pub(super) fn kill(&self) {
        self.process.kill();
    }

    /// Stops it after its input was closed: waits, terminates, kills.
    pub(super) async fn stop(&self) {
        if timeout(STOP_GRACE, self.wait_for_exit()).await.is_err() {
            self.process.end(STOP_GRACE).await;
        }
    }

    /// How it ended, and its last output. Waits a moment for both.
    pub(super) async fn describe_exit(&self) -> String {
        self.process.wait_for_message().await;
        let reason = *self.kill_reason.lock().unwrap_or_else(PoisonError::into_inner);
        let exit = match (reason, self.process.exit()) {
            (Some(reason), _) => reason.to_owned(),
            (None, Some(Ok(status))) => format!("it ended with {status}"),
            (None, Some(Err(unknown))) => unknown,
            (None, None) => "it closed its output".to_owned(),
        };
        let stderr = self.stderr_tail();
        if stderr.is_empty() { exit } else { format!("{exit}; stderr: {stderr}") }
    }

    /// The end of its stderr for messages, without the secrets that we know.
    pub(super) fn stderr_tail(&self) -> String {
        self.process.stderr_message()
    }
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
    foxwedge_process::visible_environment(all, |name| {
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
