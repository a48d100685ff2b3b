//! Where the sessions of one document are run: an empty machine.

use std::{
    cell::{Cell, RefCell},
    env,
    fs::{self, File},
    io::{self, BufRead as _, BufReader, PipeReader, Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant, SystemTime},
};

use super::volatile;
use crate::{acceptance::install::copy_files, workspace};

/// Where the user of the sessions lives, and works.
const HOME: &str = "home/ada";
const WORK: &str = "home/ada/work";
/// A script of a document's fixtures that is run first.
const PREPARE: &str = "prepare.sh";
/// The address at which the manual's servers listen, by their command.
const SERVERS: [(&str, u16); 2] = [("serve", 4177), ("scripted", 4178)];
/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(60);

/// The folder in which the commands of a document are run. Dropped, it is removed, and its servers end.
pub(super) struct TranscriptSandbox {
    folder: PathBuf,
    /// The locale of the reader.
    locale: &'static str,
    variables: RefCell<Vec<(String, String)>>,
    servers: RefCell<Vec<RunningServer>>,
    /// Files made so far.
    made: Cell<u64>,
}

/// A server that was started, and the address that the manual shows for it.
struct RunningServer {
    child: Child,
    shown: String,
    real: String,
}

impl Drop for TranscriptSandbox {
    fn drop(&mut self) {
        for server in self.servers.get_mut() {
            let _ = server.child.kill();
            let _ = server.child.wait();
        }
        // What is left in the folder for temporary files does not matter.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl TranscriptSandbox {
    pub(super) fn new(binary: &Path, document: &str) -> io::Result<TranscriptSandbox> {
        let folder = env::temp_dir().join(format!("foxwedge-transcript-{}", process::id()));
        let locale = if document.ends_with(".zh-CN.md") { "zh_CN.UTF-8" } else { "" };
        let sandbox = TranscriptSandbox {
            folder,
            locale,
            variables: RefCell::default(),
            servers: RefCell::default(),
            made: Cell::new(0),
        };
        fs::create_dir_all(sandbox.folder.join(WORK))?;
        fs::create_dir_all(sandbox.folder.join("bin"))?;
        let name = binary.file_name().unwrap_or_default();
        let copy = sandbox.folder.join("bin").join(name);
        #[cfg(unix)]
        std::os::unix::fs::symlink(binary, copy)?;
        #[cfg(not(unix))]
        fs::copy(binary, copy)?;
        let page = document.trim_end_matches(".md");
        let fixtures = workspace::root().join("fixtures/manual").join(page);
        if fixtures.is_dir() {
            copy_files(&fixtures, &sandbox.folder.join(WORK), &|_| true)?;
        }
        if fixtures.join(PREPARE).exists() {
            let mut command = sandbox.shell(&format!("set -eu; . ./{PREPARE}"));
            let output = command.stdin(Stdio::null()).output()?;
            if !output.status.success() {
                let printed = String::from_utf8_lossy(&output.stderr);
                return Err(io::Error::other(format!("{PREPARE}: {}\n{printed}", output.status)));
            }
        }
        Ok(sandbox)
    }

    /// A time of some seconds ago. Each file is newer than the one before it, however fast they are made.
    fn next_time(&self) -> SystemTime {
        let made = self.made.get();
        self.made.set(made + 1);
        SystemTime::now() - Duration::from_secs(30) + Duration::from_secs(made)
    }

    /// Runs one command; `shown` is what the document shows as its output.
    pub(super) fn run(&self, command: &str, shown: &str) -> io::Result<String> {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["cat", file] => {
                self.make_file(file, shown)?;
                Ok(shown.to_owned())
            }
            ["export", assignment] => {
                let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
                self.variables.borrow_mut().push((name.to_owned(), value.to_owned()));
                Ok(String::new())
            }
            ["foxwedge", name, rest @ ..] => match server_port(name, rest) {
                Some(port) => self.start(command, port, shown),
                None => self.print(command),
            },
            _ => Err(io::Error::other(format!(
                "`{command}` is none of `cat`, `export` and `foxwedge`"
            ))),
        }
    }

