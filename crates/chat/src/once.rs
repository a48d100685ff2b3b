//! `foxwedge chat -p`: one prompt, one reply.

use std::{path::Path, process::ExitCode, time::Duration};

use foxwedge_agent_loop::tool_loop::LoopEvent;

use super::{
    ChatAgent,
    attachments::ChatPrompt,
    input,
    interruptible::{InterruptibleOutcome, exit_code, finish_output, run_interruptible},
    line_printer::{ChatLinePrinter, ChatOutput, ChatVerbosity, ReplyDestination},
    output_thread::ChatOutputThread,
    reply_json::ReplyCollector,
};
use crate::ReplyFormat;
use foxwedge_local::{
    language::localize,
    output::{self, DIM, HelpfulError, paint},
    runs::{RunFrameOptions, RunFrameWriter, draw::SignSet},
    signals::ProcessSignals,
};

/// Delay before a note that stdin is still open.
const STDIN_NOTE_DELAY: Duration = Duration::from_secs(3);

/// Where the prompt comes from.
pub(crate) enum PromptSource {
    /// The prompt on the command line, if any.
    Typed(Option<String>),
    /// The prompt on the command line, with all of stdin appended.
    Piped(Option<String>),
}

/// Options for printing the reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyPrintOptions {
    pub(crate) format: ReplyFormat,
    pub(crate) reader: ReplyDestination,
    pub(crate) verbosity: ChatVerbosity,
}

/// Sends one prompt and prints the reply.
pub(crate) async fn run(
    mut chat: ChatAgent,
    source: PromptSource,
    root: &Path,
    options: ReplyPrintOptions,
    mut signals: ProcessSignals,
) -> anyhow::Result<ExitCode> {
    let prompt = tokio::select! {
        prompt = source.prompt(root) => prompt?,
        () = signals.next() => return Ok(ExitCode::from(130)),
    };
    if prompt.is_none() && chat.is_new() {
        return Err(HelpfulError::new("there is no prompt")
            .help("`foxwedge chat -p \"…\"`, or pipe a text in; --continue needs no prompt")
            .into());
    }
    let controller = chat.run_controller();
    let mut output = ChatOutputThread::new(move || {
        controller.interrupt();
    });
    let code = run_prompt(&mut chat, prompt, options, &mut signals, &output).await;
    finish_output(&mut output, &mut signals).await?;
    code
}

async fn run_prompt(
    chat: &mut ChatAgent,
    prompt: Option<ChatPrompt>,
    options: ReplyPrintOptions,
    signals: &mut ProcessSignals,
    output: &ChatOutputThread,
) -> anyhow::Result<ExitCode> {
    let ReplyPrintOptions { format, reader, verbosity } = options;
    let controller = chat.run_controller();
    let (session, model) = (chat.session().to_owned(), chat.model().to_owned());
    let mut lines = ChatLinePrinter::new(SignSet::here(), reader, verbosity);
    let mut collected = ReplyCollector::default();
    let mut frames = match format {
        ReplyFormat::Frames(format) => {
            let id = session.as_str().into();
            Some(RunFrameWriter::new(format, RunFrameOptions::default(), Some(id)))
        }
        ReplyFormat::Text | ReplyFormat::Json => None,
    };
    let mut listener = |event: LoopEvent| {
        let ChatOutput { mut out, err } = lines.on_event(&event);
        match (&mut frames, &event) {
            (Some(frames), LoopEvent::Run(effect)) => {
                out.clear();
                frames.push(effect, &mut out);
            }
            (Some(_), LoopEvent::Notice(_)) => out.clear(),
            (None, _) if format == ReplyFormat::Json => {
                out.clear();
                collected.record_event(&event);
            }
            (None, _) => {}
        }
        output.write(ChatOutput { out, err });
    };
    let work = async {
        match prompt {
            Some(prompt) => chat.prompt(prompt, &mut listener).await,
            None => chat.continue_run(&mut listener).await,
        }
    };
    let (finished, stop_request) =
        match run_interruptible(work, &controller, signals, output, verbosity).await {
            InterruptibleOutcome::Done(finished, stop_request) => (finished?, stop_request),
            InterruptibleOutcome::Abandoned => return Ok(ExitCode::from(130)),
        };
    if format == ReplyFormat::Json {
        let out = collected.write(&session, &finished.run, &model, &finished.ended);
        output.write(ChatOutput { out, err: String::new() });
    }
    if verbosity == ChatVerbosity::All
        && let Some(command) = chat.resume_command()
    {
        output.write_stderr(format!(
            "{}\n",
            paint(DIM, localize(format!("resume with `{command}`")))
        ));
    }
    Ok(exit_code(finished.ended.outcome, stop_request))
}

impl PromptSource {
    /// The whole prompt; `None` if there is none. Files are read that the command line mentions, not
    /// those that stdin does.
    async fn prompt(self, root: &Path) -> Result<Option<ChatPrompt>, HelpfulError> {
        let (typed, piped) = match self {
            PromptSource::Typed(typed) => (typed, String::new()),
            PromptSource::Piped(typed) => (typed, read_piped().await?),
        };
        let (typed, piped) = (typed.unwrap_or_default(), piped.trim_end().to_owned());
        let mut prompt = ChatPrompt::read(&typed, root)?;
        prompt.text = match (typed.trim().is_empty(), piped.trim().is_empty()) {
            (true, true) => return Ok(None),
            (false, true) => typed,
            (true, false) => piped,
            (false, false) => format!("{typed}\n\n{piped}"),
        };
        Ok(Some(prompt))
    }
}

/// Reads stdin. If it stays open without input, prints a note.
async fn read_piped() -> Result<String, HelpfulError> {
    let mut whole = input::read_whole();
    let text = match tokio::time::timeout(STDIN_NOTE_DELAY, &mut whole).await {
        Ok(text) => text,
        Err(_) => {
            output::print_note("waiting for stdin to end; add `< /dev/null` if there is no input");
            whole.await
        }
    };
    text.unwrap_or_else(|_| Ok(String::new()))
}
