//! A conversation over a pipe: every line of stdin is a prompt or a command, replies go to stdout,
//! everything else to stderr.

use std::process::ExitCode;

use anyhow::Context;
use foxwedge_engine::tool_loop::Told;

use super::{
    Chat,
    drive::{Asked, Drove, code, drive, finish},
    input,
    lines::{Lines, Reader, Talk, Written},
    slash::{self, Line},
    terminal::{Reply, Then},
    voice::Voice,
};
use crate::{
    runs::draw::Signs,
    say::{self, DIM, paint},
    signals::Signals,
};

/// What happens behind a line.
enum Next {
    /// The next one is read.
    Line,
    /// It is over.
    Over(ExitCode),
}

/// Takes prompts until there are no more, or somebody stops it.
pub(crate) async fn run(
    mut chat: Chat,
    first: Option<String>,
    reader: Reader,
    talk: Talk,
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen().context("Ctrl-C cannot be heard")?;
    let reception = chat.reception();
    let mut voice = Voice::new(move || {
        reception.press();
    });
    let mut pipe = Pipe { lines: Lines::new(Signs::here(), reader, talk), talk, well: true };
    let over = pipe.all(&mut chat, first, &mut signals, &voice).await;
    if talk == Talk::All
        && let Some(comeback) = chat.comeback()
    {
        voice.talk(format!("{}\n", paint(DIM, format_args!("go on with `{comeback}`"))));
    }
    finish(&mut voice, &mut signals).await?;
    over
}

struct Pipe {
    lines: Lines,
    talk: Talk,
    /// Whether everything went well so far.
    well: bool,
}

impl Pipe {
    async fn all(
        &mut self,
        chat: &mut Chat,
        first: Option<String>,
        signals: &mut Signals,
        voice: &Voice,
    ) -> anyhow::Result<ExitCode> {
        let mut lines = input::lines();
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
            match self.line(chat, &line, signals, voice).await? {
                Next::Line => {}
                Next::Over(code) => return Ok(code),
            }
            // Nobody reads what would be said.
            if voice.is_unheard() {
                self.well = false;
                break;
            }
        }
        Ok(if self.well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    async fn line(
        &mut self,
        chat: &mut Chat,
        line: &str,
        signals: &mut Signals,
        voice: &Voice,
    ) -> anyhow::Result<Next> {
        let parsed = slash::parse(line);
        let reception = chat.reception();
        let talk = self.talk;
        let lines = &mut self.lines;
        let mut listener = |told: Told| voice.say(lines.told(&told));
        let is_prompt = matches!(parsed, Line::Prompt(_));
        let work = chat.typed(line, &mut listener);
        let (done, asked) = match drive(work, &reception, signals, voice, talk).await {
            Drove::Done(done, asked) => (done, asked),
            Drove::Left => return Ok(Next::Over(ExitCode::from(130))),
        };
        let Reply { lines, then } = match done {
            Ok(reply) => reply,
            // A prompt that cannot be kept is the end; a command that fails is a pity.
            Err(error) if is_prompt => return Err(error),
            Err(error) => {
                voice.talk(say::complaint(&format!("{error:#}"), say::help_of(&error)));
                self.well = false;
                return Ok(Next::Line);
            }
        };
        let told: String = lines.iter().map(|line| format!("{line}\n")).collect();
        voice.say(Written { out: String::new(), err: told });
        Ok(match then {
            Then::Stay => Next::Line,
            Then::Leave => {
                Next::Over(if self.well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            Then::Edit(prompt) => {
                voice.talk(format!("{prompt}\n"));
                Next::Line
            }
            Then::Ended(ending) => {
                let code = code(ending.ended.outcome, asked);
                self.well &= code == ExitCode::SUCCESS;
                match asked {
                    // Whoever stops a batch does not mean one prompt of it.
                    Asked::Yes => Next::Over(ExitCode::from(130)),
                    Asked::No => Next::Line,
                }
            }
        })
    }
}