    fn make_file(&self, name: &str, text: &str) -> io::Result<()> {
        let path = match name.strip_prefix("~/") {
            Some(below) => self.folder.join(HOME).join(below),
            None => self.folder.join(WORK).join(name),
        };
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut made = File::create(path)?;
        writeln!(made, "{}", text.trim_end())?;
        made.set_modified(self.next_time())
    }

    /// A shell in the folder that runs a command.
    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.folder.join(WORK)).env_clear();
        let mut path = self.folder.join("bin").into_os_string();
        if let Some(system) = env::var_os("PATH") {
            path.push(":");
            path.push(system);
        }
        shell.env("PATH", path).env("HOME", self.folder.join(HOME)).env("LANG", self.locale);
        shell.envs(self.variables.borrow().iter().map(|(name, value)| (name, value)));
        shell
    }

    /// What a command prints, on both streams, in order.
    fn print(&self, command: &str) -> io::Result<String> {
        let (mut reader, child) = spawn(self.shell(&self.with_real_addresses(command)))?;
        let mut printed = String::new();
        reader.read_to_string(&mut printed)?;
        let mut child = child;
        child.wait()?;
        Ok(self.as_shown(&printed))
    }

    /// Starts a server at a free port, and returns as many lines as the document shows of it.
    fn start(&self, command: &str, port: u16, shown: &str) -> io::Result<String> {
        let real = format!("127.0.0.1:{}", free_port()?);
        let (reader, child) = spawn(self.shell(&format!("exec {command} --listen {real}")))?;
        let shown_address = format!("127.0.0.1:{port}");
        self.servers.borrow_mut().push(RunningServer { child, shown: shown_address, real });
        let count = shown.trim_end().lines().count().max(1);
        let printed = first_lines(&lines_of(reader), count)?;
        Ok(self.as_shown(&printed))
    }

    fn with_real_addresses(&self, text: &str) -> String {
        let servers = self.servers.borrow();
        servers
            .iter()
            .fold(text.to_owned(), |text, server| text.replace(&server.shown, &server.real))
    }

    /// What was printed, without what belongs to this machine.
    fn as_shown(&self, printed: &str) -> String {
        let printed = printed.replace(&self.folder.display().to_string(), "");
        let servers = self.servers.borrow();
        let printed =
            servers.iter().fold(printed, |text, server| text.replace(&server.real, &server.shown));
        volatile::without_numbers(&printed)
    }
}

/// The port that the manual shows for a server; `None` for a command that ends by itself.
fn server_port(command: &str, arguments: &[&str]) -> Option<u16> {
    const END: [&str; 3] = ["--check-config", "--print-config", "--help"];
    let ends = arguments.iter().any(|argument| END.contains(argument));
    SERVERS.iter().find(|(name, _)| *name == command && !ends).map(|(_, port)| *port)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Starts a command with both streams in one pipe.
fn spawn(mut command: Command) -> io::Result<(PipeReader, Child)> {
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn()?;
    // The command is dropped here: it holds the writing end, and the reader would wait for ever.
    Ok((reader, child))
}

/// The lines of a stream as they come. The thread ends with the stream.
fn lines_of(reader: PipeReader) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            // Nobody waits for more than the first lines; the rest is read so that the server goes on.
            let _ = sender.send(line);
        }
    });
    lines
}

/// The first lines of a stream.
fn first_lines(lines: &Receiver<String>, count: usize) -> io::Result<String> {
    let end = Instant::now() + START;
    let mut text = String::new();
    for _ in 0..count {
        let left = end.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).map_err(|_| {
            io::Error::other(format!("the server did not print {count} lines in time:\n{text}"))
        })?;
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_from_commands_that_end() {
        let table: [(&[&str], Option<u16>); 5] = [
            (&["serve"], Some(4177)),
            (&["serve", "--demo"], Some(4177)),
            (&["serve", "--check-config"], None),
            (&["scripted"], Some(4178)),
            (&["list"], None),
        ];
        for (words, port) in table {
            assert_eq!(server_port(words[0], &words[1..]), port, "{words:?}");
        }
    }
}
