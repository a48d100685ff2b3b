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
mod unique_names;
mod common_fields;
mod tracker;
mod agui;
mod ai_sdk;
mod acp;
mod frame;
#[cfg(test)]
mod tests;

use crate::{RawJson, RunEffect, SharedId, wire};

pub use frame::{FrameId, FrameIdError, UiFrame};

use tracker::{ChangeTracker, OpenRequestPolicy};

/// A standard that user interfaces speak.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UiFormat {
    /// AG-UI events.
    AgUi,
    /// The UI message stream of the AI SDK.
    AiSdk,
    /// Session updates of the Agent Client Protocol.
    Acp,
    /// Our own events, one in a line.
    Jsonl,
}

impl UiFormat {
    /// Every format.
    pub const ALL: [UiFormat; 4] =
        [UiFormat::AgUi, UiFormat::AiSdk, UiFormat::Acp, UiFormat::Jsonl];

    /// The word that users say.
    pub fn name(self) -> &'static str {
        match self {
            UiFormat::AgUi => "agui",
            UiFormat::AiSdk => "ai-sdk",
            UiFormat::Acp => "acp",
            UiFormat::Jsonl => "jsonl",
        }
    }

    /// The format of a word.
    pub fn from_name(name: &str) -> Option<UiFormat> {
        Some(match name {
            "agui" | "ag-ui" => UiFormat::AgUi,
            "ai-sdk" => UiFormat::AiSdk,
            "acp" => UiFormat::Acp,
            "jsonl" => UiFormat::Jsonl,
            _ => return None,
        })
    }
}

/// Which AG-UI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AgUiRevision {
    /// What clients of 0.0.x read, and newer ones as well.
    #[default]
    V0,
    /// What only clients of 1.0 read: cancelled runs and sub-agents have words of their own.
    V1,
}

/// Which Agent Client Protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AcpRevision {
    /// Version 1: the answer to the prompt is the end of the run.
    #[default]
    V1,
    /// The draft of version 2: the end is an update like any other.
    V2,
}

/// What an encoder has to know beside the effects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EncoderOptions {
    /// The session, as clients know it.
    pub session: SharedId,
    /// The run; if none is named, the first one that comes.
    pub run: Option<SharedId>,
    /// Which AG-UI.
    pub agui: AgUiRevision,
    /// Which Agent Client Protocol.
    pub acp: AcpRevision,
    /// The id of the `session/prompt` that the run answers: a JSON string or a whole number. If
    /// none is given, the id of the run.
    pub prompt: Option<RawJson>,
}

impl EncoderOptions {
    /// For a session, with the defaults of everything else.
    pub fn new(session: &SharedId) -> EncoderOptions {
        EncoderOptions { session: session.clone(), ..EncoderOptions::default() }
    }
}

/// How a response in a format is labelled.
pub fn content_type(format: UiFormat) -> &'static str {
    match format {
        UiFormat::AgUi | UiFormat::AiSdk | UiFormat::Acp => "text/event-stream",
        UiFormat::Jsonl => "application/x-ndjson",
    }
}

/// The headers of a response in a format, the content type among them.
pub fn headers(format: UiFormat) -> &'static [(&'static str, &'static str)] {
    match format {
        UiFormat::AgUi | UiFormat::Acp => &[
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            ("x-accel-buffering", "no"),
        ],
        UiFormat::AiSdk => &[
            ("content-type", "text/event-stream"),
            ("cache-control", "no-cache"),
            ("connection", "keep-alive"),
            ("x-vercel-ai-ui-message-stream", "v1"),
            ("x-accel-buffering", "no"),
        ],
        UiFormat::Jsonl => &[
            ("content-type", "application/x-ndjson"),
            ("cache-control", "no-cache"),
            ("x-accel-buffering", "no"),
        ],
    }
}

/// Turns the effects of one run into frames.
pub struct RunEncoder {
    format: UiFormat,
    options: EncoderOptions,
    /// Known since the first effect.
    state: Option<EncoderState>,
    id: FrameId,
    is_done: bool,
}

/// What speaks for one run.
struct EncoderState {
    run: SharedId,
    tracker: ChangeTracker,
    encoder: UiEncoder,
}

