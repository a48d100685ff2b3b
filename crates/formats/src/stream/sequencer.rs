//! Puts the events of a reader into an order that every writer accepts.
//!
//! Readers follow their format: blocks with any numbers, several open at once, calls that are never
//! closed. After the sequencer, a reply starts once, its blocks are numbered from zero and follow
//! each other, and nothing follows the end. A block that starts while another is open waits until
//! that one is complete. A call is also complete when its arguments are a complete JSON value and
//! another block is queued. A block that is cut off stays open, so that a truncated call never
//! looks complete.

mod arguments;
mod queued_block;

use std::collections::{HashMap, VecDeque};

use foxwedge_core::{CallFamily, Format};

use crate::{
    conversation::{
        CallIds, IdentifierReplacement, JsonText, LossKind, StopReason, TokenUsage, stop_reasons,
    },
    event::{
        BlockDelta, BlockStart, EventSink, ReplyHead, StreamEvent, StreamLoss,
        owned::{borrowed_text, owned_start},
    },
};
pub use arguments::ArgumentsTracker;
use queued_block::{QueuedBlock, QueuedDelta};

/// Sequences the events of one reply.
pub(crate) struct EventSequencer {
    /// Assigns call ids. `None` keeps them unchanged.
    ids: Option<CallIds>,
    /// Whether to report arguments that are no object.
    notes_arguments: bool,
    /// The metadata of the reply so far.
    head: ReplyHead<'static>,
    /// Defaults for metadata that the provider does not send.
    fallback: ReplyHead<'static>,
    /// The model name to write in any case.
    model_name: Option<JsonText<'static>>,
    /// The id of the reply to write in any case.
    reply_id: Option<JsonText<'static>>,
    /// Maps replaced tool names to the names in the request.
    names: HashMap<String, String>,
    started: bool,
    stage: SequencerStage,
    open_block: Option<OpenBlock>,
    queue: VecDeque<QueuedBlock>,
    /// Size of the queue in bytes.
    bytes: usize,
    /// Size of the assigned ids in bytes.
    id_bytes: usize,
    blocks: u32,
    calls: u32,
    /// Blocks that were closed because their arguments were complete.
    completed: Vec<u32>,
    usage: TokenUsage,
    scratch: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SequencerStage {
    Streaming,
    Stopped,
    Ended,
}

/// The open block of the writer.
struct OpenBlock {
    /// The writer's number.
    block: u32,
    /// The reader's number.
    source: u32,
    /// State of the arguments, for calls with JSON arguments.
    arguments: Option<ArgumentsTracker>,
}

impl EventSequencer {
    /// A sequencer for a writer of that format.
    pub(crate) fn new(to: Format, seed: &str, fallback: ReplyHead<'static>) -> EventSequencer {
        EventSequencer {
            ids: Some(CallIds::new(to, seed)),
            notes_arguments: streams_objects(to),
            fallback,
            ..EventSequencer::keeping_ids()
        }
    }

    /// Sets the model name to write.
    pub(crate) fn with_model(mut self, model: String) -> EventSequencer {
        self.model_name = Some(model.into());
        self
    }

    /// Sets the id of the reply to write.
    pub(crate) fn with_reply_id(mut self, id: String) -> EventSequencer {
        self.reply_id = Some(id.into());
        self
    }

    /// Restores the tool names of the request.
    pub(crate) fn with_names(mut self, names: Vec<IdentifierReplacement>) -> EventSequencer {
        self.names = names.into_iter().map(|name| (name.new, name.old)).collect();
        self
    }

    /// A sequencer that keeps call ids unchanged.
    pub(crate) fn keeping_ids() -> EventSequencer {
        EventSequencer {
            ids: None,
            notes_arguments: false,
            head: ReplyHead::default(),
            fallback: ReplyHead::default(),
            model_name: None,
            reply_id: None,
            names: HashMap::new(),
            started: false,
            stage: SequencerStage::Streaming,
            open_block: None,
            queue: VecDeque::new(),
            bytes: 0,
            id_bytes: 0,
            blocks: 0,
            calls: 0,
            completed: Vec::new(),
            usage: TokenUsage::default(),
            scratch: String::new(),
        }
    }

