//! Starts and stops processes. Only our own are ended, by their ids; every wait is bounded and says
//! what it waited for.

use std::{
    env,
    fs::{self, File},
    io::{self, BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How long anything may take, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A process of ours. Dropping it kills it.
pub(crate) struct OwnedProcess {
    child: Child,
    /// Whether everything that it started goes with it.
    is_tree: bool,
    ended: bool,
}

impl OwnedProcess {
    /// Starts a command. Its output goes where the command says.
    pub(crate) fn start(command: &mut Command) -> Result<OwnedProcess, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        let spawned = command.stdin(Stdio::null()).spawn();
        let child = spawned.map_err(|error| format!("{program}: {error}"))?;
        Ok(OwnedProcess { child, is_tree: false, ended: false })
    }

    /// Starts a command whose descendants are killed with it. Its output goes to the files `stdout`
    /// and `stderr` in a folder.
    pub(crate) fn start_tree(command: &mut Command, folder: &Path) -> Result<OwnedProcess, String> {
        let file = |name: &str| {
            let path = folder.join(name);
            File::create(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        command.stdout(file("stdout")?).stderr(file("stderr")?);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut process = OwnedProcess::start(command)?;
        process.is_tree = true;
        Ok(process)
    }

    /// Starts a command that prints where it listens as its first line; the process and that line.
    pub(crate) fn start_listening(command: &mut Command) -> Result<(OwnedProcess, String), String> {
        let mut process = OwnedProcess::start(command.stdout(Stdio::piped()))?;
        let mut line = String::new();
        if let Some(stdout) = process.child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        match line.trim() {
            "" => Err(format!("{:?} did not print where it listens", command.get_program())),
            address => Ok((process, address.to_owned())),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The status, once it has ended.
    pub(crate) fn status(&mut self) -> Result<Option<ExitStatus>, String> {
        let status = self.child.try_wait().map_err(|error| error.to_string())?;
        self.ended |= status.is_some();
        Ok(status)
    }

    /// Asks it to end, and waits for it. An exit code other than 0 is an error.
    pub(crate) fn stop(&mut self, what: &str) -> Result<(), String> {
        if !cfg!(unix) {
            // There is no signal to ask with; it is killed.
            return Ok(());
        }
        signal(self.id(), "TERM");
        let status = wait_for(&format!("{what} ends"), || self.status())?;
        if status.success() { Ok(()) } else { Err(format!("{what} ended with {status}")) }
    }

    /// Ends it without a warning; with everything that it started, if it is a tree.
    pub(crate) fn kill(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        if self.is_tree {
            // Agents start tools in groups of their own, which outlive the group of the agent.
            let mut targets = vec![format!("-{}", self.id())];
            targets.extend(descendants(self.id()).iter().map(u32::to_string));
            let mut command = Command::new("sh");
            command.args(["-c", "kill -s KILL -- \"$@\" 2>/dev/null", "sh"]).args(targets);
            // What has ended by itself in between cannot be killed, and need not be.
            let _ = command.status();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for OwnedProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until there is a value; an error says what never happened.
pub(crate) fn wait_for<T>(
    what: &str,
    mut look: impl FnMut() -> Result<Option<T>, String>,
) -> Result<T, String> {
    let start = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if start.elapsed() > PATIENCE {
            return Err(format!("waited {} s until {what}", PATIENCE.as_secs()));
        }
        // Short waits are measured; long ones must not keep a core busy.
        let pause = start.elapsed() / 20;
        thread::sleep(pause.clamp(Duration::from_micros(500), Duration::from_millis(20)));
    }
}

/// Waits until a condition holds; an error says what never happened.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) -> Result<(), String> {
    wait_for(what, || Ok(holds().then_some(())))
}

/// Runs a command to its end; what it printed, or all of its output if it fails.
pub(crate) fn run_to_end(what: &str, command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{what}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!("{what}\n{}\n{}", text(&output.stdout), text(&output.stderr)))
}

/// A port that was free a moment ago.
pub(crate) fn free_address() -> Result<String, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|found| found.local_addr());
    listener.map(|address| address.to_string()).map_err(|error| error.to_string())
}

/// Sends a signal to a process of ours, or to one that it started.
pub(crate) fn signal(process: u32, name: &str) {
    let mut command = Command::new("kill");
    command.args([&format!("-{name}"), &process.to_string()]).stderr(Stdio::null());
    // What has ended by itself in between cannot be told anything, and need not be.
    let _ = command.status();
}

/// Whether a process is there and has not ended. Only Linux says so.
pub(crate) fn is_alive(process: u32) -> bool {
    parent(process).is_some()
}

/// The processes that one has started and that have not ended.
pub(crate) fn children(of: u32) -> Vec<u32> {
    processes().filter(|process| parent(*process) == Some(of)).collect()
}

/// Everything that a process started, and what that started.
fn descendants(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = processes().filter_map(|id| Some((id, parent(id)?))).collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(&elder) = family.get(next) {
        next += 1;
        let children = parents.iter().filter(|(id, parent)| *parent == elder && *id != root);
        family.extend(children.map(|(id, _)| *id));
    }
    family.remove(0);
    family
}

fn processes() -> impl Iterator<Item = u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(process: u32) -> Option<u32> {
    parent_in(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// The parent in the line that Linux keeps for a process; nothing if the process has ended.
fn parent_in(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let runs = fields.next().is_some_and(|state| !["Z", "X"].contains(&state));
    fields.next()?.parse().ok().filter(|_| runs)
}

/// A new folder for temporary files. Dropping it removes it, unless it is kept.
pub(crate) struct TemporaryFolder {
    pub(crate) path: PathBuf,
    pub(crate) is_kept: bool,
}

impl TemporaryFolder {
    /// Creates a folder whose name starts so, with these folders in it.
    pub(crate) fn new(name: &str, inner: &[&str]) -> Result<TemporaryFolder, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("foxwedge-{name}-{}-{next}", process::id()));
        let made = || -> io::Result<PathBuf> {
            fs::create_dir_all(&path)?;
            inner.iter().try_for_each(|name| fs::create_dir_all(path.join(name)))?;
            path.canonicalize()
        };
        let path = made().map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(TemporaryFolder { path, is_kept: false })
    }

    /// A folder in it, created.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.path.join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What is left among the temporary files does no harm.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_behind_any_name() {
        assert_eq!(parent_in("31 (sh) S 7 31 31 0 -1"), Some(7));
        assert_eq!(parent_in("31 (a) b (c) R 9 31 31 0 -1"), Some(9));
        assert_eq!(parent_in("31 (sh) Z 7 31 31 0 -1"), None);
        assert_eq!(parent_in("31"), None);
    }
}
