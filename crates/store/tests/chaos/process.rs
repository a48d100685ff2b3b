//! Other processes of this program: they play a part, say what they have done, line by line, and
//! are broken from outside.

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    process::{self, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
};

/// Which part a process plays.
const PART: &str = "FOXWEDGE_CHAOS_PART";

/// A process that plays a part. It is gone with this value.
pub(crate) struct Process {
    child: process::Child,
    lines: Receiver<String>,
    trouble: Option<JoinHandle<String>>,
}

impl Process {
    /// Starts one. `values` are what it can ask for by [`value`].
    pub(crate) fn start(part: &str, values: &[(&str, &str)]) -> Process {
        Process::under(&[], part, values)
    }

    /// Starts one under another program, such as a tracer.
    pub(crate) fn under(program: &[String], part: &str, values: &[(&str, &str)]) -> Process {
        let ourselves = env::current_exe().expect("this program").display().to_string();
        let mut words = program.iter().cloned().chain([ourselves]);
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words);
        command.args(["--exact", "a_process_that_was_given_a_part_plays_it", "--nocapture"]);
        command.env(PART, part).envs(values.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let output = child.stdout.take().expect("its output");
        let mut errors = child.stderr.take().expect("its errors");
        let (said, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            // A line that breaks off was not said.
            while output.read_line(&mut line).is_ok_and(|_| line.ends_with('\n')) {
                if said.send(line.trim_end().to_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let trouble = thread::spawn(move || {
            let mut told = Vec::new();
            let _ = errors.read_to_end(&mut told);
            String::from_utf8_lossy(&told).into_owned()
        });
        Process { child, lines, trouble: Some(trouble) }
    }

    /// The next thing it says; `None` once it is gone.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.lines.recv().ok()
    }

    /// Everything that it says, for somebody else to hear.
    pub(crate) fn lines(&mut self) -> Receiver<String> {
        std::mem::replace(&mut self.lines, mpsc::channel().1)
    }

    /// Tells it something.
    pub(crate) fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        // It may be gone; then it says nothing any more, either.
        let _ = input.write_all(format!("{line}\n").as_bytes());
    }

    /// Ends it, as the system does when memory is short: without a word.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Sends it a signal, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let mut command = Command::new("kill");
        command.arg(format!("-{name}")).arg(self.child.id().to_string());
        assert!(command.status().expect("kill").success(), "no such process");
    }

    /// Waits for its end; how it ended, and what it complained about.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("its end");
        let trouble = self.trouble.take().map(|trouble| trouble.join().expect("its errors"));
        (status, trouble.unwrap_or_default())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// The part that this process was given.
pub(crate) fn part() -> Option<String> {
    env::var(PART).ok()
}

/// Something that this process was given.
pub(crate) fn value(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is missing"))
}

/// A number that this process was given.
pub(crate) fn number(name: &str) -> u64 {
    value(name).parse().expect("a number")
}

/// Says something, whole and at once.
pub(crate) fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    // Whoever listened is gone; so shall we be.
    if output.write_all(format!("{line}\n").as_bytes()).and_then(|()| output.flush()).is_err() {
        process::exit(3);
    }
}

/// What we are told, line by line. When whoever started us is gone, so are we.
pub(crate) fn told() -> Receiver<String> {
    let (teller, lines) = mpsc::channel();
    // Behind the words with which the test program begins a line.
    say("");
    thread::spawn(move || {
        for line in std::io::stdin().lines() {
            match line {
                Ok(line) => drop(teller.send(line)),
                Err(_) => break,
            }
        }
        process::exit(2);
    });
    lines
}
