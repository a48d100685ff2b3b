//! Programs that are not ours, started and ended by their ids.

use std::{
    fs::{self, File},
    io,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a turn may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked whether something has happened.
const PAUSE: Duration = Duration::from_millis(20);

/// A program and everything it started. Whoever lets go of it ends it.
pub(super) struct Running {
    child: Child,
    done: bool,
}

/// How a program ended.
pub(super) struct Ended {
    /// Its exit code; none if it was killed.
    pub(super) code: Option<i32>,
    /// What it printed.
    pub(super) printed: String,
    /// What it complained about.
    pub(super) complained: String,
}

impl Running {
    /// Starts a program in a process group of its own; what it prints goes to files.
    pub(super) fn start(mut command: Command, folder: &Path) -> io::Result<Running> {
        command.stdin(Stdio::null());
        command.stdout(File::create(folder.join("stdout"))?);
        command.stderr(File::create(folder.join("stderr"))?);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(Running { child: command.spawn()?, done: false })
    }

    /// Waits until something is so, or the program ends, or the time is up.
    pub(super) fn wait_for(&mut self, mut is_so: impl FnMut() -> bool) -> io::Result<bool> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if is_so() {
                return Ok(true);
            }
            if self.child.try_wait()?.is_some() {
                self.done = true;
                return Ok(is_so());
            }
            thread::sleep(PAUSE);
        }
        Ok(false)
    }

    /// Ends the program without a warning, with everything it started.
    pub(super) fn kill(&mut self) {
        if self.done {
            return;
        }
        self.done = true;
        // Agents start tools in groups of their own, which outlive the group of the agent.
        let mut targets = vec![format!("-{}", self.child.id())];
        targets.extend(descendants(self.child.id()).iter().map(u32::to_string));
        let mut command = Command::new("sh");
        command.args(["-c", "kill -s KILL -- \"$@\" 2>/dev/null", "sh"]).args(targets);
        // Whatever has ended by itself in between cannot be killed, and need not be.
        let _ = command.status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a program to its end, or kills it when the time is up.
pub(super) fn run(command: Command, folder: &Path) -> io::Result<Ended> {
    let mut running = Running::start(command, folder)?;
    let mut code = None;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = running.child.try_wait()? {
            running.done = true;
            code = status.code();
            break;
        }
        thread::sleep(PAUSE);
    }
    running.kill();
    let text = |name: &str| -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(folder.join(name))?).into_owned())
    };
    Ok(Ended { code, printed: text("stdout")?, complained: text("stderr")? })
}

/// Everything that a process started, and what that started. Only Linux tells; elsewhere the
/// group has to do.
fn descendants(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((id, parent(&stat)?))
        })
        .collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(&elder) = family.get(next) {
        next += 1;
        let children = parents.iter().filter(|(_, parent)| *parent == elder).map(|(id, _)| *id);
        family.extend(children.filter(|child| *child != root).collect::<Vec<_>>());
    }
    family.remove(0);
    family
}

/// The parent in the line that Linux keeps for a process: the second field behind the name.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_behind_any_name() {
        assert_eq!(parent("31 (sh) S 7 31 31 0 -1"), Some(7));
        assert_eq!(parent("31 (a) b (c) R 9 31 31 0 -1"), Some(9));
        assert_eq!(parent("31"), None);
    }
}
