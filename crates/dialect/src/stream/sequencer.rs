//! Puts what a reader says into the order that every writer can take.
//!
//! Readers speak as their format does: blocks under any numbers, several open at once, calls that
//! nobody closes. Behind this point an answer begins once, its blocks are numbered from zero and
//! stand one behind the other, and what is over is over. A block that begins while another is open
//! waits until that one is whole; a call is also whole when its arguments are a whole JSON value and
//! another block waits behind it. What is cut off stays open: a call never becomes a whole one by
//! accident.

mod arguments;
mod queued_block;
mod owned;

use std::collections::{HashMap, VecDeque};

use foxwedge_core::{CallFamily, Format};

use super::event::{BlockDelta, BlockStart, EventSink, ReplyHead, StreamEvent, StreamLoss};
use crate::model::{CallIds, IdentifierReplacement, JsonText, LossKind, StopReason, TokenUsage};
use arguments::ArgumentsTracker;
use queued_block::{QueuedBlock, QueuedDelta};

pub(super) use owned::{borrowed_text, owned_citation, owned_error, owned_start, owned_stop};

/// One answer on its way from a reader to a writer.
pub(crate) struct EventSequencer {
    /// Gives out ids; without it they stay as they are.
    ids: Option<CallIds>,
    /// What is known about the answer so far.
    head: ReplyHead<'static>,
    /// What stands in where the provider says nothing.
    fallback: ReplyHead<'static>,
    /// The model that is named in any case.
    model_name: Option<JsonText<'static>>,
    /// New names of tools, and the names that the request had.
    names: HashMap<String, String>,
    started: bool,
    stage: SequencerStage,
    open_block: Option<OpenBlock>,
    queue: VecDeque<QueuedBlock>,
    /// The bytes of everything that waits.
    bytes: usize,
    /// The bytes of the ids that were given out.
    id_bytes: usize,
    blocks: u32,
    calls: u32,
    /// Blocks that were closed because their arguments were whole.
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

/// The block that the writer has open.
struct OpenBlock {
    /// Its number there.
    block: u32,
    /// The reader's number.
    source: u32,
    /// How far the arguments are, for calls whose arguments are JSON.
    arguments: Option<ArgumentsTracker>,
}

impl EventSequencer {
    /// For a writer of that format.
    pub(crate) fn new(to: Format, seed: &str, fallback: ReplyHead<'static>) -> EventSequencer {
        EventSequencer {
            ids: Some(CallIds::new(to, seed)),
            fallback,
            ..EventSequencer::keeping_ids()
        }
    }

    /// The same, for an answer of a model with that name.
    pub(crate) fn with_model(mut self, model: String) -> EventSequencer {
        self.model_name = Some(model.into());
        self
    }

    /// The same, with tools called as the request called them.
    pub(crate) fn with_names(mut self, names: Vec<IdentifierReplacement>) -> EventSequencer {
        self.names = names.into_iter().map(|name| (name.new, name.old)).collect();
        self
    }

