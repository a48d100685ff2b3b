//! Runs in the words of user interfaces.
//!
//! An [`Encoder`] turns the effects of one run into frames: AG-UI events, chunks of the AI SDK,
//! JSON-RPC messages of ACP, or our own events as JSON. Official clients must take every one of
//! them, whatever was pushed: what is open is closed before the end, in the order that the standard
//! needs, and nothing comes after the end. `docs/runs/formats.md` says what becomes what.
//!
//! Frames are computed from the effects alone. Whoever lost the connection names the last
//! [`FrameId`] it saw, and gets the frames behind it by encoding the run's log again.

mod json;
mod names;
mod words;
mod tracker;
mod agui;
mod ai_sdk;
mod acp;
mod frame;
#[cfg(test)]
mod tests;

use crate::{Effect, Id, Json, wire};

pub use frame::{Frame, FrameId, NoFrameId};

use tracker::{Tracker, Waiting};

/// A standard that user interfaces speak.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// AG-UI events.
    AgUi,
    /// The UI message stream of the AI SDK.
    AiSdk,
    /// Session updates of the Agent Client Protocol.
    Acp,
    /// Our own events, one in a line.
    Jsonl,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::AgUi, Format::AiSdk, Format::Acp, Format::Jsonl];

    /// The word that users say.
    pub fn name(self) -> &'static str {
        match self {
            Format::AgUi => "agui",
            Format::AiSdk => "ai-sdk",
            Format::Acp => "acp",
            Format::Jsonl => "jsonl",
        }
    }

    /// The format of a word.
    pub fn from_name(name: &str) -> Option<Format> {
        Some(match name {
            "agui" | "ag-ui" => Format::AgUi,
            "ai-sdk" => Format::AiSdk,
            "acp" => Format::Acp,
            "jsonl" => Format::Jsonl,
            _ => return None,
        })
    }
}

/// Which AG-UI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AgUi {
    /// What clients of 0.0.x read, and newer ones as well.
    #[default]
    V0,
    /// What only clients of 1.0 read: cancelled runs and sub-agents have words of their own.
    V1,
}

/// Which Agent Client Protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Acp {
    /// Version 1: the answer to the prompt is the end of the run.
    #[default]
    V1,
    /// The draft of version 2: the end is an update like any other.
    V2,
}

/// What an encoder has to know beside the effects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The session, as clients know it.
    pub session: Id,
    /// The run; if none is named, the first one that comes.
    pub run: Option<Id>,
    /// Which AG-UI.
    pub agui: AgUi,
    /// Which Agent Client Protocol.
    pub acp: Acp,
    /// The id of the `session/prompt` that the run answers: a JSON string or a whole number. If
    /// none is given, the id of the run.
    pub prompt: Option<Json>,
}

impl Options {
    /// For a session, with the defaults of everything else.
    pub fn new(session: &Id) -> Options {
        Options { session: session.clone(), ..Options::default() }
    }
}

/// How a response in a format is labelled.
pub fn content_type(format: Format) -> &'static str {
    match format {
        Format::AgUi | Format::AiSdk | Format::Acp => "text/event-stream",
        Format::Jsonl => "application/x-ndjson",
    }
}

/// The headers of a response in a format, the content type among them.
pub fn headers(format: Format) -> &'static [(&'static str, &'static str)] {
    match format {
        Format::AgUi | Format::Acp => &[
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            ("x-accel-buffering", "no"),
        ],
        Format::AiSdk => &[
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            ("connection", "keep-alive"),
            ("x-vercel-ai-ui-message-stream", "v1"),
            ("x-accel-buffering", "no"),
        ],
        Format::Jsonl => &[
            ("content-type", "application/x-ndjson"),
            ("cache-control", "no-cache"),
            ("x-accel-buffering", "no"),
        ],
    }
}