    /// Accepts an event of a reader and passes on all events that are ready.
    pub(crate) fn accept(&mut self, event: StreamEvent<'_>, next: &mut dyn EventSink) {
        if self.stage == SequencerStage::Ended {
            return;
        }
        match event {
            StreamEvent::Start(head) => self.start(&head, next),
            StreamEvent::Open { block, kind } => self.open_block(block, kind, next),
            StreamEvent::Delta { block, delta } => self.add_delta(block, delta, next),
            StreamEvent::Close { block } => self.close_block(block, next),
            StreamEvent::Usage(usage) => {
                self.usage.update(usage);
                // Usage before the start is sent with the start.
                if self.started {
                    next.event(StreamEvent::Usage(self.usage));
                }
            }
            StreamEvent::Stop(stop) => self.stop_reply(stop, next),
            StreamEvent::End if self.is_incomplete() => self.accept(StreamEvent::Truncated, next),
            StreamEvent::End => {
                let stop = if self.calls + self.queued_calls() > 0 {
                    StopReason::ToolCalls
                } else {
                    StopReason::End
                };
                self.stop_reply(stop, next);
                self.stage = SequencerStage::Ended;
                next.event(StreamEvent::End);
            }
            StreamEvent::Failed(_) | StreamEvent::Truncated => {
                self.emit_start(next);
                self.drop_queue(next);
                self.stage = SequencerStage::Ended;
                next.event(event);
            }
        }
    }

    /// Whether an end would be too early: before the model stopped, inside a call, or before the
    /// start of the reply.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.stage == SequencerStage::Streaming && (!self.started || self.has_incomplete_call())
    }

    /// Whether an open call lacks arguments.
    fn has_incomplete_call(&self) -> bool {
        let is_open = |arguments: &Option<ArgumentsTracker>| {
            arguments.is_some_and(|arguments| !arguments.is_complete())
        };
        self.open_block.as_ref().is_some_and(|current| is_open(&current.arguments))
            || self.queue.iter().any(|queued| !queued.complete && is_open(&queued.arguments))
    }

