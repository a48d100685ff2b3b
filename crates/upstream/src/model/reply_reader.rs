//! Reads a reply: as deltas for the observer, and as a message for the next request. Both always
//! agree: the message holds nothing that was not delivered as a delta.
//!
//! A call is delivered when it is complete. A call whose arguments the token limit cut off counts
//! as complete if the provider closed it, and all providers do: it is delivered with its arguments
//! as they are, so that it gets a result. A call that a broken connection cut off is never
//! delivered.

use std::{
    borrow::Cow,
    collections::{HashSet, VecDeque},
};

use foxwedge_core::{Format, IdRule, fresh_id};
use foxwedge_formats::{
    model::{
        self, ContentPart, ModelPart, ModelReply, ProviderError, ReasoningPart, ReasoningSignature,
        StopReason, ToolCallPart, decode_reply, encode_turn,
    },
    stream::{
        CollectedEnding, StreamError, StreamLimits, StreamWatcher,
        event::{BlockDelta as Said, BlockStart, StreamEvent},
    },
    text,
};
use foxwedge_run::RunUsage;

use super::{ReplyDelta, ReplyStopReason, ReplyToolCall};

/// Reads one reply.
pub(super) struct ReplyReader {
    wire: Format,
    source: ReplySource,
    /// Read, and not yet delivered.
    queued: VecDeque<ReplyDelta>,
    ids: CallIdAssigner,
    /// Number of parts whose calls are delivered or queued.
    parts_seen: usize,
    usage: model::TokenUsage,
    open_block: OpenBlockKind,
    /// Bytes left until the limit.
    bytes_left: usize,
    /// The provider sent the end of the stream.
    finished: bool,
    /// The reply has content.
    has_content: bool,
}

enum ReplySource {
    /// A stream.
    Stream(Box<StreamWatcher>),
    /// All parts of the reply.
    Whole(Vec<ModelPart<'static>>),
}

/// Kind of the open block.
#[derive(Clone, Copy)]
enum OpenBlockKind {
    Text,
    Reasoning,
    Call,
    Hidden,
}

/// How a reply ended.
pub(super) enum ReplyReadEnd {
    /// It is complete.
    Whole,
    /// The provider failed.
    Failed(ProviderError<'static>),
    /// It broke off.
    Cut,
    /// It cannot be read any further.
    Unreadable(StreamError),
    /// It exceeds the limit.
    TooLong,
}

/// An item of a stream, before its call is looked up.
enum ReplyItem {
    Delta(ReplyDelta),
    Call,
}

impl ReplyReader {
    /// A reader for a format. The seed makes ids for calls that have none.
    pub(super) fn new(
        wire: Format,
        rule: IdRule,
        limits: StreamLimits,
        seed: String,
    ) -> ReplyReader {
        ReplyReader {
            wire,
            source: ReplySource::Stream(Box::new(StreamWatcher::new(wire, limits))),
            queued: VecDeque::new(),
            ids: CallIdAssigner { wire, rule, seed, assigned: Vec::new(), used: HashSet::new() },
            parts_seen: 0,
            usage: model::TokenUsage::default(),
            open_block: OpenBlockKind::Hidden,
            bytes_left: limits.held,
            finished: false,
            has_content: false,
        }
    }

    /// The next delta that was read.
    pub(super) fn next_delta(&mut self) -> Option<ReplyDelta> {
        self.queued.pop_front()
    }

    /// Whether the provider sent the end of the stream.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether the reply has content.
    pub(super) fn has_content(&self) -> bool {
        self.has_content
    }

    /// Whether it cannot be read any further.
    pub(super) fn is_unreadable(&self) -> bool {
        match &self.source {
            ReplySource::Stream(watcher) => self.bytes_left == 0 || watcher.error().is_some(),
            ReplySource::Whole(_) => true,
        }
    }

    /// Reads more bytes of a stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len());
        self.read(|watcher, each| watcher.push(bytes, each));
    }