    /// For nobody in particular: ids stay as they are.
    pub(crate) fn keeping_ids() -> EventSequencer {
        EventSequencer {
            ids: None,
            head: ReplyHead::default(),
            fallback: ReplyHead::default(),
            model_name: None,
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

    /// Takes what a reader says and hands on what is due.
    pub(crate) fn accept(&mut self, event: StreamEvent<'_>, next: &mut dyn EventSink) {
        if self.stage == SequencerStage::Ended {
            return;
        }
        match event {
            StreamEvent::Start(head) => self.start(&head, next),
            StreamEvent::Open { block, kind } => self.open_block(block, kind, next),
            StreamEvent::Delta { block, delta: piece } => self.add_delta(block, piece, next),
            StreamEvent::Close { block } => self.close_block(block, next),
            StreamEvent::Usage(usage) => {
                self.usage.update(usage);
                // Before the beginning the figures wait for it.
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

    /// Whether an end would come too early: before the model has stopped, inside a call, or before
    /// anything was said.
    pub(crate) fn is_incomplete(&self) -> bool {
        let open = |arguments: &Option<ArgumentsTracker>| {
            arguments.is_some_and(|arguments| !arguments.is_complete())
        };
        self.stage == SequencerStage::Streaming
            && (!self.started
                || self.open_block.as_ref().is_some_and(|live| open(&live.arguments))
                || self.queue.iter().any(|held| !held.complete && open(&held.arguments)))
    }

    /// Whether the end, a failure or a cut was handed on.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == SequencerStage::Ended
    }

    /// How many bytes of the answer are kept.
    pub(crate) fn held_bytes(&self) -> usize {
        self.bytes + self.id_bytes
    }

    /// The ids that the format did not take.
    pub(crate) fn renamed(&self) -> &[IdentifierReplacement] {
        self.ids.as_ref().map_or(&[], CallIds::renamed)
    }

    fn start(&mut self, head: &ReplyHead<'_>, next: &mut dyn EventSink) {
        let said = |words: &Option<JsonText<'_>>| {
            words.as_ref().filter(|words| !words.is_empty()).map(JsonText::to_static)
        };
        let known = &mut self.head;
        known.id = known.id.take().or_else(|| said(&head.id));
        known.model = known.model.take().or_else(|| said(&head.model));
        known.created = known.created.or(head.created);
        // Some providers open with a chunk that names nothing; the next one does.
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
            id: head.id.as_ref().or(fallback.id.as_ref()).map(borrowed_text),
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
                note: "a block that begins after the model has stopped is left out".to_owned(),
            });
        }
        self.emit_start(next);
        if self.open_block.as_ref().is_some_and(OpenBlock::is_complete) {
            self.complete_call(next);
        }
        if self.open_block.is_none() {
            return self.start_block(source, &kind, next);
        }
        let held = QueuedBlock::new(source, owned_start(&kind), track_arguments(&kind));
        self.bytes += held.bytes();
        self.queue.push_back(held);
    }

