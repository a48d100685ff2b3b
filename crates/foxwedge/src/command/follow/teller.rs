//! Tells a run as it goes on: to people, or to programs.

use foxwedge_run::{Effect, Id};

use super::{
    text::Text,
    voice::{Manner, Said, Unheard, Voice},
};
use crate::{
    cli::{FrameArgs, RunView},
    runs::{Frames, draw::Signs},
    screen,
};

/// Tells what happens, on stdout.
pub(super) struct Teller {
    voice: Voice,
    telling: Telling,
}

enum Telling {
    Text(Box<Text>),
    Frames(Frames),
}

impl Teller {
    pub(super) fn new(view: RunView, args: FrameArgs, session: Option<Id>) -> Teller {
        match view.format() {
            None => {
                let text = Text::new(Signs::here(), screen::columns());
                let telling = Telling::Text(Box::new(text));
                Teller { voice: Voice::new(Manner::Dressed), telling }
            }
            Some(format) => {
                let telling = Telling::Frames(Frames::new(format, args, session));
                Teller { voice: Voice::new(Manner::Plain), telling }
            }
        }
    }

    /// Whether something is drawn that changes by time alone.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.telling, Telling::Text(_)) && screen::columns().is_some()
    }

    /// Tells what happened.
    pub(super) async fn tell(
        &mut self,
        effects: &[Effect],
        now: u64,
        stopping: bool,
    ) -> Result<(), Unheard> {
        let said = self.said(effects, now, stopping);
        if said.lines.is_empty() && said.status.is_none() {
            return Ok(());
        }
        self.voice.say(said).await
    }

    /// Says nothing any more.
    pub(super) fn mute(&mut self) {
        self.voice.mute();
    }

    /// Waits until everything is written.
    pub(super) async fn finish(&mut self) -> anyhow::Result<()> {
        self.voice.finish().await
    }

    fn said(&mut self, effects: &[Effect], now: u64, stopping: bool) -> Said {
        match &mut self.telling {
            Telling::Text(text) => {
                text.resize(screen::columns());
                effects.iter().for_each(|effect| text.push(effect));
                Said { lines: text.take(), status: text.status(now, stopping) }
            }
            Telling::Frames(frames) => {
                let mut lines = String::new();
                effects.iter().for_each(|effect| frames.push(effect, &mut lines));
                Said { lines, status: None }
            }
        }
    }
}
