//! A folder of its own for every test, and the binary run inside it.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, SystemTime},
};

/// A folder that goes away with the test.
pub(crate) struct Sandbox {
    folder: PathBuf,
}

/// What a run said.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Variables that lead to the sessions of agents.
const AGENTS: [&str; 12] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "CLINE_DIR",
    "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR",
    "COPILOT_HOME",
    "KIMI_CODE_HOME",
    "CLINE_DATA_DIR",
    "XDG_CONFIG_HOME",
    "APPDATA",
    "USERPROFILE",
];

/// Variables that change what is said, or where things are kept.
const SETTINGS: [&str; 10] = [
    "NO_COLOR",
    "CLICOLOR_FORCE",
    "FOXWEDGE_OUTPUT_FORMAT",
    "FOXWEDGE_LANG",
    "FOXWEDGE_STORE",
    "XDG_DATA_HOME",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LANG",
];

static NUMBER: AtomicUsize = AtomicUsize::new(0);

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("foxwedge-cli-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("work")).unwrap();
        let folder = fs::canonicalize(folder).unwrap();
        Sandbox { folder }
    }

    /// A sandbox with one file in it.
    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.write(name, content);
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join("work").join(name)
    }

    /// Where backups go.
    pub(crate) fn backups(&self) -> PathBuf {
        self.folder.join("state/backups")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a file in the user's folder, as if so many hours ago.
    pub(crate) fn keep(&self, name: &str, hours: u64, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let then = SystemTime::now() - Duration::from_secs(hours * 3600 + 60);
        fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        path
    }

    /// The user's folder, where agents keep their sessions.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of all files beside the documents, to see that nothing was left behind.
    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.folder.join("work"))
    }

    /// Runs the binary with nothing on stdin.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.pipe(arguments, "")
    }

    /// Runs the binary with this on stdin.
    pub(crate) fn pipe(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped());
        finish(command, input.as_ref(), usize::MAX)
    }

    /// Runs the binary with a variable set.
    pub(crate) fn run_with(&self, name: &str, value: &str, arguments: &[&str]) -> Ran {
        let mut command = self.command(arguments);
        command.env(name, value).stdout(Stdio::piped());
        finish(command, b"", usize::MAX)
    }

    /// Runs the binary with a file on stdin.
    pub(crate) fn run_from(&self, file: fs::File, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).stdin(file).output().unwrap())
    }

    /// Runs the binary with a stdout that is closed already.
    pub(crate) fn unheard(&self, arguments: &[&str], input: &str) -> Ran {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = self.command(arguments);
        command.stdout(writer);
        finish(command, input.as_bytes(), 0)
    }

    /// Runs the binary, reads the beginning of what it says, and goes away.
    pub(crate) fn glanced(&self, arguments: &[&str]) -> Ran {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped());
        finish(command, b"", 1)
    }

    /// The binary, not yet running.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foxwedge"));
        command.args(arguments).current_dir(self.folder.join("work"));
        command.env("FOXWEDGE_STATE_DIR", self.folder.join("state"));
        command.env("HOME", self.home());
        for name in AGENTS {
            command.env_remove(name);
        }
        for name in SETTINGS {
            command.env_remove(name);
        }
        command
    }
}

/// Runs a command to its end; reads so much of its stdout.
fn finish(mut command: Command, input: &[u8], most: usize) -> Ran {
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that does not read its input is no reason to fail.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let mut heard = Vec::new();
    if most < usize::MAX
        && let Some(stdout) = child.stdout.take()
    {
        stdout.take(most as u64).read_to_end(&mut heard).unwrap();
    }
    let mut output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.stdout.splice(..0, heard);
    ran(output)
}

fn ran(output: Output) -> Ran {
    let ran = Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!ran.err.contains("panicked"), "{}", ran.all());
    assert!((0..=2).contains(&ran.code), "{}", ran.all());
    ran
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Ran {
    /// Exit code, stdout and stderr as one text.
    pub(crate) fn all(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.out, self.err)
    }
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
