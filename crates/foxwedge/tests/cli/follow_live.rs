//! A `follow` that is under way: lines go in one by one, and what comes out is heard at once.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use crate::sandbox::Sandbox;

/// A program that is followed while it runs.
pub(crate) struct Live {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    err: Option<thread::JoinHandle<String>>,
    pub(crate) heard: String,
}

impl Live {
    pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Live {
        Live::of(sandbox.command(arguments))
    }

    pub(crate) fn of(mut command: Command) -> Live {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let err = thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        Live { child, stdin, lines, err: Some(err), heard: String::new() }
    }

    /// Sends lines in.
    pub(crate) fn say(&mut self, lines: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(lines.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Waits for a line that holds a word.
    pub(crate) fn hear(&mut self, word: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|_| panic!("no `{word}` in\n{}", self.heard));
            self.heard.push_str(&line);
            self.heard.push('\n');
            if line.contains(word) {
                return line;
            }
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().unwrap();
        assert!(sent.success(), "{name}");
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Nothing more goes in.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end, whatever still goes in or not. Exit code, stdout and stderr.
    pub(crate) fn end(mut self) -> (i32, String, String) {
        let status = self.child.wait().unwrap();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(60)) {
            self.heard.push_str(&line);
            self.heard.push('\n');
        }
        let err = self.err.take().unwrap().join().unwrap();
        assert!(!err.contains("panicked"), "{err}");
        (status.code().unwrap_or(-1), std::mem::take(&mut self.heard), err)
    }
}
