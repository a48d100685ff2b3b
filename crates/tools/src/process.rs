//! Runs a command from its start to the end of everything it started.

mod launch;

use std::{io, path::Path, process::ExitStatus, time::Duration};

use tokio::{
    process::{Child, Command},
    task::spawn_blocking,
    time::{Instant, sleep_until, timeout},
};

use foxwedge_process::{
    ExitWatcher, MARK_VARIABLE, MergedOutput, ProcessTree, mark_prefix, own_group,
};

pub use self::launch::{hide_variables, launch, launched_command};
use crate::{OutputCapture, StopLevel, StopReceiver, random::random_digits};

/// How long to wait for more output after the end of a command. A process that it left behind may
/// keep the output open.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);
/// How long to wait for processes that are about to end by themselves.
const EXIT_GRACE: Duration = Duration::from_millis(100);
/// How long to wait for a killed process. A process stuck in the kernel may take longer and is not
/// waited for.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// A running command. Dropping it kills it with everything it started, before the drop returns.
#[derive(Debug)]
pub(crate) struct ShellProcess {
    child: Child,
    pipes: MergedOutput,
    exit: ExitWatcher,
    tree: ProcessTree,
    /// All its processes have ended.
    finished: bool,
}

/// Why waiting for a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProcessEnd {
    /// It ended by itself.
    Exited,
    /// It ended after a stop request.
    StoppedGracefully,
    /// A kill was requested.
    Killed,
    /// It took too long.
    TimedOut,
}

/// The result of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FinishedProcess {
    /// Exit status; `None` if it is unknown.
    pub(crate) status: Option<ExitStatus>,
    /// Names of processes that it left running.
    pub(crate) left_running: Vec<String>,
}

impl ShellProcess {
    /// Starts a shell command in a folder. It sees only the given variables. A launcher, if given,
    /// is started between this process and the command.
    pub(crate) fn start(
        command: &str,
        folder: &Path,
        variables: Vec<(std::ffi::OsString, std::ffi::OsString)>,
        launcher: Option<&Path>,
    ) -> io::Result<ShellProcess> {
        let mark = format!("{}-{}", mark_prefix(), random_digits()?);
        let mut shell = match launcher {
            // Continue without a launcher that was removed meanwhile.
            Some(launcher) if cfg!(unix) && launcher.is_file() => {
                launch::launcher_command(launcher, command)
            }
            Some(_) | None => shell(command.as_ref()),
        };
        shell.current_dir(folder).env_clear();
        // A call within a call has the marks of both.
        let outer = variables.iter().find(|(name, _)| name == MARK_VARIABLE);
        let outer = outer.and_then(|(_, value)| value.to_str()).unwrap_or_default();
        let outer = outer.get(..outer.len().min(1024)).unwrap_or_default();
        let marks = format!("{outer}{}{mark}", if outer.is_empty() { "" } else { ":" });
        own_group(shell.envs(variables).env(MARK_VARIABLE, marks));
        let (mut child, pipes) = MergedOutput::spawn(shell)?;
        let pid = child.id().ok_or_else(|| io::Error::other("it has no number"))?;
        let tree = ProcessTree::new(pid, mark);
        match pipes {
            Ok(pipes) => {
                Ok(ShellProcess { child, pipes, exit: ExitWatcher::of(pid), tree, finished: false })
            }
            Err(error) => {
                tree.kill();
                let _ = child.start_kill();
                Err(error)
            }
        }
    }

    /// Waits for the end of the command and captures its output.
    pub(crate) async fn wait_for_end(
        &mut self,
        output: &OutputCapture,
        stop: &StopReceiver,
        limit: Duration,
    ) -> ProcessEnd {
        let (mut graceful, mut kill) = (stop.clone(), stop.clone());
        let now = Instant::now();
        let deadline = now.checked_add(limit).unwrap_or(now + KILL_TIMEOUT);
        let (mut end, mut drain_until, mut output_closed) = (ProcessEnd::Exited, None, false);
        loop {
            let ShellProcess { child, pipes, exit, tree, finished: _ } = self;
            if drain_until.is_some() && output_closed {
                return end;
            }
            tokio::select! {
                biased;
                () = kill.wait_for(StopLevel::Kill) => return ProcessEnd::Killed,
                () = exit.ended(child), if drain_until.is_none() => {
                    drain_until = Some(Instant::now() + OUTPUT_GRACE);
                }
                () = graceful.wait_for(StopLevel::Graceful),
                    if end == ProcessEnd::Exited && drain_until.is_none() =>
                {
                    end = ProcessEnd::StoppedGracefully;
                    tree.ask();
                }
                () = sleep_until(deadline), if drain_until.is_none() => return ProcessEnd::TimedOut,
                () = sleep_until(drain_until.unwrap_or(deadline)), if drain_until.is_some() => {
                    return end;
                }
                chunk = pipes.read(), if !output_closed => match chunk {
                    Some(chunk) => output.push(chunk),
                    None => output_closed = true,
                },
            }
        }
    }

    /// Kills the command and everything it started, and captures the last output.
    pub(crate) async fn finish(
        mut self,
        end: ProcessEnd,
        output: &OutputCapture,
    ) -> FinishedProcess {
        // Its process id is not reused until the command is reaped.
        let tree = self.tree.clone();
        let kill = move || {
            match end {
                // A process that has closed its output may be about to exit.
                ProcessEnd::Exited | ProcessEnd::StoppedGracefully => tree.wait(EXIT_GRACE),
                ProcessEnd::Killed | ProcessEnd::TimedOut => {}
            }
            tree.kill()
        };
        let left_running = match spawn_blocking(kill).await {
            Ok(left_running) => left_running,
            // The runtime is shutting down.
            Err(_) => self.tree.kill(),
        };
        let _ = self.child.start_kill();
        let status = match timeout(KILL_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) => Some(status),
            Ok(Err(_)) | Err(_) => None,
        };
        self.finished = status.is_some();
        let rest = async {
            while let Some(chunk) = self.pipes.read().await {
                output.push(chunk);
            }
        };
        let _ = timeout(OUTPUT_GRACE, rest).await;
        FinishedProcess { status, left_running }
    }
}

impl Drop for ShellProcess {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        self.tree.kill();
        let _ = self.child.start_kill();
        // It is dead, but must be reaped.
        for _ in 0..100 {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

#[cfg(unix)]
fn shell(command: &std::ffi::OsStr) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    shell
}

/// `cmd` has its own quoting rules.
#[cfg(windows)]
fn shell(command: &std::ffi::OsStr) -> Command {
    let mut shell = Command::new("cmd");
    let command = command.to_string_lossy();
    shell.arg("/D").arg("/S").arg("/C").raw_arg(format!("\"{command}\""));
    shell
}
