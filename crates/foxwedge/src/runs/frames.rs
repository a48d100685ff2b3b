//! Runs in the words of user interfaces: an encoder for each run, and its frames as text.

use std::collections::HashMap;

use foxwedge_run::{
    Body, Change, Effect, Id,
    encode::{self, Encoder, Format, Frame, FrameId, Options},
};

use crate::cli::{AgUi, FrameArgs};

/// Writes the frames of one run after the other.
pub(crate) struct Frames {
    format: Format,
    args: FrameArgs,
    /// The session as clients know it, if it was named.
    session: Option<Id>,
    /// What the reader has seen already.
    after: Option<FrameId>,
    encoders: HashMap<Id, Encoder>,
}

impl Frames {
    /// Begins to write.
    pub(crate) fn new(format: Format, args: FrameArgs, session: Option<Id>) -> Frames {
        Frames { format, args, session, after: None, encoders: HashMap::new() }
    }

    /// Leaves out what the reader has seen.
    pub(crate) fn after(mut self, after: Option<FrameId>) -> Frames {
        self.after = after;
        self
    }

    /// Takes an effect, and adds what it comes to.
    pub(crate) fn push(&mut self, effect: &Effect, out: &mut String) {
        let mut frames = Vec::new();
        match effect {
            // An encoder is told its session before anything else.
            Effect::Emit(event) => self.encoder(&event.run, effect).push(effect, &mut frames),
            Effect::Show { run, change } => {
                let encoder = self.encoder(run, effect);
                encoder.push(effect, &mut frames);
                if matches!(change, Change::RunEnded { .. }) {
                    encoder.finish(&mut frames);
                    // Nothing comes behind the end.
                    self.encoders.remove(run);
                }
            }
            Effect::Resolve { .. }
            | Effect::CallOff { .. }
            | Effect::Announce { .. }
            | Effect::Drain { .. }
            | Effect::Warn(_) => {}
        }
        frames.iter().for_each(|frame| self.write(frame, out));
    }

    fn encoder(&mut self, run: &Id, effect: &Effect) -> &mut Encoder {
        let (format, args, session) = (self.format, self.args, &self.session);
        self.encoders.entry(run.clone()).or_insert_with(|| {
            let session = session.clone().or_else(|| told(effect)).unwrap_or_else(|| run.clone());
            let agui = match args.agui {
                AgUi::V0 => encode::AgUi::V0,
                AgUi::V1 => encode::AgUi::V1,
            };
            let options = Options { run: Some(run.clone()), agui, ..Options::new(&session) };
            Encoder::new(format, options)
        })
    }

    fn write(&self, frame: &Frame, out: &mut String) {
        if self.after.is_some_and(|after| frame.id <= after) {
            return;
        }
        match self.args.sse {
            true => frame.write_sse(out),
            false => frame.write_line(out),
        }
    }
}

/// The session that the start of a run names.
fn told(effect: &Effect) -> Option<Id> {
    let Effect::Emit(event) = effect else { return None };
    let Body::Started(started) = &event.body else { return None };
    started.session.clone()
}
