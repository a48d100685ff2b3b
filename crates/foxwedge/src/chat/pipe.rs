//! A conversation over a pipe: every line of stdin is a prompt or a command, replies go to stdout,
//! everything else to stderr.

use std::process::ExitCode;

use anyhow::Context;
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
use crate::{
    cli_output::{self, DIM, paint},
    runs::draw::SignSet,
    signals::ProcessSignals,
};

/// What happens behind a line.
enum PipeStep {
    /// The next one is read.
    ReadNext,
    /// It is over.
    Exit(ExitCode),
}

/// Takes prompts until there are no more, or somebody stops it.
pub(crate) async fn run(
    mut chat: ChatAgent,
    first: Option<String>,
    reader: ReplyDestination,
    talk: ChatVerbosity,
) -> anyhow::Result<ExitCode> {
    let mut signals = ProcessSignals::listen().context("Ctrl-C cannot be heard")?;
    let reception = chat.run_controller();
    let mut voice = ChatOutputThread::new(move || {
        reception.interrupt();
    });
    let mut pipe = ChatPipe {
        lines: ChatLinePrinter::new(SignSet::here(), reader, talk),
        verbosity: talk,
        succeeded: true,
    };
    let over = pipe.run_all(&mut chat, first, &mut signals, &voice).await;
    if talk == ChatVerbosity::All
        && let Some(comeback) = chat.resume_command()
    {
        voice.write_stderr(format!("{}\n", paint(DIM, format_args!("go on with `{comeback}`"))));
    }
    finish_output(&mut voice, &mut signals).await?;
    over
}

struct ChatPipe {
    lines: ChatLinePrinter,
    verbosity: ChatVerbosity,
    /// Whether everything went well so far.
    succeeded: bool,
}

impl ChatPipe {
    async fn run_all(
        &mut self,
        chat: &mut ChatAgent,
        first: Option<String>,
        signals: &mut ProcessSignals,
        voice: &ChatOutputThread,
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
            match self.run_line(chat, &line, signals, voice).await? {
                PipeStep::ReadNext => {}
                PipeStep::Exit(code) => return Ok(code),
            }
            // Nobody reads what would be said.
            if voice.is_reader_gone() {
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
        voice: &ChatOutputThread,
    ) -> anyhow::Result<PipeStep> {
        let parsed = slash::parse(line);
        let reception = chat.run_controller();
        let talk = self.verbosity;
        let lines = &mut self.lines;
        let mut listener = |told: LoopEvent| voice.write(lines.on_event(&told));
        let is_prompt = matches!(parsed, ChatInputLine::Prompt(_));
        let work = chat.run_line(line, &mut listener);
        let (done, asked) = match run_interruptible(work, &reception, signals, voice, talk).await {
            InterruptibleOutcome::Done(done, asked) => (done, asked),
            InterruptibleOutcome::Abandoned => return Ok(PipeStep::Exit(ExitCode::from(130))),
        };
        let CommandReply { lines, follow_up: then } = match done {
            Ok(reply) => reply,
            // A prompt that cannot be kept is the end; a command that fails is a pity.
            Err(error) if is_prompt => return Err(error),
            Err(error) => {
                voice.write_stderr(cli_output::format_error(
                    &format!("{error:#}"),
                    cli_output::help_of(&error),
                ));
                self.succeeded = false;
                return Ok(PipeStep::ReadNext);
            }
        };
        let told: String = lines.iter().map(|line| format!("{line}\n")).collect();
        voice.write(ChatOutput { out: String::new(), err: told });
        Ok(match then {
            CommandFollowUp::Stay => PipeStep::ReadNext,
            CommandFollowUp::Leave => {
                PipeStep::Exit(if self.succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            CommandFollowUp::Edit(prompt) => {
                voice.write_stderr(format!("{prompt}\n"));
                PipeStep::ReadNext
            }
            CommandFollowUp::Ended(ending) => {
                let code = exit_code(ending.ended.outcome, asked);
                self.succeeded &= code == ExitCode::SUCCESS;
                match asked {
                    // Whoever stops a batch does not mean one prompt of it.
                    ChatStopRequest::Yes => PipeStep::Exit(ExitCode::from(130)),
                    ChatStopRequest::No => PipeStep::ReadNext,
                }
            }
        })
    }
}