    /// Whether an end, a failure or a truncation was passed on.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == SequencerStage::Ended
    }

    /// Number of buffered bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.bytes + self.id_bytes
    }

    /// The call ids that the target format does not accept, and their replacements.
    pub(crate) fn renamed(&self) -> &[IdentifierReplacement] {
        self.ids.as_ref().map_or(&[], CallIds::renamed)
    }

    fn start(&mut self, head: &ReplyHead<'_>, next: &mut dyn EventSink) {
        let non_empty = |text: &Option<JsonText<'_>>| {
            text.as_ref().filter(|text| !text.is_empty()).map(JsonText::to_static)
        };
        let known = &mut self.head;
        known.id = known.id.take().or_else(|| non_empty(&head.id));
        known.model = known.model.take().or_else(|| non_empty(&head.model));
        known.created = known.created.or(head.created);
        // Some providers start with a chunk without id and model; the next chunk has them.
        if known.id.is_some() || known.model.is_some() {
            self.emit_start(next);
        }
    }

    fn emit_start(&mut self, next: &mut dyn EventSink) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let (head, fallback) = (&self.head, &self.fallback);
        let model = head.model.as_ref().or(fallback.model.as_ref());
        next.event(StreamEvent::Start(ReplyHead {
            id: known_reply_id(&self.reply_id, head, fallback).map(borrowed_text),
            model: self.model_name.as_ref().or(model).map(borrowed_text),
            created: head.created.or(fallback.created),
        }));
        if !self.usage.is_empty() {
            next.event(StreamEvent::Usage(self.usage));
        }
    }

    fn open_block(&mut self, source: u32, kind: BlockStart<'_>, next: &mut dyn EventSink) {
        if self.stage == SequencerStage::Stopped {
            return next.skip(StreamLoss {
                kind: LossKind::Unknown,
                note: "a block that begins after the stop reason is left out".to_owned(),
            });
        }
        self.emit_start(next);
        if self.open_block.as_ref().is_some_and(OpenBlock::is_complete) {
            self.complete_call(next);
        }
        if self.open_block.is_none() {
            return self.start_block(source, &kind, next);
        }
        let queued = QueuedBlock::new(source, owned_start(&kind), track_arguments(&kind));
        self.bytes += queued.bytes();
        self.queue.push_back(queued);
    }

    /// Opens a block at the writer.
    fn start_block(&mut self, source: u32, kind: &BlockStart<'_>, next: &mut dyn EventSink) {
        let block = self.blocks;
        self.blocks += 1;
        self.open_block = Some(OpenBlock { block, source, arguments: track_arguments(kind) });
        let BlockStart::Call { id, name, family, signature } = kind else {
            return next.event(StreamEvent::Open { block, kind: kind.clone() });
        };
        self.calls += 1;
        let reply = known_reply_id(&self.reply_id, &self.head, &self.fallback);
        let id = match &mut self.ids {
            Some(ids) => {
                // Ids must be unique, so all of them are kept.
                self.id_bytes += 64 + 2 * id.as_ref().map_or(0, |id| id.len());
                ids.next(reply.map(|id| &**id), id.as_deref()).map(JsonText::from)
            }
            None => id.as_ref().map(borrowed_text),
        };
        let name = match self.names.get(&**name) {
            Some(old) => JsonText::from(old.as_str()),
            None => name.clone(),
        };
        let family = *family;
        let kind = BlockStart::Call { id, name, family, signature: signature.clone() };
        next.event(StreamEvent::Open { block, kind });
    }

    fn add_delta(&mut self, source: u32, delta: BlockDelta<'_>, next: &mut dyn EventSink) {
        // If several blocks have the same number, the newest one counts.
        if let Some(queued) = self.queue.iter_mut().rev().find(|queued| queued.source == source) {
            if !queued.complete {
                let before = queued.bytes();
                queued.push(&delta);
                self.bytes += queued.bytes() - before;
                return;
            }
        } else if let Some(current) =
            self.open_block.as_mut().filter(|current| current.source == source)
        {
            if let (BlockDelta::Text(text), Some(arguments)) = (&delta, &mut current.arguments) {
                self.scratch.clear();
                text.write_unquoted(&mut self.scratch);
                arguments.push(&self.scratch);
            }
            next.event(StreamEvent::Delta { block: current.block, delta });
            if !self.queue.is_empty()
                && self.open_block.as_ref().is_some_and(OpenBlock::is_complete)
            {
                self.complete_call(next);
                self.release_queue(next);
            }
            return;
        }
        self.drop_late_delta(source, &delta, next);
    }

    /// Reports a delta of a block that is already closed.
    fn drop_late_delta(&self, source: u32, delta: &BlockDelta<'_>, next: &mut dyn EventSink) {
        let (kind, note) = match delta {
            // Models often write a line break after their arguments.
            BlockDelta::Text(text) if text.trim().is_empty() => return,
            BlockDelta::Text(_) if self.completed.contains(&source) => {
                (LossKind::Arguments, "content after complete arguments is left out")
            }
            BlockDelta::Text(_) => (LossKind::Unknown, "text for a closed block is left out"),
            BlockDelta::Signature(_) | BlockDelta::Encrypted(_) => {
                (LossKind::Signature, "a signature for a closed block is left out")
            }
            BlockDelta::Citation(_) => {
                (LossKind::Citation, "a citation for a closed block is left out")
            }
        };
        next.skip(StreamLoss { kind, note: note.to_owned() });
    }

    fn close_block(&mut self, source: u32, next: &mut dyn EventSink) {
        if let Some(queued) = self.queue.iter_mut().rev().find(|queued| queued.source == source) {
            queued.complete = true;
        } else if self.open_block.as_ref().is_some_and(|current| current.source == source) {
            self.close_open_block(true, next);
            self.release_queue(next);
        }
    }

    /// Closes a call because its arguments are complete.
    fn complete_call(&mut self, next: &mut dyn EventSink) {
        self.completed.extend(self.open_block.as_ref().map(|current| current.source));
        self.close_open_block(true, next);
    }

    /// Closes the open block. A complete call without arguments gets an empty object.
    fn close_open_block(&mut self, complete: bool, next: &mut dyn EventSink) {
        let Some(OpenBlock { block, arguments, .. }) = self.open_block.take() else { return };
        match arguments.map(|arguments| (arguments.is_blank(), arguments.is_object())) {
            Some((true, _)) if complete => {
                next.event(StreamEvent::Delta { block, delta: BlockDelta::Text("{}".into()) });
            }
            Some((false, false)) if self.notes_arguments => next.skip(StreamLoss {
                kind: LossKind::Arguments,
                note: "the arguments of a call are not a JSON object and are passed on unchanged"
                    .to_owned(),
            }),
            _ => {}
        }
        next.event(StreamEvent::Close { block });
    }

    /// Passes on queued blocks up to the first incomplete one.
    fn release_queue(&mut self, next: &mut dyn EventSink) {
        while self.open_block.is_none() {
            let Some(queued) = self.queue.pop_front() else { return };
            let (complete, is_last) = (queued.complete, self.queue.is_empty());
            self.release_block(queued, next);
            if complete {
                self.close_open_block(true, next);
            } else if !is_last && self.open_block.as_ref().is_some_and(OpenBlock::is_complete) {
                self.complete_call(next);
            }
        }
    }

    fn release_block(&mut self, queued: QueuedBlock, next: &mut dyn EventSink) {
        self.bytes -= queued.bytes();
        self.start_block(queued.source, &queued.kind, next);
        let Some(current) = &mut self.open_block else { return };
        current.arguments = queued.arguments;
        for queued_delta in &queued.deltas {
            let delta = match queued_delta {
                QueuedDelta::Text(raw) => BlockDelta::Text(JsonText::from_json((raw, true))),
                QueuedDelta::Other(delta) => delta.clone(),
            };
            next.event(StreamEvent::Delta { block: current.block, delta });
        }
    }

    fn stop_reply(&mut self, stop: StopReason<'_>, next: &mut dyn EventSink) {
        if self.stage == SequencerStage::Stopped {
            return;
        }
        self.emit_start(next);
        let (stop, note) = match self.has_incomplete_call() {
            true => stop_reasons::of_incomplete_call(stop),
            false => (stop, None),
        };
        if let Some(note) = note {
            next.skip(StreamLoss { kind: LossKind::StopReason, note });
        }
        let cut_short = stop.is_cut_short();
        self.close_open_block(!cut_short || !self.queue.is_empty(), next);
        while let Some(queued) = self.queue.pop_front() {
            let complete = queued.complete || !cut_short || !self.queue.is_empty();
            self.release_block(queued, next);
            self.close_open_block(complete, next);
        }
        self.stage = SequencerStage::Stopped;
        let stop =
            if self.calls == 0 && stop == StopReason::ToolCalls { StopReason::End } else { stop };
        next.event(StreamEvent::Stop(stop));
    }

    fn queued_calls(&self) -> u32 {
        let calls =
            self.queue.iter().filter(|queued| matches!(queued.kind, BlockStart::Call { .. }));
        u32::try_from(calls.count()).unwrap_or(u32::MAX)
    }

    fn drop_queue(&mut self, next: &mut dyn EventSink) {
        for queued in self.queue.drain(..) {
            let (kind, block) = match queued.kind {
                BlockStart::Text | BlockStart::Refusal => (LossKind::Unknown, "text"),
                BlockStart::Reasoning | BlockStart::Redacted(_) => {
                    (LossKind::Reasoning, "reasoning")
                }
                BlockStart::Call { .. } => (LossKind::Arguments, "a call"),
            };
            let note = format!("{block} after the block that was cut off is left out");
            next.skip(StreamLoss { kind, note });
        }
        self.bytes = 0;
    }

    /// Memory in use, in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        let queue_bytes = self.queue.capacity() * size_of::<QueuedBlock>();
        self.bytes + queue_bytes + self.scratch.capacity() + self.completed.capacity() * 4
    }
}

