//! Emits the events of a reader and tracks what was emitted before.

use crate::{
    conversation::{
        JsonText, LossKind, PartNotes, ProviderError, StopReason, TextCitation, TokenUsage,
        response::{dropped_field_note, has_content},
    },
    event::{BlockDelta, BlockStart, EventSink, ReplyHead, StreamEvent, StreamLoss},
};
use foxwedge_json::{JsonObject, ScanResult};

use super::fields::{non_empty_text, optional_count};

/// What was emitted for a stream so far.
#[derive(Debug, Default)]
pub(crate) struct EmitterState {
    started: bool,
    id: bool,
    model: bool,
    created: bool,
    /// Number of started blocks: the next block number.
    blocks: u32,
    /// The model stopped.
    pub(crate) stopped: bool,
    /// The reply is over.
    pub(crate) ended: bool,
    /// The names of losses reported by [`EventEmitter::skip_once`].
    skipped: Vec<String>,
}

/// Emits events to a sink.
pub(crate) struct EventEmitter<'s> {
    pub(crate) sink: &'s mut dyn EventSink,
    pub(crate) state: &'s mut EmitterState,
}

/// Maximum number of remembered loss names.
const MAX_NAMES: usize = 64;

impl EventEmitter<'_> {
    /// Starts the reply, or adds metadata that was unknown.
    pub(crate) fn start(&mut self, mut head: ReplyHead<'_>) {
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

    /// Starts the reply if the object has metadata that was unknown.
    pub(crate) fn start_from(
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

    /// Starts the reply, unless it has started.
    pub(crate) fn ensure_started(&mut self) {
        if !self.state.started {
            self.start(ReplyHead::default());
        }
    }

    /// Starts a block. Returns its number.
    pub(crate) fn open(&mut self, kind: BlockStart<'_>) -> u32 {
        self.ensure_started();
        let block = self.state.blocks;
        self.state.blocks += 1;
        self.sink.event(StreamEvent::Open { block, kind });
        block
    }

    /// Adds text to a block, unless it is empty.
    pub(crate) fn text(&mut self, block: u32, text: JsonText<'_>) {
        if !text.is_empty() {
            self.delta(block, BlockDelta::Text(text));
        }
    }

    pub(crate) fn citation(&mut self, block: u32, citation: TextCitation<'_>) {
        self.delta(block, BlockDelta::Citation(citation));
    }

    pub(crate) fn delta(&mut self, block: u32, delta: BlockDelta<'_>) {
        self.sink.event(StreamEvent::Delta { block, delta });
    }

    pub(crate) fn close(&mut self, block: u32) {
        self.sink.event(StreamEvent::Close { block });
    }

    /// Emits usage, unless it is empty.
    pub(crate) fn usage(&mut self, usage: TokenUsage) {
        if !usage.is_empty() {
            self.sink.event(StreamEvent::Usage(usage));
        }
    }

    /// Emits the stop reason. Only the first one counts.
    pub(crate) fn stop(&mut self, stop: StopReason<'_>) {
        if !self.state.stopped {
            self.ensure_started();
            self.state.stopped = true;
            self.sink.event(StreamEvent::Stop(stop));
        }
    }

    pub(crate) fn end(&mut self) {
        self.ensure_started();
        self.state.ended = true;
        self.sink.event(StreamEvent::End);
    }

    pub(crate) fn fail(&mut self, error: ProviderError<'_>) {
        self.state.ended = true;
        self.sink.event(StreamEvent::Failed(error));
    }

    /// Ends the reply where the bytes end without an end marker.
    pub(crate) fn finish_bytes(&mut self) {
        if self.state.stopped {
            self.end();
        } else {
            self.state.ended = true;
            self.sink.event(StreamEvent::Truncated);
        }
    }

    /// Reports a loss.
    pub(crate) fn skip(&mut self, kind: LossKind, note: impl Into<String>) {
        self.sink.skip(StreamLoss { kind, note: note.into() });
    }

    /// Reports a loss once per name.
    pub(crate) fn skip_once(&mut self, kind: LossKind, name: &str, note: impl FnOnce() -> String) {
        let skipped = &mut self.state.skipped;
        if skipped.len() > MAX_NAMES || skipped.iter().any(|known| known == name) {
            return;
        }
        skipped.push(name.to_owned());
        if skipped.len() > MAX_NAMES {
            self.skip(LossKind::Unknown, "content of further kinds was left out");
        } else {
            self.skip(kind, note());
        }
    }

    /// Reports the fields of a call that another format cannot represent, once per field.
    pub(crate) fn skip_call_fields(&mut self, notes: Option<PartNotes<'_>>) {
        for key in notes.into_iter().flat_map(|notes| notes.unknown_fields) {
            let note = format!("the field `{key}` is not supported in this format");
            self.skip_once(LossKind::Unknown, &note, || note.clone());
        }
    }

    /// Reports a field of the reply that is left out, unless it is empty.
    pub(crate) fn skip_field(&mut self, object: &JsonObject<'_, '_>, key: &str) {
        if object.get(key).is_some_and(has_content) {
            let note = dropped_field_note(key);
            self.skip_once(LossKind::Unknown, &note, || note.clone());
        }
    }

    /// Reports an event of an unknown kind.
    pub(crate) fn unknown_event(&mut self, name: &str) {
        self.skip_once(LossKind::Unknown, name, || match name {
            "" => "events without a type were left out".to_owned(),
            name => format!("events `{name}` were left out"),
        });
    }
}