    /// Hands a block on as the open one.
    fn start_block(&mut self, source: u32, kind: &BlockStart<'_>, next: &mut dyn EventSink) {
        let block = self.blocks;
        self.blocks += 1;
        self.open_block = Some(OpenBlock { block, source, arguments: track_arguments(kind) });
        let BlockStart::Call { id, name, family, signature } = kind else {
            return next.event(StreamEvent::Open { block, kind: kind.clone() });
        };
        self.calls += 1;
        let reply = self.head.id.as_ref().or(self.fallback.id.as_ref());
        let id = match &mut self.ids {
            Some(ids) => {
                // No two calls may have one id, so all of them are remembered.
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

    fn add_delta(&mut self, source: u32, piece: BlockDelta<'_>, next: &mut dyn EventSink) {
        // Of blocks under one number the newest is meant.
        if let Some(held) = self.queue.iter_mut().rev().find(|held| held.source == source) {
            if !held.complete {
                let before = held.bytes();
                held.push(&piece);
                self.bytes += held.bytes() - before;
                return;
            }
        } else if let Some(live) = self.open_block.as_mut().filter(|live| live.source == source) {
            if let (BlockDelta::Text(words), Some(arguments)) = (&piece, &mut live.arguments) {
                self.scratch.clear();
                words.write_unquoted(&mut self.scratch);
                arguments.push(&self.scratch);
            }
            next.event(StreamEvent::Delta { block: live.block, delta: piece });
            if !self.queue.is_empty()
                && self.open_block.as_ref().is_some_and(OpenBlock::is_complete)
            {
                self.complete_call(next);
                self.release_queue(next);
            }
            return;
        }
        self.drop_late_delta(source, &piece, next);
    }

    /// More of a block that is closed already.
    fn drop_late_delta(&self, source: u32, piece: &BlockDelta<'_>, next: &mut dyn EventSink) {
        let (what, note) = match piece {
            // Models like to write a line break behind their arguments.
            BlockDelta::Text(words) if words.trim().is_empty() => return,
            BlockDelta::Text(_) if self.completed.contains(&source) => {
                (LossKind::Arguments, "what follows whole arguments is left out")
            }
            BlockDelta::Text(_) => {
                (LossKind::Unknown, "text for a block that is closed is left out")
            }
            BlockDelta::Signature(_) | BlockDelta::Encrypted(_) => {
                (LossKind::Signature, "a signature for a block that is closed is left out")
            }
            BlockDelta::Citation(_) => {
                (LossKind::Citation, "a citation for a block that is closed is left out")
            }
        };
        next.skip(StreamLoss { kind: what, note: note.to_owned() });
    }

    fn close_block(&mut self, source: u32, next: &mut dyn EventSink) {
        if let Some(held) = self.queue.iter_mut().rev().find(|held| held.source == source) {
            held.complete = true;
        } else if self.open_block.as_ref().is_some_and(|live| live.source == source) {
            self.close_open_block(true, next);
            self.release_queue(next);
        }
    }

    /// Closes a call because its arguments are whole.
    fn complete_call(&mut self, next: &mut dyn EventSink) {
        self.completed.extend(self.open_block.as_ref().map(|live| live.source));
        self.close_open_block(true, next);
    }

    /// Closes the open block. A whole call without arguments has none: that is the empty object.
    fn close_open_block(&mut self, whole: bool, next: &mut dyn EventSink) {
        let Some(OpenBlock { block, arguments, .. }) = self.open_block.take() else { return };
        match arguments.filter(|_| whole) {
            Some(arguments) if arguments.is_blank() => {
                next.event(StreamEvent::Delta { block, delta: BlockDelta::Text("{}".into()) });
            }
            Some(arguments) if !arguments.is_object() => next.skip(StreamLoss {
                kind: LossKind::Arguments,
                note: "the arguments of a call are no JSON object, and are told as they came"
                    .to_owned(),
            }),
            _ => {}
        }
        next.event(StreamEvent::Close { block });
    }

    /// Lets those that wait go on, as far as the first one that is not whole.
    fn release_queue(&mut self, next: &mut dyn EventSink) {
        while self.open_block.is_none() {
            let Some(held) = self.queue.pop_front() else { return };
            let (whole, last) = (held.complete, self.queue.is_empty());
            self.release_block(held, next);
            if whole {
                self.close_open_block(true, next);
            } else if !last && self.open_block.as_ref().is_some_and(OpenBlock::is_complete) {
                self.complete_call(next);
            }
        }
    }

    fn release_block(&mut self, held: QueuedBlock, next: &mut dyn EventSink) {
        self.bytes -= held.bytes();
        self.start_block(held.source, &held.kind, next);
        let Some(live) = &mut self.open_block else { return };
        live.arguments = held.arguments;
        for kept in &held.deltas {
            let piece = match kept {
                QueuedDelta::Text(raw) => BlockDelta::Text(JsonText::from_json((raw, true))),
                QueuedDelta::Other(piece) => piece.clone(),
            };
            next.event(StreamEvent::Delta { block: live.block, delta: piece });
        }
    }

    fn stop_reply(&mut self, stop: StopReason<'_>, next: &mut dyn EventSink) {
        if self.stage == SequencerStage::Stopped {
            return;
        }
        self.emit_start(next);
        // The last call of an answer that was cut short may have lost its arguments.
        let short = matches!(
            stop,
            StopReason::Length
                | StopReason::ContextFull
                | StopReason::Refusal
                | StopReason::MalformedCall
        );
        self.close_open_block(!short || !self.queue.is_empty(), next);
        while let Some(held) = self.queue.pop_front() {
            let whole = held.complete || !short || !self.queue.is_empty();
            self.release_block(held, next);
            self.close_open_block(whole, next);
        }
        self.stage = SequencerStage::Stopped;
        let stop =
            if self.calls == 0 && stop == StopReason::ToolCalls { StopReason::End } else { stop };
        next.event(StreamEvent::Stop(stop));
    }

    fn queued_calls(&self) -> u32 {
        let calls = self.queue.iter().filter(|held| matches!(held.kind, BlockStart::Call { .. }));
        u32::try_from(calls.count()).unwrap_or(u32::MAX)
    }

    fn drop_queue(&mut self, next: &mut dyn EventSink) {
        for held in self.queue.drain(..) {
            let (what, block) = match held.kind {
                BlockStart::Text | BlockStart::Refusal => (LossKind::Unknown, "text"),
                BlockStart::Reasoning | BlockStart::Redacted(_) => {
                    (LossKind::Reasoning, "reasoning")
                }
                BlockStart::Call { .. } => (LossKind::Arguments, "a call"),
            };
            let note = format!("{block} behind the block that was cut off is left out");
            next.skip(StreamLoss { kind: what, note });
        }
        self.bytes = 0;
    }

    /// What it keeps, in bytes.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        let held = self.queue.capacity() * size_of::<QueuedBlock>();
        self.bytes + held + self.scratch.capacity() + self.completed.capacity() * 4
    }
}

impl OpenBlock {
    fn is_complete(&self) -> bool {
        self.arguments.is_some_and(|arguments| arguments.is_complete())
    }
}

/// Follows the arguments of a call, if they are JSON.
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