impl OpenBlock {
    fn is_complete(&self) -> bool {
        self.arguments.is_some_and(|arguments| arguments.is_complete())
    }
}

/// Whether a format has calls whose arguments are an object, and streams them in parts: what is no
/// object is passed on before that is known. OpenAI's formats have texts, and Gemini whole calls.
fn streams_objects(format: Format) -> bool {
    match format {
        Format::Anthropic | Format::Bedrock | Format::GeminiInteractions => true,
        Format::OpenaiChat | Format::OpenaiResponses | Format::Gemini => false,
    }
}

/// The id of the reply: the given one, or that of the provider.
fn known_reply_id<'h>(
    given: &'h Option<JsonText<'static>>,
    head: &'h ReplyHead<'static>,
    fallback: &'h ReplyHead<'static>,
) -> Option<&'h JsonText<'static>> {
    given.as_ref().or(head.id.as_ref()).or(fallback.id.as_ref())
}

/// A tracker for the arguments of a call, if they are JSON.
fn track_arguments(kind: &BlockStart<'_>) -> Option<ArgumentsTracker> {
    match kind {
        BlockStart::Call { family: CallFamily::Custom, .. } => None,
        BlockStart::Call { .. } => Some(ArgumentsTracker::default()),
        BlockStart::Text
        | BlockStart::Refusal
        | BlockStart::Reasoning
        | BlockStart::Redacted(_) => None,
    }
}

#[cfg(test)]
mod tests;
