//! A folder of its own for every test, and the binary at work in it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Nothing takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Variables that would change what is tried.
const FOREIGN: [&str; 26] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FOXWEDGE_CONFIG",
    "FOXWEDGE_UPSTREAM",
    "FOXWEDGE_UPSTREAM_KEY",
    "FOXWEDGE_TOKEN",
    "FOXWEDGE_STORE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "NO_COLOR",
    "CLICOLOR_FORCE",
    "LC_ALL",
    "LC_CTYPE",
    "LANG",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
];

static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A folder that goes away with the test.
pub(crate) struct Stage {
    folder: PathBuf,
}

/// What a program said.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("foxwedge-chat-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("work")).unwrap();
        fs::create_dir_all(folder.join("home")).unwrap();
        Stage { folder: fs::canonicalize(folder).unwrap() }
    }

    /// A file in the folder that tools work in.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join("work").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.join("runs.db")
    }

    /// The binary, not yet at work.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foxwedge"));
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.args(arguments).current_dir(self.folder.join("work"));
        command.env("FOXWEDGE_STATE_DIR", self.folder.join("state"));
        command.env("HOME", self.folder.join("home")).env("FOXWEDGE_STORE", self.store());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Ran {
        finish(self.command(arguments), input)
    }

    /// Runs `foxwedge chat` to its end.
    pub(crate) fn chat(&self, arguments: &[&str], input: &str) -> Ran {
        self.run(&[&["chat"], arguments].concat(), input)
    }

    /// The runs that are kept, the newest first: how each ended, or `open`.
    pub(crate) fn outcomes(&self) -> Vec<String> {
        if !self.store().exists() {
            return Vec::new();
        }
        let ran = self.run(&["runs", "--json"], "");
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let runs = document["runs"].as_array().unwrap().iter();
        runs.map(|run| run["outcome"].as_str().unwrap_or("open").to_owned()).collect()
    }

    /// The ids of the sessions that are kept, the newest first.
    pub(crate) fn sessions(&self) -> Vec<String> {
        let ran = self.chat(&["--list"], "");
        assert_eq!(ran.code, 0, "{ran:?}");
        let words = ran.out.lines().filter_map(|line| line.split_whitespace().next());
        words.map(|short| format!("chat-{short}")).collect()
    }

    /// The conversation of the newest session of the folder, as `/export json` tells it.
    pub(crate) fn history(&self) -> Value {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("history-{number}.json");
        let ran = self.chat(&["--continue"], &format!("/export {name}\n"));
        assert_eq!(ran.code, 0, "{ran:?}");
        let text = fs::read_to_string(self.path(&name)).unwrap();
        fs::remove_file(self.path(&name)).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Starts `foxwedge chat`, and does not wait for it.
    pub(crate) fn live(&self, arguments: &[&str]) -> Live {
        Live::of(self.command(&[&["chat"], arguments].concat()))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn finish(mut command: Command, input: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.as_bytes().to_vec();
    // A program that does not read its input is no reason to fail.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let ran = Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!ran.err.contains("panicked"), "{ran:?}");
    ran
}

/// A program at work.
pub(crate) struct Live {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    out: Option<thread::JoinHandle<String>>,
    err: Receiver<String>,
    told: String,
}

impl Live {
    pub(crate) fn of(mut command: Command) -> Live {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let mut stdout = child.stdout.take().unwrap();
        let out = thread::spawn(move || {
            let mut text = String::new();
            let _ = stdout.read_to_string(&mut text);
            text
        });
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, err) = mpsc::channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Live { child, stdin, out: Some(out), err, told: String::new() }
    }

    /// Types a line.
    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Types nothing any more.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits for a line on stderr.
    pub(crate) fn hear(&mut self, word: &str) {
        loop {
            let line = self.err.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no `{word}` in\n{}", self.told));
            self.told.push_str(&line);
            self.told.push('\n');
            if line.contains(word) {
                return;
            }
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ran {
        let status = self.child.wait().unwrap();
        let out = self.out.take().unwrap().join().unwrap();
        while let Ok(line) = self.err.recv_timeout(PATIENCE) {
            self.told.push_str(&line);
            self.told.push('\n');
        }
        let err = std::mem::take(&mut self.told);
        assert!(!err.contains("panicked"), "{err}");
        Ran { code: status.code().unwrap_or(-1), out, err }
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for the number of a process that a command wrote to a file.
pub(crate) fn number(path: &Path) -> u32 {
    let mut number = None;
    until("a number in a file", || {
        number = fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
        number.is_some()
    });
    number.unwrap()
}

/// Whether a process is at work; one that is dead and not yet buried is not.
pub(crate) fn lives(id: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat")) else { return false };
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    !matches!(state, Some('Z' | 'X') | None)
}
