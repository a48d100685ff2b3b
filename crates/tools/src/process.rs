//! A command, from its start to the end of everything that it started.

mod tree;
mod pipes;
mod exit;
mod launch;

use std::{io, path::Path, process::ExitStatus, time::Duration};

use tokio::{
    process::{Child, Command},
    task::spawn_blocking,
    time::{Instant, sleep_until, timeout},
};

pub use self::launch::{hide_variables, launch, launched_command};
use self::{exit::ExitWatcher, pipes::ProcessPipes, tree::ProcessTree};
use crate::{OutputCapture, StopLevel, StopReceiver, random::random_digits};

/// How long is waited for more output behind the end of a command: something that it left behind
/// may keep its output open.
const OUTPUT_GRACE: Duration = Duration::from_millis(500);
/// How long is waited for those that are about to end by themselves.
const EXIT_GRACE: Duration = Duration::from_millis(100);
/// How long is waited for one that was killed. A process in the hands of the kernel may take
/// longer, and is not waited for.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// The variable that marks everything a command starts.
pub(crate) const MARK: &str = "FOXWEDGE_CALL";

/// A command at work. Dropping it kills it, with everything that it started, before the drop is
/// over.
#[derive(Debug)]
pub(crate) struct ShellProcess {
    child: Child,
    pipes: ProcessPipes,
    exit: ExitWatcher,
    tree: ProcessTree,
    /// Nothing of it is left.
    finished: bool,
}

/// Why a command is not waited for any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProcessEnd {
    /// It ended by itself.
    Exited,
    /// It ended, and somebody had asked for it.
    StoppedGracefully,
    /// Somebody wants its end at once.
    Killed,
    /// It took too long.
    TimedOut,
}

/// What became of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FinishedProcess {
    /// How it ended; nothing, if nobody knows.
    pub(crate) status: Option<ExitStatus>,
    /// What it had left running, by name.
    pub(crate) left_running: Vec<String>,
}

impl ShellProcess {
    /// Starts a command of the shell in a folder. It sees these variables, and no others. A launcher
    /// stands between us and the command.
    pub(crate) fn start(
        command: &str,
        folder: &Path,
        variables: Vec<(std::ffi::OsString, std::ffi::OsString)>,
        launcher: Option<&Path>,
    ) -> io::Result<ShellProcess> {
        let mark = format!("{}-{}", tree::maker(), random_digits()?);
        let mut shell = match launcher {
            // One that was removed meanwhile is done without.
            Some(launcher) if cfg!(unix) && launcher.is_file() => {
                launch::launcher_command(launcher, command)
            }
            Some(_) | None => shell(command.as_ref()),
        };
        shell.current_dir(folder).env_clear();
        // A call within a call bears the marks of both.
        let outer = variables.iter().find(|(name, _)| name == MARK);
        let outer = outer.and_then(|(_, value)| value.to_str()).unwrap_or_default();
        let outer = outer.get(..outer.len().min(1024)).unwrap_or_default();
        let marks = format!("{outer}{}{mark}", if outer.is_empty() { "" } else { ":" });
        shell.envs(variables).env(MARK, marks).kill_on_drop(true);
        #[cfg(unix)]
        shell.process_group(0);
        let (mut child, pipes) = ProcessPipes::spawn(shell)?;
        let number = child.id().ok_or_else(|| io::Error::other("it has no number"))?;
        let tree = ProcessTree::new(number, mark);
        match pipes {
            Ok(pipes) => Ok(ShellProcess {
                child,
                pipes,
                exit: ExitWatcher::of(number),
                tree,
                finished: false,
            }),
            Err(error) => {
                tree.kill();
                let _ = child.start_kill();
                Err(error)
            }
        }
    }

    /// Waits for its end, and takes what it says.
    pub(crate) async fn wait_for_end(
        &mut self,
        output: &OutputCapture,
        stop: &StopReceiver,
        limit: Duration,
    ) -> ProcessEnd {
        let (mut asked, mut forced) = (stop.clone(), stop.clone());
        let now = Instant::now();
        let until = now.checked_add(limit).unwrap_or(now + KILL_TIMEOUT);
        let (mut end, mut ended, mut closed) = (ProcessEnd::Exited, None, false);
        loop {
            let ShellProcess { child, pipes, exit, tree, finished: _ } = self;
            if ended.is_some() && closed {
                return end;
            }
            tokio::select! {
                biased;
                () = forced.wait_for(StopLevel::Kill) => return ProcessEnd::Killed,
                () = exit.ended(child), if ended.is_none() => {
                    ended = Some(Instant::now() + OUTPUT_GRACE);
                }
                () = asked.wait_for(StopLevel::Graceful), if end == ProcessEnd::Exited && ended.is_none() => {
                    end = ProcessEnd::StoppedGracefully;
                    tree.ask();
                }
                () = sleep_until(until), if ended.is_none() => return ProcessEnd::TimedOut,
                () = sleep_until(ended.unwrap_or(until)), if ended.is_some() => return end,
                piece = pipes.read(), if !closed => match piece {
                    Some(piece) => output.push(piece),
                    None => closed = true,
                },
            }
        }
    }

    /// Ends it and everything that it started, and takes the last of what it said.
    pub(crate) async fn finish(
        mut self,
        end: ProcessEnd,
        output: &OutputCapture,
    ) -> FinishedProcess {
        // While the command is not taken note of as ended, nobody else gets its number.
        let tree = self.tree.clone();
        let kill = move || {
            match end {
                // Who has closed its output may be on its way out.
                ProcessEnd::Exited | ProcessEnd::StoppedGracefully => tree.wait(EXIT_GRACE),
                ProcessEnd::Killed | ProcessEnd::TimedOut => {}
            }
            tree.kill()
        };
        let left = match spawn_blocking(kill).await {
            Ok(left) => left,
            // The runtime is about to end.
            Err(_) => self.tree.kill(),
        };
        let _ = self.child.start_kill();
        let status = match timeout(KILL_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) => Some(status),
            Ok(Err(_)) | Err(_) => None,
        };
        self.finished = status.is_some();
        let rest = async {
            while let Some(piece) = self.pipes.read().await {
                output.push(piece);
            }
        };
        let _ = timeout(OUTPUT_GRACE, rest).await;
        FinishedProcess { status, left_running: left }
    }
}

impl Drop for ShellProcess {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        self.tree.kill();
        let _ = self.child.start_kill();
        // It is dead, but somebody has to take note of it.
        for _ in 0..100 {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

/// Ends what commands of programs that are dead left running: whoever was killed by force could not
/// do it. Returns their names. Only on Linux; elsewhere nobody can tell whose they are.
pub fn end_orphans() -> Vec<String> {
    tree::end_orphans()
}

#[cfg(unix)]
fn shell(command: &std::ffi::OsStr) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    shell
}

/// Its quotes are its own.
#[cfg(windows)]
fn shell(command: &std::ffi::OsStr) -> Command {
    let mut shell = Command::new("cmd");
    let command = command.to_string_lossy();
    shell.arg("/D").arg("/S").arg("/C").raw_arg(format!("\"{command}\""));
    shell
}
