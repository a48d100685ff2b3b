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
use self::{exit::Exit, pipes::Pipes, tree::Tree};
use crate::{Output, Stage, Stop, random::digits};

/// How long is waited for more output behind the end of a command: something that it left behind
/// may keep its output open.
const REST: Duration = Duration::from_millis(500);
/// How long is waited for those that are about to end by themselves.
const LEAVING: Duration = Duration::from_millis(100);
/// How long is waited for one that was killed. A process in the hands of the kernel may take
/// longer, and is not waited for.
const KILLED: Duration = Duration::from_secs(5);

/// The variable that marks everything a command starts.
pub(crate) const MARK: &str = "FOXWEDGE_CALL";

/// A command at work. Dropping it kills it, with everything that it started, before the drop is
/// over.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pipes: Pipes,
    exit: Exit,
    tree: Tree,
    /// Nothing of it is left.
    over: bool,
}

/// Why a command is not waited for any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// It ended by itself.
    Ended,
    /// It ended, and somebody had asked for it.
    Asked,
    /// Somebody wants its end at once.
    Forced,
    /// It took too long.
    Late,
}

/// What became of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Finished {
    /// How it ended; nothing, if nobody knows.
    pub(crate) status: Option<ExitStatus>,
    /// What it had left running, by name.
    pub(crate) left: Vec<String>,
}

impl Process {
    /// Starts a command of the shell in a folder. It sees these variables, and no others. A launcher
    /// stands between us and the command.
    pub(crate) fn start(
        command: &str,
        folder: &Path,
        variables: Vec<(std::ffi::OsString, std::ffi::OsString)>,
        launcher: Option<&Path>,
    ) -> io::Result<Process> {
        let mark = format!("{}-{}", tree::maker(), digits()?);
        let mut shell = match launcher {
            // One that was removed meanwhile is done without.
            Some(launcher) if cfg!(unix) && launcher.is_file() => {
                launch::through(launcher, command)
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
        let (mut child, pipes) = Pipes::spawn(shell)?;
        let number = child.id().ok_or_else(|| io::Error::other("it has no number"))?;
        let tree = Tree::new(number, mark);
        match pipes {
            Ok(pipes) => Ok(Process { child, pipes, exit: Exit::of(number), tree, over: false }),
            Err(error) => {
                tree.kill();
                let _ = child.start_kill();
                Err(error)
            }
        }
    }

    /// Waits for its end, and takes what it says.
    pub(crate) async fn watch(&mut self, output: &Output, stop: &Stop, limit: Duration) -> End {
        let (mut asked, mut forced) = (stop.clone(), stop.clone());
        let now = Instant::now();
        let until = now.checked_add(limit).unwrap_or(now + KILLED);
        let (mut end, mut ended, mut closed) = (End::Ended, None, false);
        loop {
            let Process { child, pipes, exit, tree, over: _ } = self;
            if ended.is_some() && closed {
                return end;
            }
            tokio::select! {
                biased;
                () = forced.reached(Stage::Forced) => return End::Forced,
                () = exit.ended(child), if ended.is_none() => {
                    ended = Some(Instant::now() + REST);
                }
                () = asked.reached(Stage::Asked), if end == End::Ended && ended.is_none() => {
                    end = End::Asked;
                    tree.ask();
                }
                () = sleep_until(until), if ended.is_none() => return End::Late,
                () = sleep_until(ended.unwrap_or(until)), if ended.is_some() => return end,
                piece = pipes.read(), if !closed => match piece {
                    Some(piece) => output.push(piece),
                    None => closed = true,
                },
            }
        }
    }

    /// Ends it and everything that it started, and takes the last of what it said.
    pub(crate) async fn finish(mut self, end: End, output: &Output) -> Finished {
        // While the command is not taken note of as ended, nobody else gets its number.
        let tree = self.tree.clone();
        let kill = move || {
            match end {
                // Who has closed its output may be on its way out.
                End::Ended | End::Asked => tree.wait(LEAVING),
                End::Forced | End::Late => {}
            }
            tree.kill()
        };
        let left = match spawn_blocking(kill).await {
            Ok(left) => left,
            // The runtime is about to end.
            Err(_) => self.tree.kill(),
        };
        let _ = self.child.start_kill();
        let status = match timeout(KILLED, self.child.wait()).await {
            Ok(Ok(status)) => Some(status),
            Ok(Err(_)) | Err(_) => None,
        };
        self.over = status.is_some();
        let rest = async {
            while let Some(piece) = self.pipes.read().await {
                output.push(piece);
            }
        };
        let _ = timeout(REST, rest).await;
        Finished { status, left }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.over {
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