/// Turns the effects of one run into frames.
pub struct Encoder {
    format: Format,
    options: Options,
    /// Known since the first effect.
    speaker: Option<Speaker>,
    id: FrameId,
    is_done: bool,
}

/// What speaks for one run.
struct Speaker {
    run: Id,
    tracker: Tracker,
    voice: Voice,
}

enum Voice {
    AgUi(agui::Voice),
    AiSdk(ai_sdk::Voice),
    Acp(acp::Voice),
    Jsonl,
}

impl Encoder {
    /// An encoder that has seen nothing yet.
    pub fn new(format: Format, options: Options) -> Encoder {
        let id = FrameId { seq: 0, part: 0 };
        Encoder { format, options, speaker: None, id, is_done: false }
    }

    /// Takes an effect, and adds the frames it comes to. Those of other runs are not ours.
    pub fn push(&mut self, effect: &Effect, out: &mut Vec<Frame>) {
        match effect {
            Effect::Emit(event) => {
                let (format, id) = (self.format, &mut self.id);
                let speaker = speaker(&mut self.speaker, format, &self.options, &event.run);
                if speaker.run != event.run {
                    return;
                }
                if let Some(seq) = event.seq {
                    *id = FrameId { seq, part: 0 };
                }
                match &speaker.voice {
                    Voice::Jsonl => Sink { id, out }.frame(wire::write(event)),
                    Voice::AgUi(_) | Voice::AiSdk(_) | Voice::Acp(_) => {}
                }
            }
            Effect::Show { run, change } => {
                let (format, id) = (self.format, &mut self.id);
                let speaker = speaker(&mut self.speaker, format, &self.options, run);
                if speaker.run != *run {
                    return;
                }
                let sink = &mut Sink { id, out };
                let Speaker { tracker, voice, .. } = speaker;
                match voice {
                    Voice::AgUi(voice) => tracker.take(change, &mut |told| voice.tell(told, sink)),
                    Voice::AiSdk(voice) => tracker.take(change, &mut |told| voice.tell(told, sink)),
                    Voice::Acp(voice) => tracker.take(change, &mut |told| voice.tell(told, sink)),
                    Voice::Jsonl => {}
                }
            }
            Effect::Resolve { .. }
            | Effect::CallOff { .. }
            | Effect::Announce { .. }
            | Effect::Drain { .. }
            | Effect::Warn(_) => {}
        }
    }

    /// Adds what a stream ends with after the end of its run. A run that is not over adds nothing.
    pub fn finish(&mut self, out: &mut Vec<Frame>) {
        let is_over = self.speaker.as_ref().is_some_and(|speaker| speaker.tracker.is_over());
        if is_over && self.format == Format::AiSdk && !self.is_done {
            self.is_done = true;
            Sink { id: &mut self.id, out }.frame("[DONE]".to_owned());
        }
    }
}

fn speaker<'a>(
    place: &'a mut Option<Speaker>,
    format: Format,
    options: &Options,
    seen: &Id,
) -> &'a mut Speaker {
    place.get_or_insert_with(|| {
        let run = options.run.as_ref().unwrap_or(seen);
        let (voice, waiting) = match format {
            Format::AgUi => (Voice::AgUi(agui::Voice::new(run, options)), Waiting::Stays),
            Format::AiSdk => (Voice::AiSdk(ai_sdk::Voice::new(run, options)), Waiting::Stays),
            Format::Acp => (Voice::Acp(acp::Voice::new(run, options)), Waiting::Ends),
            Format::Jsonl => (Voice::Jsonl, Waiting::Ends),
        };
        Speaker { run: run.clone(), tracker: Tracker::new(run, waiting), voice }
    })
}

/// Numbers frames.
struct Sink<'a> {
    id: &'a mut FrameId,
    out: &'a mut Vec<Frame>,
}

impl Sink<'_> {
    fn frame(&mut self, data: String) {
        self.id.part = self.id.part.saturating_add(1);
        self.out.push(Frame { id: *self.id, data });
    }
}
