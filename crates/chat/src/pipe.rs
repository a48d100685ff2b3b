//! A conversation over a pipe: every line of stdin is a prompt or a command. Replies go to stdout,
//! everything else to stderr.

use std::process::ExitCode;

use foxwedge_agent_loop::tool_loop::LoopEvent;

use super::{
    ChatAgent, input,
    interruptible::{
        ChatStopRequest, InterruptibleOutcome, exit_code, finish_output, run_interruptible,
    },
    line_printer::{ChatLinePrinter, ChatOutput, ChatVerbosity, ReplyDestination},
    output_thread::ChatOutputThread,
    slash::{self, ChatInputLine},
    terminal::{CommandFollowUp, CommandReply},
};
use foxwedge_local::{
    language::localize,
    output::{self, DIM, paint},
    runs::draw::SignSet,
    signals::ProcessSignals,
};

/// What to do after a line.
enum PipeStep {
    /// Read the next line.
    ReadNext,
    /// End with this exit code.
    Exit(ExitCode),
}

/// Runs prompts until stdin ends or a signal arrives.
pub(crate) async fn run(
    mut chat: ChatAgent,
    first: Option<String>,
    reader: ReplyDestination,
    verbosity: ChatVerbosity,
    mut signals: ProcessSignals,
) -> anyhow::Result<ExitCode> {
    let controller = chat.run_controller();
    let mut output = ChatOutputThread::new(move || {
        controller.interrupt();
    });
    let mut pipe = ChatPipe {
        lines: ChatLinePrinter::new(SignSet::here(), reader, verbosity),
        verbosity,
        succeeded: true,
    };
    let code = pipe.run_all(&mut chat, first, &mut signals, &output).await;
    if verbosity == ChatVerbosity::All
        && let Some(command) = chat.resume_command()
    {
        output.write_stderr(format!(
            "{}\n",
            paint(DIM, localize(format!("resume with `{command}`")))
        ));
    }
    finish_output(&mut output, &mut signals).await?;
    code
}

struct ChatPipe {
    lines: ChatLinePrinter,
    verbosity: ChatVerbosity,
    /// Whether every run and command succeeded so far.
    succeeded: bool,
}

impl ChatPipe {
    async fn run_all(
        &mut self,
        chat: &mut ChatAgent,
        first: Option<String>,
        signals: &mut ProcessSignals,
        output: &ChatOutputThread,
    ) -> anyhow::Result<ExitCode> {
        let mut lines = input::read_lines();
        let mut first = first;
        loop {
            let line = match first.take() {
                Some(first) => first,
                None => tokio::select! {
                    line = lines.recv() => match line {
                        Some(line) => line?,
                        None => break,
                    },
                    () = signals.next() => return Ok(ExitCode::from(130)),
                },
            };
            match self.run_line(chat, &line, signals, output).await? {
                PipeStep::ReadNext => {}
                PipeStep::Exit(code) => return Ok(code),
            }
            // The reader of stdout is gone.
            if output.is_reader_gone() {
                self.succeeded = false;
                break;
            }
        }
        Ok(if self.succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    async fn run_line(
        &mut self,
        chat: &mut ChatAgent,
        line: &str,
        signals: &mut ProcessSignals,
        output: &ChatOutputThread,
    ) -> anyhow::Result<PipeStep> {
        let parsed = slash::parse(line);
        let controller = chat.run_controller();
        let verbosity = self.verbosity;
        let lines = &mut self.lines;
        let mut listener = |event: LoopEvent| output.write(lines.on_event(&event));
        let is_prompt = matches!(parsed, ChatInputLine::Prompt(_));
        let work = chat.run_line(line, &mut listener);
        let (done, stop_request) =
            match run_interruptible(work, &controller, signals, output, verbosity).await {
                InterruptibleOutcome::Done(done, stop_request) => (done, stop_request),
                InterruptibleOutcome::Abandoned => return Ok(PipeStep::Exit(ExitCode::from(130))),
            };
        let CommandReply { lines, follow_up } = match done {
            Ok(reply) => reply,
            // A prompt that cannot be recorded ends the program; a failed command does not.
            Err(error) if is_prompt => return Err(error),
            Err(error) => {
                output.write_stderr(output::format_error(
                    &format!("{error:#}"),
                    output::help_of(&error),
                ));
                self.succeeded = false;
                return Ok(PipeStep::ReadNext);
            }
        };
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        output.write(ChatOutput { out: String::new(), err: text });
        Ok(match follow_up {
            CommandFollowUp::Stay => PipeStep::ReadNext,
            CommandFollowUp::Leave => {
                PipeStep::Exit(if self.succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            CommandFollowUp::Edit(prompt) => {
                output.write_stderr(format!("{prompt}\n"));
                PipeStep::ReadNext
            }
            CommandFollowUp::Ended(ending) => {
                let code = exit_code(ending.ended.outcome, stop_request);
                self.succeeded &= code == ExitCode::SUCCESS;
                match stop_request {
                    // Ctrl-C stops the whole batch, not only one prompt of it.
                    ChatStopRequest::Yes => PipeStep::Exit(ExitCode::from(130)),
                    ChatStopRequest::No => PipeStep::ReadNext,
                }
            }
        })
    }
}
