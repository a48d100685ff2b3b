//! One prompt, one reply, and the end: `foxwedge chat -p`.

use std::{process::ExitCode, time::Duration};

use anyhow::Context;
use foxwedge_agent_loop::tool_loop::LoopEvent;

use super::{
    ChatAgent, input,
    interruptible::{InterruptibleOutcome, exit_code, finish_output, run_interruptible},
    line_printer::{ChatLinePrinter, ChatOutput, ChatVerbosity, ReplyDestination},
    output_thread::ChatOutputThread,
    reply_json::ReplyCollector,
};
use crate::{
    cli::{AgUiProtocolVersion, FrameArgs, ReplyFormat},
    cli_output::{self, CliError, DIM, paint},
    runs::{RunFrameWriter, draw::SignSet},
    signals::ProcessSignals,
};

/// So long nothing is said about a stdin from which nothing comes.
const STDIN_NOTE_DELAY: Duration = Duration::from_secs(3);

/// What is to be said.
pub(crate) enum PromptSource {
    /// What was typed, if anything was.
    Typed(Option<String>),
    /// The same, with everything that comes on stdin.
    Piped(Option<String>),
}

/// How the reply is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyPrintOptions {
    pub(crate) format: ReplyFormat,
    pub(crate) reader: ReplyDestination,
    pub(crate) verbosity: ChatVerbosity,
}

/// Asks once, and prints what comes back.
pub(crate) async fn run(
    mut chat: ChatAgent,
    asking: PromptSource,
    printing: ReplyPrintOptions,
) -> anyhow::Result<ExitCode> {
    let mut signals = ProcessSignals::listen().context("Ctrl-C cannot be heard")?;
    let prompt = tokio::select! {
        prompt = asking.prompt() => prompt?,
        () = signals.next() => return Ok(ExitCode::from(130)),
    };
    if prompt.is_none() && chat.is_new() {
        return Err(CliError::new("there is no prompt")
            .help("`foxwedge chat -p \"…\"`, or pipe a text in; --continue goes on without one")
            .into());
    }
    let reception = chat.run_controller();
    let mut voice = ChatOutputThread::new(move || {
        reception.interrupt();
    });
    let over = run_prompt(&mut chat, prompt, printing, &mut signals, &voice).await;
    finish_output(&mut voice, &mut signals).await?;
    over
}

async fn run_prompt(
    chat: &mut ChatAgent,
    prompt: Option<String>,
    printing: ReplyPrintOptions,
    signals: &mut ProcessSignals,
    voice: &ChatOutputThread,
) -> anyhow::Result<ExitCode> {
    let ReplyPrintOptions { format, reader, verbosity: talk } = printing;
    let reception = chat.run_controller();
    let (session, model) = (chat.session().to_owned(), chat.model().to_owned());
    let mut lines = ChatLinePrinter::new(SignSet::here(), reader, talk);
    let mut collected = ReplyCollector::default();
    let args = FrameArgs { sse: false, agui: AgUiProtocolVersion::V0 };
    let id = session.as_str().into();
    let mut frames = format.frames().map(|format| RunFrameWriter::new(format, args, Some(id)));
    let mut listener = |told: LoopEvent| {
        let ChatOutput { mut out, err } = lines.on_event(&told);
        match (&mut frames, &told) {
            (Some(frames), LoopEvent::Run(effect)) => {
                out.clear();
                frames.push(effect, &mut out);
            }
            (Some(_), LoopEvent::Notice(_)) => out.clear(),
            (None, _) if format == ReplyFormat::Json => {
                out.clear();
                collected.record_event(&told);
            }
            (None, _) => {}
        }
        voice.write(ChatOutput { out, err });
    };
    let work = async {
        match &prompt {
            Some(prompt) => chat.prompt(prompt, &mut listener).await,
            None => chat.continue_run(&mut listener).await,
        }
    };
    let (finished, asked) = match run_interruptible(work, &reception, signals, voice, talk).await {
        InterruptibleOutcome::Done(finished, asked) => (finished?, asked),
        InterruptibleOutcome::Abandoned => return Ok(ExitCode::from(130)),
    };
    if format == ReplyFormat::Json {
        let out = collected.write(&session, &finished.run, &model, &finished.ended);
        voice.write(ChatOutput { out, err: String::new() });
    }
    if talk == ChatVerbosity::All
        && let Some(comeback) = chat.resume_command()
    {
        voice.write_stderr(format!("{}\n", paint(DIM, format_args!("go on with `{comeback}`"))));
    }
    Ok(exit_code(finished.ended.outcome, asked))
}

impl PromptSource {
    /// The whole prompt; `None` if there is none.
    async fn prompt(self) -> Result<Option<String>, CliError> {
        let (typed, piped) = match self {
            PromptSource::Typed(typed) => (typed, String::new()),
            PromptSource::Piped(typed) => (typed, read_piped().await?),
        };
        let (typed, piped) = (typed.unwrap_or_default(), piped.trim_end().to_owned());
        let prompt = match (typed.trim().is_empty(), piped.trim().is_empty()) {
            (true, true) => return Ok(None),
            (false, true) => typed,
            (true, false) => piped,
            (false, false) => format!("{typed}\n\n{piped}"),
        };
        Ok(Some(prompt))
    }
}

/// What comes on stdin. Whoever leaves it open and says nothing is told what is waited for.
async fn read_piped() -> Result<String, CliError> {
    let mut whole = input::read_whole();
    let text = match tokio::time::timeout(STDIN_NOTE_DELAY, &mut whole).await {
        Ok(text) => text,
        Err(_) => {
            cli_output::print_note(
                "waiting for stdin to end; `< /dev/null` if nothing comes from there",
            );
            whole.await
        }
    };
    text.unwrap_or_else(|_| Ok(String::new()))
}
