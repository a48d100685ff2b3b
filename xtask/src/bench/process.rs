//! Programs that are measured: started on their core, ended by their ids.

use std::{
    env,
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    thread,
};

/// Which core a program has, where cores can be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Core {
    /// Whoever asks and whoever answers share one.
    Sides,
    /// What is measured has the other for itself.
    Middle,
}

/// A program, on its core.
pub(super) fn pinned(program: &Path, core: Core) -> Command {
    let Some(taskset) = taskset() else { return Command::new(program) };
    let mut command = Command::new(taskset);
    let number = match core {
        Core::Sides => "0",
        Core::Middle => "1",
    };
    // It becomes the program, so that the process has one id.
    command.args(["-c", number]).arg(program);
    command
}

/// Whether programs have cores of their own.
pub(super) fn pins() -> bool {
    taskset().is_some()
}

fn taskset() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        found("taskset").filter(|_| cores > 1)
    };
    FOUND.get_or_init(find).as_deref()
}

/// A program that the machine may have.
pub(super) fn found(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let mut files = env::split_paths(&folders).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}

/// A program at work. Whoever lets go of it ends it.
pub(super) struct Running {
    child: Child,
    pub(super) address: String,
}

impl Running {
    /// A program that says where it listens.
    pub(super) fn telling(mut command: Command) -> Result<Running, String> {
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| format!("{:?}: {error}", command.get_program()))?;
        let mut address = String::new();
        let read = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut address));
        let mut running = Running { child, address: address.trim().to_owned() };
        match read {
            Some(Ok(_)) if !running.address.is_empty() => Ok(running),
            _ => {
                running.end();
                Err("a program did not say where it listens".to_owned())
            }
        }
    }

    /// A program that was told where to listen. What it says goes to a file.
    pub(super) fn told(
        mut command: Command,
        address: &str,
        said: &Path,
    ) -> Result<Running, String> {
        let said = File::create(said).map_err(|error| format!("{}: {error}", said.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let child = command.spawn();
        let child = child.map_err(|error| format!("{:?}: {error}", command.get_program()))?;
        Ok(Running { child, address: address.to_owned() })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it ended by itself.
    pub(super) fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn end(&mut self) {
        // What has ended by itself cannot be ended, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
