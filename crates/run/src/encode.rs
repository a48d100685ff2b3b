//! Encodes runs in the formats of user interfaces.
//!
//! A [`RunEncoder`] turns the effects of one run into frames: AG-UI events, chunks of the AI SDK,
//! JSON-RPC messages of ACP, or our own events as JSON. Official clients must accept every frame,
//! whatever changes arrive: open items are closed before the end, in the order that the format
//! requires, and nothing follows the end. `docs/runs/formats.md` lists how changes map to frames.
//!
//! Frames depend on the effects alone. A client that lost its connection sends the last [`FrameId`]
//! it received. Encoding the run's log again gives the frames after it.
//!
//! A [`DesktopEncoder`] does the same for an interface in the same process, which needs no frames.

mod json;
mod unique_names;
mod common_fields;
mod tracker;
mod agui;
mod ai_sdk;
mod acp;
mod desktop;
mod frame;
#[cfg(test)]
mod tests;

use crate::{RawJson, RunEffect, SharedId, wire};

pub use desktop::DesktopEncoder;
pub use frame::{FrameId, FrameIdError, UiFrame};

use tracker::{ChangeTracker, OpenRequestPolicy};

/// A format for user interfaces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UiFormat {
    /// AG-UI events.
    AgUi,
    /// The UI message stream of the AI SDK.
    AiSdk,
    /// Session updates of the Agent Client Protocol.
    Acp,
    /// Our own events, one per line.
    Jsonl,
}

impl UiFormat {
    /// Every format.
    pub const ALL: [UiFormat; 4] =
        [UiFormat::AgUi, UiFormat::AiSdk, UiFormat::Acp, UiFormat::Jsonl];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            UiFormat::AgUi => "agui",
            UiFormat::AiSdk => "ai-sdk",
            UiFormat::Acp => "acp",
            UiFormat::Jsonl => "jsonl",
        }
    }

    /// Parses a format name.
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

/// The revision of AG-UI.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AgUiRevision {
    /// Clients of 0.0.x and newer can read it.
    V0,
    /// Version 1.0, for clients of 1.0 and newer. It has cancelled runs, calls that a run leaves to
    /// the application, and sub-agents.
    #[default]
    V1,
}

/// The revision of the Agent Client Protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AcpRevision {
    /// Version 1: the response to the prompt ends the run.
    #[default]
    V1,
    /// Version 2: a session update ends the run, and a call can be paused or cancelled.
    V2,
}

/// What becomes of calls that a run hands over when it completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HandedOverCalls {
    /// They get a result, except in AG-UI 1.
    #[default]
    GetResults,
    /// They stay open: the client runs them and sends their results with its next request.
    StayOpen,
}

/// What an encoder needs besides the effects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EncoderOptions {
    /// The session id that clients use.
    pub session: SharedId,
    /// The run to encode. `None`: the first run that appears.
    pub run: Option<SharedId>,
    /// The revision of AG-UI.
    pub agui: AgUiRevision,
    /// The revision of the Agent Client Protocol.
    pub acp: AcpRevision,
    /// The id of the `session/prompt` request that the run responds to: a JSON string or an
    /// integer. `None`: the id of the run.
    pub prompt: Option<RawJson>,
    /// The id of the message of the AI SDK that the run continues. `None`: the id of the run.
    pub message: Option<SharedId>,
    /// What becomes of calls that the run hands over.
    pub handed_over: HandedOverCalls,
}

impl EncoderOptions {
    /// Creates options for a session, with defaults for everything else.
    pub fn new(session: &SharedId) -> EncoderOptions {
        EncoderOptions { session: session.clone(), ..EncoderOptions::default() }
    }
}

/// The content type of a response in a format.
pub fn content_type(format: UiFormat) -> &'static str {
    match format {
        UiFormat::AgUi | UiFormat::AiSdk | UiFormat::Acp => "text/event-stream",
        UiFormat::Jsonl => "application/x-ndjson",
    }
}

/// The headers of a response in a format, including the content type.
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

/// Encodes the effects of one run as frames.
pub struct RunEncoder {
    format: UiFormat,
    options: EncoderOptions,
    /// Set by the first effect.
    state: Option<EncoderState>,
    id: FrameId,
    is_done: bool,
}

/// The encoder of one run and what it tracks.
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
    /// Creates an encoder.
    pub fn new(format: UiFormat, options: EncoderOptions) -> RunEncoder {
        let id = FrameId { seq: 0, part: 0 };
        RunEncoder { format, options, state: None, id, is_done: false }
    }

    /// Encodes an effect and appends its frames. Effects of other runs are ignored.
    pub fn push(&mut self, effect: &RunEffect, out: &mut Vec<UiFrame>) {
        match effect {
            RunEffect::Emit(event) => {
                let (format, id) = (self.format, &mut self.id);
                let state = encoder_state(&mut self.state, format, &self.options, &event.run);
                if state.run != event.run {
                    return;
                }
                if let Some(seq) = event.seq {
                    *id = FrameId { seq, part: 0 };
                }
                match &state.encoder {
                    UiEncoder::Jsonl => FrameSink { id, out }.push_frame(wire::write(event)),
                    UiEncoder::AgUi(_) | UiEncoder::AiSdk(_) | UiEncoder::Acp(_) => {}
                }
            }
            RunEffect::Show { run, change } => {
                let (format, id) = (self.format, &mut self.id);
                let state = encoder_state(&mut self.state, format, &self.options, run);
                if state.run != *run {
                    return;
                }
                let sink = &mut FrameSink { id, out };
                let EncoderState { tracker, encoder, .. } = state;
                match encoder {
                    UiEncoder::AgUi(encoder) => {
                        tracker.apply(change, &mut |tracked| encoder.encode(tracked, sink))
                    }
                    UiEncoder::AiSdk(encoder) => {
                        tracker.apply(change, &mut |tracked| encoder.encode(tracked, sink))
                    }
                    UiEncoder::Acp(encoder) => {
                        tracker.apply(change, &mut |tracked| encoder.encode(tracked, sink))
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

    /// Appends the frames that follow the end of the run. Does nothing while the run is open.
    pub fn finish(&mut self, out: &mut Vec<UiFrame>) {
        let is_over = self.state.as_ref().is_some_and(|state| state.tracker.is_over());
        if is_over && self.format == UiFormat::AiSdk && !self.is_done {
            self.is_done = true;
            FrameSink { id: &mut self.id, out }.push_frame("[DONE]".to_owned());
        }
    }
}

fn encoder_state<'a>(
    state: &'a mut Option<EncoderState>,
    format: UiFormat,
    options: &EncoderOptions,
    first_run: &SharedId,
) -> &'a mut EncoderState {
    state.get_or_insert_with(|| {
        let run = options.run.as_ref().unwrap_or(first_run);
        let (encoder, open_requests) = match format {
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
        EncoderState { run: run.clone(), tracker: ChangeTracker::new(run, open_requests), encoder }
    })
}

/// Appends frames and numbers them.
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