enum UiEncoder {
    AgUi(agui::AgUiEncoder),
    AiSdk(ai_sdk::AiSdkEncoder),
    Acp(acp::AcpEncoder),
    Jsonl,
}

impl RunEncoder {
    /// An encoder that has seen nothing yet.
    pub fn new(format: UiFormat, options: EncoderOptions) -> RunEncoder {
        let id = FrameId { seq: 0, part: 0 };
        RunEncoder { format, options, state: None, id, is_done: false }
    }

    /// Takes an effect, and adds the frames it comes to. Those of other runs are not ours.
    pub fn push(&mut self, effect: &RunEffect, out: &mut Vec<UiFrame>) {
        match effect {
            RunEffect::Emit(event) => {
                let (format, id) = (self.format, &mut self.id);
                let speaker = encoder_state(&mut self.state, format, &self.options, &event.run);
                if speaker.run != event.run {
                    return;
                }
                if let Some(seq) = event.seq {
                    *id = FrameId { seq, part: 0 };
                }
                match &speaker.encoder {
                    UiEncoder::Jsonl => FrameSink { id, out }.push_frame(wire::write(event)),
                    UiEncoder::AgUi(_) | UiEncoder::AiSdk(_) | UiEncoder::Acp(_) => {}
                }
            }
            RunEffect::Show { run, change } => {
                let (format, id) = (self.format, &mut self.id);
                let speaker = encoder_state(&mut self.state, format, &self.options, run);
                if speaker.run != *run {
                    return;
                }
                let sink = &mut FrameSink { id, out };
                let EncoderState { tracker, encoder: voice, .. } = speaker;
                match voice {
                    UiEncoder::AgUi(voice) => {
                        tracker.apply(change, &mut |told| voice.encode(told, sink))
                    }
                    UiEncoder::AiSdk(voice) => {
                        tracker.apply(change, &mut |told| voice.encode(told, sink))
                    }
                    UiEncoder::Acp(voice) => {
                        tracker.apply(change, &mut |told| voice.encode(told, sink))
                    }
                    UiEncoder::Jsonl => {}
                }
            }
            RunEffect::Resolve { .. }
            | RunEffect::CancelTool { .. }
            | RunEffect::Announce { .. }
            | RunEffect::Drain { .. }
            | RunEffect::Warn(_) => {}
        }
    }

    /// Adds what a stream ends with after the end of its run. A run that is not over adds nothing.
    pub fn finish(&mut self, out: &mut Vec<UiFrame>) {
        let is_over = self.state.as_ref().is_some_and(|speaker| speaker.tracker.is_over());
        if is_over && self.format == UiFormat::AiSdk && !self.is_done {
            self.is_done = true;
            FrameSink { id: &mut self.id, out }.push_frame("[DONE]".to_owned());
        }
    }
}

fn encoder_state<'a>(
    place: &'a mut Option<EncoderState>,
    format: UiFormat,
    options: &EncoderOptions,
    seen: &SharedId,
) -> &'a mut EncoderState {
    place.get_or_insert_with(|| {
        let run = options.run.as_ref().unwrap_or(seen);
        let (voice, waiting) = match format {
            UiFormat::AgUi => {
                (UiEncoder::AgUi(agui::AgUiEncoder::new(run, options)), OpenRequestPolicy::KeepOpen)
            }
            UiFormat::AiSdk => (
                UiEncoder::AiSdk(ai_sdk::AiSdkEncoder::new(run, options)),
                OpenRequestPolicy::KeepOpen,
            ),
            UiFormat::Acp => {
                (UiEncoder::Acp(acp::AcpEncoder::new(run, options)), OpenRequestPolicy::Close)
            }
            UiFormat::Jsonl => (UiEncoder::Jsonl, OpenRequestPolicy::Close),
        };
        EncoderState { run: run.clone(), tracker: ChangeTracker::new(run, waiting), encoder: voice }
    })
}

/// Numbers frames.
struct FrameSink<'a> {
    id: &'a mut FrameId,
    out: &'a mut Vec<UiFrame>,
}

impl FrameSink<'_> {
    fn push_frame(&mut self, data: String) {
        self.id.part = self.id.part.saturating_add(1);
        self.out.push(UiFrame { id: *self.id, data });
    }
}
