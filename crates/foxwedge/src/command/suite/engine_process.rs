//! An engine that is another program.

use std::{
    io::{self, Read, Write},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use foxwedge_local::output::HelpfulError;
use foxwedge_process::{LineBuffer, LineLimits, OutputLine, ProcessSignal, signal_group};
use foxwedge_suite::{EngineAnswer, EngineReply, SuiteEngine, SuiteQuestion};

use super::words::split_words;

/// Longest answer.
const MAX_LINE: usize = 64 << 20;
/// Ends of the engine in a row after which it is not started again.
const MAX_RESTARTS: usize = 20;
/// Size of the read buffer.
const READ_BYTES: usize = 1 << 16;

/// A program that answers questions on its stdin and stdout. If it ends or is too slow, the question
/// has failed, and the program is started again for the next one.
pub(super) struct EngineProcess {
    words: Vec<String>,
    timeout: Duration,
    running: Option<RunningEngine>,
    /// Failures in a row.
    restarts: usize,
}

/// A started engine. Both pipes have a thread, so that neither can block us.
struct RunningEngine {
    child: Child,
    questions: Sender<String>,
    answers: Receiver<OutputLine>,
}

impl EngineProcess {
    /// Starts an engine.
    pub(super) fn start(command: &str, timeout: Duration) -> anyhow::Result<EngineProcess> {
        let words = split_words(command).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| {
            HelpfulError::new("the command of the engine is empty, or a quote is not closed")
        })?;
        let mut engine = EngineProcess { words, timeout, running: None, restarts: 0 };
        engine.running = Some(engine.spawn().map_err(|error| {
            HelpfulError::new(format!("the engine cannot be started: {error}"))
        })?);
        Ok(engine)
    }

    fn spawn(&self) -> io::Result<RunningEngine> {
        let Some((program, arguments)) = self.words.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (questions, lines) = channel::<String>();
        if let Some(mut stdin) = child.stdin.take() {
            thread::spawn(move || {
                // An engine that is gone is noticed by its stdout.
                for line in lines {
                    let written = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
                    if written.is_err() {
                        break;
                    }
                }
            });
        }
        let (sender, answers) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || read_lines(stdout, &sender));
        }
        Ok(RunningEngine { child, questions, answers })
    }

    fn ask_running(&mut self, line: String) -> Result<OutputLine, String> {
        let running = match &mut self.running {
            Some(running) => running,
            None => {
                let started = self.spawn();
                let started =
                    started.map_err(|error| format!("the engine cannot be started: {error}"))?;
                self.running.insert(started)
            }
        };
        if running.questions.send(line).is_err() {
            return Err("the engine ended".to_owned());
        }
        running.answers.recv_timeout(self.timeout).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                format!("no answer within {} seconds", self.timeout.as_secs())
            }
            RecvTimeoutError::Disconnected => "the engine ended".to_owned(),
        })
    }

    /// Ends the engine and what it started.
    pub(super) fn end(&mut self) {
        let Some(RunningEngine { mut child, questions, answers }) = self.running.take() else {
            return;
        };
        drop((questions, answers));
        signal_group(child.id(), ProcessSignal::Kill);
        // A process that has ended cannot be killed; it is only collected.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl SuiteEngine for EngineProcess {
    fn ask(&mut self, question: &SuiteQuestion<'_>) -> EngineReply {
        let failed = |what: String| EngineReply::new(EngineAnswer::Failed(what));
        if self.restarts >= MAX_RESTARTS {
            return failed(format!("the engine ended {MAX_RESTARTS} times in a row"));
        }
        match self.ask_running(question.line()) {
            Ok(OutputLine::Whole(line)) => {
                self.restarts = 0;
                EngineReply::read(&String::from_utf8_lossy(&line), question)
            }
            Ok(OutputLine::TooLong { .. } | OutputLine::Endless) => {
                self.end();
                failed(format!("the answer is longer than {MAX_LINE} bytes"))
            }
            Err(what) => {
                self.end();
                self.restarts += 1;
                failed(what)
            }
        }
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Passes on the lines of an engine until it ends or is not listened to any more.
fn read_lines(mut stdout: impl Read, sender: &Sender<OutputLine>) {
    let mut lines = LineBuffer::new(LineLimits::new(MAX_LINE));
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = match stdout.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
            Ok(read) => read,
        };
        lines.push(buffer.get(..read).unwrap_or_default());
        while let Some(line) = lines.next_line() {
            if sender.send(line).is_err() {
                return;
            }
        }
        if read == 0 {
            return;
        }
    }
}
