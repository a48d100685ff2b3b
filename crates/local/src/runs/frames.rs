//! Writes runs in the formats of user interfaces, with one encoder per run.

use std::collections::HashMap;

use foxwedge_run::{
    EventPayload, RunEffect, SharedId, UiChange,
    encode::{AcpRevision, AgUiRevision, EncoderOptions, FrameId, RunEncoder, UiFormat, UiFrame},
};

/// How frames are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunFrameOptions {
    /// As server-sent events, with ids that clients can resume from; otherwise one line each.
    pub sse: bool,
    /// The revision of AG-UI.
    pub agui: AgUiRevision,
    /// The revision of the Agent Client Protocol.
    pub acp: AcpRevision,
}

/// Writes the frames of several runs.
pub struct RunFrameWriter {
    format: UiFormat,
    options: RunFrameOptions,
    /// The session id that clients know, if one was given.
    session: Option<SharedId>,
    /// The last frame that the reader has seen.
    after: Option<FrameId>,
    encoders: HashMap<SharedId, RunEncoder>,
}

impl RunFrameWriter {
    /// Writes frames of a format. Clients may know the session by another id.
    pub fn new(
        format: UiFormat,
        options: RunFrameOptions,
        session: Option<SharedId>,
    ) -> RunFrameWriter {
        RunFrameWriter { format, options, session, after: None, encoders: HashMap::new() }
    }

    /// Skips frames that the reader has seen.
    pub fn after(mut self, after: Option<FrameId>) -> RunFrameWriter {
        self.after = after;
        self
    }

    /// Encodes an effect and appends its frames.
    pub fn push(&mut self, effect: &RunEffect, out: &mut String) {
        let mut frames = Vec::new();
        match effect {
            // The first event sets the session of the encoder.
            RunEffect::Emit(event) => self.encoder(&event.run, effect).push(effect, &mut frames),
            RunEffect::Show { run, change } => {
                let encoder = self.encoder(run, effect);
                encoder.push(effect, &mut frames);
                if matches!(change, UiChange::RunEnded { .. }) {
                    encoder.finish(&mut frames);
                    // No frame follows the end.
                    self.encoders.remove(run);
                }
            }
            RunEffect::Resolve { .. }
            | RunEffect::CancelTool { .. }
            | RunEffect::Announce { .. }
            | RunEffect::Drain { .. }
            | RunEffect::Warn(_) => {}
        }
        frames.iter().for_each(|frame| self.write(frame, out));
    }

    fn encoder(&mut self, run: &SharedId, effect: &RunEffect) -> &mut RunEncoder {
        let (format, session) = (self.format, &self.session);
        let RunFrameOptions { agui, acp, .. } = self.options;
        self.encoders.entry(run.clone()).or_insert_with(|| {
            let session =
                session.clone().or_else(|| started_session(effect)).unwrap_or_else(|| run.clone());
            let options = EncoderOptions {
                run: Some(run.clone()),
                agui,
                acp,
                ..EncoderOptions::new(&session)
            };
            RunEncoder::new(format, options)
        })
    }

    fn write(&self, frame: &UiFrame, out: &mut String) {
        if self.after.is_some_and(|after| frame.id <= after) {
            return;
        }
        match self.options.sse {
            true => frame.write_sse(out),
            false => frame.write_line(out),
        }
    }
}

/// The session that the start of a run names.
fn started_session(effect: &RunEffect) -> Option<SharedId> {
    let RunEffect::Emit(event) = effect else { return None };
    let EventPayload::Started(started) = &event.body else { return None };
    started.session.clone()
}
