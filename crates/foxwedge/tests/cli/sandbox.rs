//! A folder of its own for every test, and the binary run inside it.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_foxwedge"));
        command.args(arguments).current_dir(self.folder.join("work"));
        command.env("FOXWEDGE_STATE_DIR", self.folder.join("state"));
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "FOXWEDGE_OUTPUT_FORMAT", "FOXWEDGE_LANG"] {
            command.env_remove(name);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_vec();
        // A program that does not read its input is no reason to fail.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let ran = Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!ran.err.contains("panicked"), "{arguments:?}: {}", ran.err);
        assert!((0..=2).contains(&ran.code), "{arguments:?}: exit {}: {}", ran.code, ran.err);
        ran
    }
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
