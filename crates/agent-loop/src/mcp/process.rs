//! The process of a server: its pipes, its last words, its end with everything it started. It knows
//! nothing about what is said over the pipes.

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

/// How long is waited for the last of what it says on stderr.
const STDERR_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a process may take to end by itself, and again after it was asked to.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// A process. Dropping it kills it, with everything it started.
#[derive(Debug)]
pub(super) struct McpProcess {
    /// Its number, which is that of its group, too.
    process_id: Option<u32>,
    /// How it ended, once it has.
    exit: watch::Receiver<Option<String>>,
    stderr_tail: StderrTail,
    /// Values that no message may hold.
    secrets: Vec<String>,
    /// Why we ended it, if that was no wish of anybody.
    kill_reason: Mutex<Option<&'static str>>,
}

/// Its input and its output.
pub(super) type McpPipes = (ChildStdin, ChildStdout);

impl McpProcess {
    /// Starts it.
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
        let number = child.id();
        let missing = || io::Error::other("a pipe is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let words = StderrTail::default();
        let listener = words.read_in_background(stderr);
        let (told, ended) = watch::channel(None);
        // It ends with the process, which is killed when whoever holds this lets go of it.
        tokio::spawn(reap_process(child, number, listener, told));
        let fault = Mutex::new(None);
        Ok((
            McpProcess {
                process_id: number,
                exit: ended,
                stderr_tail: words,
                secrets,
                kill_reason: fault,
            },
            (stdin, stdout),
        ))
    }

    /// Waits until it has ended.
    pub(super) async fn wait_for_exit(&self) {
        // Whoever tells it is gone only with the whole runtime.
        let _ = self.exit.clone().wait_for(Option::is_some).await;
    }

    /// Kills it at once, for a reason that is told from now on.
    pub(super) fn kill_because(&self, fault: &'static str) {
        self.kill_reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        self.kill();
    }

    /// Kills it at once, with everything it started.
    pub(super) fn kill(&self) {
        // What has ended took its group with it, and its number may be another's by now.
        if self.exit.borrow().is_none() {
            signal(self.process_id, ProcessSignal::Kill);
        }
    }

    /// Ends it, after its input was closed: waits, asks, kills.
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

    /// How it ended and what it said last. Waits a moment for both.
    pub(super) async fn describe_exit(&self) -> String {
        let _ = timeout(STDERR_TIMEOUT, self.wait_for_exit()).await;
        let fault = *self.kill_reason.lock().unwrap_or_else(PoisonError::into_inner);
        let how = match (fault, self.exit.borrow().as_deref()) {
            (Some(fault), _) => fault.to_owned(),
            (None, Some(how)) => how.to_owned(),
            (None, None) => "it closed its output".to_owned(),
        };
        let words = self.stderr_tail();
        if words.is_empty() { how } else { format!("{how}; it said: {words}") }
    }

    /// The last of what it said on stderr, fit for a message: without secrets that we know.
    pub(super) fn stderr_tail(&self) -> String {
        self.stderr_tail.to_message(&self.secrets)
    }
}

impl Drop for McpProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for the end of a process, and takes along what it started.
async fn reap_process(
    mut child: Child,
    number: Option<u32>,
    listener: JoinHandle<()>,
    told: watch::Sender<Option<String>>,
) {
    let how = match child.wait().await {
        Ok(status) => format!("it ended with {status}"),
        Err(error) => format!("nobody knows how it ended: {error}"),
    };
    signal(number, ProcessSignal::Kill);
    let _ = timeout(STDERR_TIMEOUT, listener).await;
    told.send_replace(Some(how));
}

/// Variables that servers may see beside what every program sees.
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

/// What a server sees of our environment: keys stay here.
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
    fn keys_stay_here() {
        let names =
            ["PATH", "LC_ALL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CLAUDE_X", "NPM_TOKEN"];
        let all = names.map(|name| (OsString::from(name), OsString::from("x")));
        let kept: Vec<_> = visible_environment(all.into_iter())
            .filter_map(|(name, _)| name.into_string().ok())
            .collect();
        assert_eq!(kept, ["PATH", "LC_ALL"]);
    }
}