    /// Queues the deltas of what the watcher reads.
    fn read(&mut self, push: impl FnOnce(&mut StreamWatcher, &mut dyn FnMut(&StreamEvent<'_>))) {
        let ReplySource::Stream(watcher) = &mut self.source else { return };
        let mut items = Vec::new();
        let (open, usage, finished) = (&mut self.open_block, &mut self.usage, &mut self.finished);
        push(watcher, &mut |event| read_event(event, open, usage, finished, &mut items));
        let fresh = watcher.parts().get(self.parts_seen..).unwrap_or_default();
        let (fresh, count) = (tool_calls(fresh), watcher.parts().len());
        self.parts_seen = count;
        self.queue_items(items, fresh);
    }

    /// Ends a stream: queues its last deltas, and returns how it ended.
    pub(super) fn finish(&mut self) -> ReplyReadEnd {
        let watcher = match std::mem::replace(&mut self.source, ReplySource::Whole(Vec::new())) {
            ReplySource::Stream(watcher) => watcher,
            whole @ ReplySource::Whole(_) => {
                self.source = whole;
                return ReplyReadEnd::Whole;
            }
        };
        let mut items = Vec::new();
        let (open, usage, finished) = (&mut self.open_block, &mut self.usage, &mut self.finished);
        let watched =
            watcher.finish(&mut |event| read_event(event, open, usage, finished, &mut items));
        let collection = watched.collection;
        let parts = collection.reply.parts;
        let fresh = tool_calls(parts.get(self.parts_seen..).unwrap_or_default());
        self.source = ReplySource::Whole(parts);
        self.queue_items(items, fresh);
        match (watched.error, collection.ending) {
            (Some(error), _) => ReplyReadEnd::Unreadable(error),
            (None, CollectedEnding::Failed(failure)) => ReplyReadEnd::Failed(failure),
            (None, CollectedEnding::Truncated | CollectedEnding::Complete)
                if collection.truncated =>
            {
                ReplyReadEnd::TooLong
            }
            (None, CollectedEnding::Truncated) if self.bytes_left == 0 => ReplyReadEnd::TooLong,
            (None, CollectedEnding::Truncated) => ReplyReadEnd::Cut,
            (None, CollectedEnding::Complete) => ReplyReadEnd::Whole,
        }
    }

    /// Reads a whole reply, whether streaming was requested or not. `None` if it is not a reply.
    pub(super) fn read_whole(&mut self, body: &[u8]) -> Option<ReplyReadEnd> {
        let source = text(body).ok()?;
        match decode_reply(source, self.wire) {
            Ok(decoded) => {
                self.read(|watcher, each| watcher.push_outcome(&decoded.outcome, each));
                // A whole reply may lack a stop reason.
                return Some(match self.finish() {
                    ReplyReadEnd::Cut => ReplyReadEnd::Whole,
                    end => end,
                });
            }
            // Some providers declare no stream, and stream.
            Err(_) if looks_like_events(source) => self.push(body),
            Err(_) => return None,
        }
        Some(self.finish())
    }

    /// What was delivered so far, as a message of the model.
    pub(super) fn take_message(&mut self) -> Option<String> {
        // Deltas of an unterminated last line count as not delivered.
        self.finish();
        let ReplySource::Whole(parts) = &mut self.source else { return None };
        let mut parts = std::mem::take(parts);
        self.queued.iter().rev().for_each(|delta| remove_undelivered(&mut parts, delta));
        let mut ids = self.ids.assigned.iter();
        for part in &mut parts {
            let ContentPart::ToolCall(call) = part.content() else { continue };
            let id = ids.next().map(|id| Cow::Owned(id.clone()));
            *part = ModelPart::new(ContentPart::ToolCall(ToolCallPart { id, ..call.clone() }));
        }
        encode_turn(&ModelReply { parts, ..ModelReply::default() }, self.wire)
    }

    fn queue_items(&mut self, items: Vec<ReplyItem>, calls: Vec<ReplyToolCall>) {
        let mut calls = calls.into_iter();
        for item in items {
            let delta = match item {
                ReplyItem::Delta(delta) => delta,
                // A call that exceeded the limit is not delivered.
                ReplyItem::Call => match calls.next() {
                    Some(call) => {
                        ReplyDelta::Call(ReplyToolCall { id: self.ids.assign(&call.id), ..call })
                    }
                    None => continue,
                },
            };
            self.has_content |= matches!(
                delta,
                ReplyDelta::Text(_) | ReplyDelta::Reasoning(_) | ReplyDelta::Call(_)
            );
            self.queued.push_back(delta);
        }
    }
}

/// Reads the items of an event.
fn read_event(
    event: &StreamEvent<'_>,
    open: &mut OpenBlockKind,
    usage: &mut model::TokenUsage,
    finished: &mut bool,
    items: &mut Vec<ReplyItem>,
) {
    match event {
        StreamEvent::Open { kind, .. } => {
            *open = match kind {
                BlockStart::Text | BlockStart::Refusal => OpenBlockKind::Text,
                BlockStart::Reasoning => OpenBlockKind::Reasoning,
                BlockStart::Call { .. } => OpenBlockKind::Call,
                BlockStart::Redacted(_) => OpenBlockKind::Hidden,
            }
        }
        StreamEvent::Delta { delta: Said::Text(text), .. } if !text.is_empty() => match open {
            OpenBlockKind::Text => items.push(ReplyItem::Delta(ReplyDelta::Text(text.to_string()))),
            OpenBlockKind::Reasoning => {
                items.push(ReplyItem::Delta(ReplyDelta::Reasoning(text.to_string())))
            }
            OpenBlockKind::Call | OpenBlockKind::Hidden => {}
        },
        StreamEvent::Close { .. } => {
            if let OpenBlockKind::Call = std::mem::replace(open, OpenBlockKind::Hidden) {
                items.push(ReplyItem::Call);
            }
        }
        StreamEvent::Usage(newer) => items.extend(usage_item(usage, *newer)),
        StreamEvent::Stop(stop) => {
            items.push(ReplyItem::Delta(ReplyDelta::Stop(stop_reason(stop))))
        }
        StreamEvent::End => *finished = true,
        StreamEvent::Start(_)
        | StreamEvent::Delta { .. }
        | StreamEvent::Failed(_)
        | StreamEvent::Truncated => {}
    }
}

/// Token usage, if it changed.
fn usage_item(known: &mut model::TokenUsage, newer: model::TokenUsage) -> Option<ReplyItem> {
    let before = *known;
    known.update(newer);
    (*known != before).then(|| {
        let figure = |figure: Option<u64>| figure.unwrap_or(0);
        ReplyItem::Delta(ReplyDelta::Usage(RunUsage {
            input: figure(known.input),
            output: figure(known.output),
            cached: figure(known.cache_read),
            reasoning: figure(known.reasoning),
        }))
    })
}

fn stop_reason(stop: &StopReason<'_>) -> ReplyStopReason {
    match stop {
        StopReason::Length | StopReason::ContextFull => ReplyStopReason::Length,
        StopReason::Refusal => ReplyStopReason::Refused,
        StopReason::Pause => ReplyStopReason::Pause,
        StopReason::End
        | StopReason::ToolCalls
        | StopReason::Sequence(_)
        | StopReason::MalformedCall
        | StopReason::Other(_) => ReplyStopReason::Done,
    }
}

/// The calls among parts, with the ids that they came with.
fn tool_calls(parts: &[ModelPart<'_>]) -> Vec<ReplyToolCall> {
    let calls = parts.iter().filter_map(|part| match part.content() {
        ContentPart::ToolCall(call) => Some(ReplyToolCall {
            id: call.id.as_deref().unwrap_or_default().to_owned(),
            name: call.name.to_string(),
            arguments: match call.arguments.trim().is_empty() && !call.is_free_text() {
                true => "{}".to_owned(),
                false => call.arguments.to_string(),
            },
        }),
        _ => None,
    });
    calls.collect()
}

/// Removes an undelivered delta from the end of the parts.
fn remove_undelivered(parts: &mut Vec<ModelPart<'static>>, delta: &ReplyDelta) {
    let last = |matches_kind: fn(&ContentPart<'_>) -> bool| {
        parts.iter().rposition(|part| matches_kind(part.content()))
    };
    let (at, suffix) = match delta {
        ReplyDelta::Call(_) => (last(|part| matches!(part, ContentPart::ToolCall(_))), ""),
        ReplyDelta::Text(suffix) => (last(|part| matches!(part, ContentPart::Text(_))), &**suffix),
        ReplyDelta::Reasoning(suffix) => {
            (last(|part| matches!(part, ContentPart::Reasoning(_))), &**suffix)
        }
        ReplyDelta::Usage(_)
        | ReplyDelta::Stop(_)
        | ReplyDelta::Retrying { .. }
        | ReplyDelta::Repaired(_) => return,
    };
    let Some(at) = at else { return };
    let left = parts.get(at).and_then(|part| match part.content() {
        ContentPart::Text(text) => {
            let text = text.strip_suffix(suffix).filter(|text| !text.is_empty())?;
            Some(ContentPart::Text(text.to_owned().into()))
        }
        // The signature does not cover a truncated text.
        ContentPart::Reasoning(reasoning) => {
            let text = reasoning.text.strip_suffix(suffix).filter(|text| !text.is_empty())?;
            Some(ContentPart::Reasoning(ReasoningPart {
                text: text.to_owned().into(),
                signature: ReasoningSignature::Unsigned,
            }))
        }
        ContentPart::ToolCall(_)
        | ContentPart::Media(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Unknown(_) => None,
    });
    parts.truncate(at);
    parts.extend(left.map(ModelPart::new));
}

/// The ids of the calls of one reply.
struct CallIdAssigner {
    wire: Format,
    rule: IdRule,
    seed: String,
    /// In the order of the calls.
    assigned: Vec<String>,
    used: HashSet<String>,
}

impl CallIdAssigner {
    /// The id of the next call: its own, or a computed one if it has none or another call has it.
    fn assign(&mut self, own: &str) -> String {
        let index = self.assigned.len();
        let mut id = own.trim().to_owned();
        let mut salt = 0_u32;
        while id.is_empty() || self.used.contains(&id) {
            let seed = format!("{salt} {index} {} {own}", self.seed);
            id = fresh_id(self.wire, self.rule, &seed);
            salt += 1;
        }
        self.used.insert(id.clone());
        self.assigned.push(id.clone());
        id
    }
}

/// Whether a text looks like events.
fn looks_like_events(source: &str) -> bool {
    let source = source.trim_start();
    ["data:", "event:", "id:", "retry:", ":"].iter().any(|start| source.starts_with(start))
}
