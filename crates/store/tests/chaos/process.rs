//! Other processes of this program: they play a part, report line by line what they have done, and
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

/// A process that plays a part. It is killed on drop.
pub(crate) struct Process {
    child: process::Child,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
}

impl Process {
    /// Starts a process. It reads `values` with [`value`].
    pub(crate) fn start(part: &str, values: &[(&str, &str)]) -> Process {
        Process::under(&[], part, values)
    }

    /// Starts a process under another program, such as a tracer.
    pub(crate) fn under(program: &[String], part: &str, values: &[(&str, &str)]) -> Process {
        let program_path = env::current_exe().expect("this program").display().to_string();
        let mut arguments = program.iter().cloned().chain([program_path]);
        let mut command = Command::new(arguments.next().expect("a program"));
        command.args(arguments);
        command.args(["--exact", "a_process_that_was_given_a_part_plays_it", "--nocapture"]);
        command.env(PART, part).envs(values.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let output = child.stdout.take().expect("its output");
        let mut error_output = child.stderr.take().expect("its errors");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            // An incomplete line does not count.
            while output.read_line(&mut line).is_ok_and(|_| line.ends_with('\n')) {
                // The test program reports a part that takes long, in the middle of its lines.
                let is_notice = line.trim_end().ends_with("has been running for over 60 seconds");
                if !is_notice && sender.send(line.trim_end().to_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let errors = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = error_output.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Process { child, lines, errors: Some(errors) }
    }

    /// The next line of its output; `None` once it is gone.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.lines.recv().ok()
    }

    /// Takes all its output lines.
    pub(crate) fn lines(&mut self) -> Receiver<String> {
        std::mem::replace(&mut self.lines, mpsc::channel().1)
    }

    /// Sends it a line.
    pub(crate) fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        // It may be gone; then it writes nothing any more, either.
        let _ = input.write_all(format!("{line}\n").as_bytes());
    }

    /// Kills it, as the system does when memory is short: without notice.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Sends it a signal, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let mut command = Command::new("kill");
        command.arg(format!("-{name}")).arg(self.child.id().to_string());
        assert!(command.status().expect("kill").success(), "no such process");
    }

    /// Waits for its end. Returns its status and its errors.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("its end");
        let errors = self.errors.take().map(|errors| errors.join().expect("its errors"));
        (status, errors.unwrap_or_default())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// The part of this process.
pub(crate) fn part() -> Option<String> {
    env::var(PART).ok()
}

/// A value that this process was given.
pub(crate) fn value(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is missing"))
}

/// A number that this process was given.
pub(crate) fn number(name: &str) -> u64 {
    value(name).parse().expect("a number")
}

/// Prints a line at once.
pub(crate) fn print_line(line: &str) {
    let mut output = std::io::stdout().lock();
    // The reader is gone, so this process ends, too.
    if output.write_all(format!("{line}\n").as_bytes()).and_then(|()| output.flush()).is_err() {
        process::exit(3);
    }
}

/// The lines that this process receives. It ends when its parent is gone.
pub(crate) fn input_lines() -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    // After the text with which the test program starts a line.
    print_line("");
    thread::spawn(move || {
        for line in std::io::stdin().lines() {
            match line {
                Ok(line) => drop(sender.send(line)),
                Err(_) => break,
            }
        }
        process::exit(2);
    });
    lines
}
