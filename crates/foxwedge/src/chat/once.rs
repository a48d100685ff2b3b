//! One prompt, one reply, and the end: `foxwedge chat -p`.

use std::{process::ExitCode, time::Duration};

use anyhow::Context;
use foxwedge_engine::tool_loop::Told;

use super::{
    Chat,
    document::Collected,
    drive::{Drove, code, drive, finish},
    input,
    lines::{Lines, Reader, Talk, Written},
    voice::Voice,
};
use crate::{
    cli::{AgUi, FrameArgs, ReplyFormat},
    runs::{Frames, draw::Signs},
    say::{self, DIM, Trouble, paint},
    signals::Signals,
};

/// So long nothing is said about a stdin from which nothing comes.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is to be said.
pub(crate) enum Asking {
    /// What was typed, if anything was.
    Typed(Option<String>),
    /// The same, with everything that comes on stdin.
    Piped(Option<String>),
}

/// How the reply is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printing {
    pub(crate) format: ReplyFormat,
    pub(crate) reader: Reader,
    pub(crate) talk: Talk,
}

/// Asks once, and prints what comes back.
pub(crate) async fn run(
    mut chat: Chat,
    asking: Asking,
    printing: Printing,
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen().context("Ctrl-C cannot be heard")?;
    let prompt = tokio::select! {
        prompt = asking.prompt() => prompt?,
        () = signals.next() => return Ok(ExitCode::from(130)),
    };
    if prompt.is_none() && chat.is_new() {
        return Err(Trouble::new("there is no prompt")
            .help("`foxwedge chat -p \"…\"`, or pipe a text in; --continue goes on without one")
            .into());
    }
    let reception = chat.reception();
    let mut voice = Voice::new(move || {
        reception.press();
    });
    let over = ask(&mut chat, prompt, printing, &mut signals, &voice).await;
    finish(&mut voice, &mut signals).await?;
    over
}

async fn ask(
    chat: &mut Chat,
    prompt: Option<String>,
    printing: Printing,
    signals: &mut Signals,
    voice: &Voice,
) -> anyhow::Result<ExitCode> {
    let Printing { format, reader, talk } = printing;
    let reception = chat.reception();
    let (session, model) = (chat.session().to_owned(), chat.model().to_owned());
    let mut lines = Lines::new(Signs::here(), reader, talk);
    let mut collected = Collected::default();
    let args = FrameArgs { sse: false, agui: AgUi::V0 };
    let id = session.as_str().into();
    let mut frames = format.frames().map(|format| Frames::new(format, args, Some(id)));
    let mut listener = |told: Told| {
        let Written { mut out, err } = lines.told(&told);
        match (&mut frames, &told) {
            (Some(frames), Told::Run(effect)) => {
                out.clear();
                frames.push(effect, &mut out);
            }
            (Some(_), Told::Note(_)) => out.clear(),
            (None, _) if format == ReplyFormat::Json => {
                out.clear();
                collected.told(&told);
            }
            (None, _) => {}
        }
        voice.say(Written { out, err });
    };
    let work = async {
        match &prompt {
            Some(prompt) => chat.prompt(prompt, &mut listener).await,
            None => chat.go_on(&mut listener).await,
        }
    };
    let (finished, asked) = match drive(work, &reception, signals, voice, talk).await {
        Drove::Done(finished, asked) => (finished?, asked),
        Drove::Left => return Ok(ExitCode::from(130)),
    };
    if format == ReplyFormat::Json {
        let out = collected.write(&session, &finished.run, &model, &finished.ended);
        voice.say(Written { out, err: String::new() });
    }
    if talk == Talk::All
        && let Some(comeback) = chat.comeback()
    {
        voice.talk(format!("{}\n", paint(DIM, format_args!("go on with `{comeback}`"))));
    }
    Ok(code(finished.ended.outcome, asked))
}

impl Asking {
    /// The whole prompt; `None` if there is none.
    async fn prompt(self) -> Result<Option<String>, Trouble> {
        let (typed, piped) = match self {
            Asking::Typed(typed) => (typed, String::new()),
            Asking::Piped(typed) => (typed, piped().await?),
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
async fn piped() -> Result<String, Trouble> {
    let mut whole = input::whole();
    let text = match tokio::time::timeout(PATIENCE, &mut whole).await {
        Ok(text) => text,
        Err(_) => {
            say::note("waiting for stdin to end; `< /dev/null` if nothing comes from there");
            whole.await
        }
    };
    text.unwrap_or_else(|_| Ok(String::new()))
}
