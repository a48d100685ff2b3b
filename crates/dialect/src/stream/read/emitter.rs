//! What a reader tells, and what it has told before.

use crate::{
    json::{JsonObject, ScanResult},
    model::{JsonText, LossKind, ProviderError, StopReason, TextCitation, TokenUsage},
    stream::event::{BlockDelta, BlockStart, EventSink, ReplyHead, StreamEvent, StreamLoss},
};

use super::fields::{non_empty_text, optional_count};

/// What was told of a stream so far.
#[derive(Debug, Default)]
pub(super) struct EmitterState {
    started: bool,
    id: bool,
    model: bool,
    created: bool,
    /// How many blocks have begun: each gets a number of its own.
    blocks: u32,
    /// The model has stopped.
    pub(super) stopped: bool,
    /// There is nothing more to tell.
    pub(super) ended: bool,
    /// Of what kinds something was left out.
    skipped: Vec<String>,
}

/// Tells what happens.
pub(super) struct EventEmitter<'s> {
    pub(super) sink: &'s mut dyn EventSink,
    pub(super) state: &'s mut EmitterState,
}

/// Names that are remembered of what was left out.
const MAX_NAMES: usize = 64;

impl EventEmitter<'_> {
    /// The answer begins, or more is known about it.
    pub(super) fn start(&mut self, mut head: ReplyHead<'_>) {
        head.id = head.id.filter(|id| !self.state.id && !id.is_empty());
        head.model = head.model.filter(|model| !self.state.model && !model.is_empty());
        head.created = head.created.filter(|created| !self.state.created && *created > 0);
        if head == ReplyHead::default() && self.state.started {
            return;
        }
        self.state.id |= head.id.is_some();
        self.state.model |= head.model.is_some();
        self.state.created |= head.created.is_some();
        self.state.started = true;
        self.sink.event(StreamEvent::Start(head));
    }

    /// The answer begins if this object says anything about it that was not known.
    pub(super) fn start_from(
        &mut self,
        object: &JsonObject<'_, '_>,
        keys: [&str; 3],
    ) -> ScanResult<()> {
        if self.state.id && self.state.model && self.state.created {
            return Ok(());
        }
        let [id, model, created] = keys;
        let head = ReplyHead {
            id: non_empty_text(object, id)?,
            model: non_empty_text(object, model)?,
            created: optional_count(object, created).filter(|created| *created > 0),
        };
        if head != ReplyHead::default() {
            self.start(head);
        }
        Ok(())
    }

    /// The answer has begun, whatever is known about it.
    pub(super) fn ensure_started(&mut self) {
        if !self.state.started {
            self.start(ReplyHead::default());
        }
    }

    /// A block begins; says its number.
    pub(super) fn open(&mut self, kind: BlockStart<'_>) -> u32 {
        self.ensure_started();
        let block = self.state.blocks;
        self.state.blocks += 1;
        self.sink.event(StreamEvent::Open { block, kind });
        block
    }

    /// A block goes on, if there is any text.
    pub(super) fn text(&mut self, block: u32, text: JsonText<'_>) {
        if !text.is_empty() {
            self.delta(block, BlockDelta::Text(text));
        }
    }

    pub(super) fn citation(&mut self, block: u32, citation: TextCitation<'_>) {
        self.delta(block, BlockDelta::Citation(citation));
    }

    pub(super) fn delta(&mut self, block: u32, piece: BlockDelta<'_>) {
        self.sink.event(StreamEvent::Delta { block, delta: piece });
    }

    pub(super) fn close(&mut self, block: u32) {
        self.sink.event(StreamEvent::Close { block });
    }

    /// Figures, if there are any.
    pub(super) fn usage(&mut self, usage: TokenUsage) {
        if !usage.is_empty() {
            self.sink.event(StreamEvent::Usage(usage));
        }
    }

    /// The model has stopped; the first reason counts.
    pub(super) fn stop(&mut self, stop: StopReason<'_>) {
        if !self.state.stopped {
            self.ensure_started();
            self.state.stopped = true;
            self.sink.event(StreamEvent::Stop(stop));
        }
    }

    pub(super) fn end(&mut self) {
        self.ensure_started();
        self.state.ended = true;
        self.sink.event(StreamEvent::End);
    }

    pub(super) fn fail(&mut self, failure: ProviderError<'_>) {
        self.state.ended = true;
        self.sink.event(StreamEvent::Failed(failure));
    }

    /// The bytes have ended without a word about it.
    pub(super) fn finish_bytes(&mut self) {
        if self.state.stopped {
            self.end();
        } else {
            self.state.ended = true;
            self.sink.event(StreamEvent::Truncated);
        }
    }

    /// Something was left out.
    pub(super) fn skip(&mut self, what: LossKind, note: impl Into<String>) {
        self.sink.skip(StreamLoss { kind: what, note: note.into() });
    }

    /// Something of this name was left out: said the first time only.
    pub(super) fn skip_once(&mut self, what: LossKind, name: &str, note: impl FnOnce() -> String) {
        let skipped = &mut self.state.skipped;
        if skipped.len() > MAX_NAMES || skipped.iter().any(|known| known == name) {
            return;
        }
        skipped.push(name.to_owned());
        if skipped.len() > MAX_NAMES {
            self.skip(LossKind::Unknown, "more of other kinds was left out");
        } else {
            self.skip(what, note());
        }
    }

    /// An event of a kind that nobody knows.
    pub(super) fn unknown_event(&mut self, name: &str) {
        self.skip_once(LossKind::Unknown, name, || match name {
            "" => "events that say not what they are were left out".to_owned(),
            name => format!("events `{name}` were left out"),
        });
    }
}
