//! Turns a reply into run events. If content is not stored, only the length of each text is
//! recorded, and the text itself stays in memory for a while.

use std::{sync::Arc, time::Duration};

use foxwedge_formats::{
    model::{self, ProviderErrorKind},
    stream::event::{BlockDelta, BlockStart, StreamEvent},
};
use foxwedge_run::{
    EventPayload, RawJson, RunProblem, TextUpdate, ToolCallUpdate, ToolOutcome, ToolResult,
    ToolStatus, TurnStart,
};
use tokio::time::Instant;

use super::{
    live_text::{LiveTextBudget, LiveTextKey},
    queue::{self, RequestOutcome, TimedEvent},
    reply_block::{
        RecordedBlock, RecordedBlockKind, call_reference, kind_of_start, message_id, omitted_json,
        omitted_text, text_delta, truncate, with_omitted_note,
    },
    unix_millis,
};
use crate::config::ContentRecording;

/// Deltas of a text are sent together, after this time or this many bytes.
const SEND_INTERVAL: Duration = Duration::from_millis(250);
const SEND_TEXT_BYTES: usize = 4 << 10;

/// How many bytes of events wait before they are sent.
const SEND_EVENT_BYTES: usize = 32 << 10;

/// Maximum bytes of texts and arguments that are recorded of one reply.
const MAX_REPLY_TEXT_BYTES: usize = 1 << 20;

/// Records one reply while it is received.
#[derive(Debug)]
pub(super) struct ReplyRecorder {
    content: ContentRecording,
    turn: u32,
    started: bool,
    block: Option<RecordedBlock>,
    /// Calls whose arguments are incomplete. The stop reason says whether they were cut off.
    unread_calls: Vec<RecordedBlock>,
    /// Events that were not sent yet, and their approximate size.
    events: Vec<TimedEvent>,
    bytes: usize,
    /// When events were sent last.
    last_sent: Option<Instant>,
    /// How many more bytes are recorded.
    budget: usize,
    /// The shared budget for text that is not stored, and how much of it this reply may still take.
    live_budget: Option<LiveTextBudget>,
    live_budget_left: usize,
    /// Text that is not stored.
    live_texts: Vec<(LiveTextKey, String)>,
    /// Calls that have an id, and whether there were any calls.
    calls: Vec<Arc<str>>,
    has_calls: bool,
    /// The last text, if content is stored.
    text: Option<String>,
    usage: model::TokenUsage,
    refused: bool,
    provider_error: Option<ProviderErrorKind>,
}

/// What remains at the end of a reply.
#[derive(Debug)]
pub(super) struct RecordedReply {
    pub(super) events: Vec<TimedEvent>,
    pub(super) calls: Vec<Arc<str>>,
    pub(super) usage: model::TokenUsage,
    pub(super) text: Option<String>,
}

impl ReplyRecorder {
    pub(super) fn new(
        content: ContentRecording,
        live_budget: Option<LiveTextBudget>,
        turn: u32,
    ) -> ReplyRecorder {
        let (budget, live_budget_left) = match content {
            ContentRecording::Stored => (MAX_REPLY_TEXT_BYTES, 0),
            ContentRecording::Omitted => (0, MAX_REPLY_TEXT_BYTES),
        };
        ReplyRecorder {
            content,
            turn,
            started: false,
            block: None,
            unread_calls: Vec::new(),
            events: Vec::new(),
            bytes: 0,
            last_sent: None,
            budget,
            live_budget,
            live_budget_left,
            live_texts: Vec::new(),
            calls: Vec::new(),
            has_calls: false,
            text: None,
            usage: model::TokenUsage::default(),
            refused: false,
            provider_error: None,
        }
    }

    /// Records an event of a streamed reply.
    pub(super) fn record_event(&mut self, event: &StreamEvent<'_>) {
        match event {
            StreamEvent::Start(_) => self.start_turn(),
            StreamEvent::Open { block, kind } => self.open_block(*block, kind_of_start(kind)),
            StreamEvent::Delta { delta: BlockDelta::Text(text), .. } => self.append_text(text),
            StreamEvent::Delta {
                delta: BlockDelta::Signature(_) | BlockDelta::Encrypted(_),
                ..
            }
            | StreamEvent::Delta { delta: BlockDelta::Citation(_), .. } => {}
            StreamEvent::Close { .. } => self.close_block(),
            StreamEvent::Usage(usage) => self.usage.update(*usage),
            StreamEvent::Stop(stop) => self.note_stop_reason(stop),
            StreamEvent::End => {
                self.close_block();
                self.close_unread_calls(false);
            }
            StreamEvent::Failed(failure) => self.provider_error = Some(failure.kind),
            StreamEvent::Truncated => {}
        }
        if let StreamEvent::Open { kind: BlockStart::Refusal, .. } = event {
            self.refused = true;
        }
    }

    /// Adds activity cards.
    pub(super) fn add_annotations(&mut self, cards: Vec<EventPayload>) {
        cards.into_iter().for_each(|card| self.push_event(card));
    }

    /// Takes the events that are due, if any.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Vec<TimedEvent>> {
        let last_sent = *self.last_sent.get_or_insert(now);
        let is_late = now.duration_since(last_sent) >= SEND_INTERVAL;
        let is_large = self.bytes >= SEND_EVENT_BYTES || self.unsent_bytes() >= SEND_TEXT_BYTES;
        if !is_late && !is_large {
            return None;
        }
        self.emit_progress();
        if self.events.is_empty() {
            return None;
        }
        self.last_sent = Some(now);
        self.bytes = 0;
        Some(std::mem::take(&mut self.events))
    }

    /// The outcome of a request with a complete reply.
    pub(super) fn outcome(&self) -> RequestOutcome {
        let has_calls = self.has_calls
            || !self.unread_calls.is_empty()
            || matches!(
                &self.block,
                Some(RecordedBlock { kind: RecordedBlockKind::Call { .. }, .. })
            );
        match (self.refused, has_calls) {
            (true, _) => RequestOutcome::Refused,
            (false, true) => RequestOutcome::WaitsForTools,
            (false, false) => RequestOutcome::Replied,
        }
    }

    /// The code of the provider's error.
    pub(super) fn error_code(&self) -> &'static str {
        match self.provider_error {
            None => "upstream_failed",
            Some(ProviderErrorKind::InvalidRequest) => "upstream_request",
            Some(ProviderErrorKind::ContextOverflow) => "context_length_exceeded",
            Some(ProviderErrorKind::Authentication) => "upstream_credentials",
            Some(ProviderErrorKind::Permission) => "upstream_permission",
            Some(ProviderErrorKind::NotFound) => "upstream_not_found",
            Some(ProviderErrorKind::TooLarge) => "upstream_too_large",
            Some(ProviderErrorKind::RateLimit) => "upstream_rate_limit",
            Some(ProviderErrorKind::Overloaded) => "upstream_overloaded",
            Some(ProviderErrorKind::Timeout) => "upstream_timeout",
            Some(ProviderErrorKind::Server) => "upstream_server",
        }
    }

    /// Ends the reply.
    pub(super) fn finish(&mut self, outcome: &RequestOutcome) -> RecordedReply {
        match outcome {
            RequestOutcome::Replied | RequestOutcome::WaitsForTools | RequestOutcome::Refused => {
                self.close_block()
            }
            // A block that was cut off is recorded as far as it was received.
            RequestOutcome::Failed(_) | RequestOutcome::Stopped => match &self.block {
                Some(RecordedBlock { kind: RecordedBlockKind::Call { .. }, .. }) => {
                    self.emit_progress()
                }
                Some(RecordedBlock {
                    kind:
                        RecordedBlockKind::Text
                        | RecordedBlockKind::Reasoning
                        | RecordedBlockKind::Redacted,
                    ..
                })
                | None => {
                    self.close_block();
                }
            },
        }
        self.close_unread_calls(false);
        RecordedReply {
            events: std::mem::take(&mut self.events),
            calls: std::mem::take(&mut self.calls),
            usage: self.usage,
            text: self.text.take(),
        }
    }

    /// Starts the turn before the first event of the reply: other events may come first.
    pub(super) fn start_early(&mut self) -> Vec<TimedEvent> {
        self.start_turn();
        self.bytes = 0;
        std::mem::take(&mut self.events)
    }

    fn start_turn(&mut self) {
        if !self.started {
            self.started = true;
            self.push_event(EventPayload::TurnStarted(TurnStart {
                turn: Some(self.turn),
                message: None,
            }));
        }
    }

    fn open_block(&mut self, number: u32, kind: RecordedBlockKind) {
        self.start_turn();
        self.close_block();
        self.block = Some(RecordedBlock::new(number, kind));
    }

    fn append_text(&mut self, text: &str) {
        let Some(block) = &mut self.block else { return };
        if let RecordedBlockKind::Call { arguments, .. } = &mut block.kind {
            arguments.push_text(text);
        }
        block.bytes += text.len();
        block.characters += text.chars().count();
        block.has_text = block.has_text || !text.trim_start().is_empty();
        if text.len() > self.budget
            && text.len() <= self.live_budget_left
            && let Some(granted) =
                self.live_budget.as_mut().and_then(|budget| budget.take(text.len()))
        {
            self.budget += granted;
            self.live_budget_left = self.live_budget_left.saturating_sub(granted);
        }
        let recorded = truncate(text, self.budget);
        // Once something is left out, everything after it is left out, too.
        let is_complete = recorded.len() == text.len();
        self.budget = if is_complete { self.budget - recorded.len() } else { 0 };
        if !is_complete {
            self.live_budget_left = 0;
        }
        block.text.push_str(recorded);
    }

    /// Takes the text that is not stored, since the last call.
    pub(super) fn take_live_text(&mut self) -> Vec<(LiveTextKey, String)> {
        std::mem::take(&mut self.live_texts)
    }

    fn note_stop_reason(&mut self, stop: &model::StopReason<'_>) {
        self.close_block();
        self.close_unread_calls(stop.is_cut_short());
        match stop {
            model::StopReason::Refusal => self.refused = true,
            model::StopReason::Length | model::StopReason::ContextFull => {
                self.push_event(EventPayload::Problem(RunProblem::cut_reply()));
            }
            model::StopReason::End
            | model::StopReason::ToolCalls
            | model::StopReason::Sequence(_)
            | model::StopReason::Pause
            | model::StopReason::MalformedCall
            | model::StopReason::Other(_) => {}
        }
    }

    /// Bytes of stored text that were not sent yet.
    fn unsent_bytes(&self) -> usize {
        if self.content == ContentRecording::Omitted {
            return 0;
        }
        self.block.as_ref().map_or(0, |block| block.text.len() - block.sent_bytes)
    }

    /// Sends the state of an unfinished block.
    fn emit_progress(&mut self) {
        let Some(block) = &mut self.block else { return };
        let message = message_id(self.turn, block.number);
        let body = match &mut block.kind {
            RecordedBlockKind::Call { announced: true, .. } | RecordedBlockKind::Redacted => return,
            RecordedBlockKind::Call { id, name, announced, .. } => {
                *announced = true;
                EventPayload::ToolCall(ToolCallUpdate {
                    call: call_reference(id),
                    name: Some(name.clone()),
                    ..ToolCallUpdate::default()
                })
            }
            RecordedBlockKind::Text | RecordedBlockKind::Reasoning
                if self.content == ContentRecording::Omitted =>
            {
                return;
            }
            RecordedBlockKind::Text | RecordedBlockKind::Reasoning
                if block.text.len() == block.sent_bytes =>
            {
                return;
            }
            RecordedBlockKind::Text => {
                EventPayload::Text(text_delta(message, &block.text, block.sent_bytes))
            }
            RecordedBlockKind::Reasoning => {
                EventPayload::Thought(text_delta(message, &block.text, block.sent_bytes))
            }
        };
        block.sent_bytes = block.text.len();
        self.push_event(body);
    }

    fn close_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        match &block.kind {
            RecordedBlockKind::Call { arguments, .. } if !arguments.is_complete() => {
                self.unread_calls.push(block);
            }
            RecordedBlockKind::Call { .. }
            | RecordedBlockKind::Text
            | RecordedBlockKind::Reasoning
            | RecordedBlockKind::Redacted => self.record_block(block),
        }
    }

    /// Records the calls whose arguments are incomplete.
    fn close_unread_calls(&mut self, are_cut: bool) {
        for block in std::mem::take(&mut self.unread_calls) {
            match block.kind {
                RecordedBlockKind::Call { id, name, .. } if are_cut => {
                    self.record_cut_call(&id, name, block.text, block.characters);
                }
                RecordedBlockKind::Call { .. }
                | RecordedBlockKind::Text
                | RecordedBlockKind::Reasoning
                | RecordedBlockKind::Redacted => self.record_block(block),
            }
        }
    }

    /// Records a call that the client cannot run, since its arguments were cut off.
    fn record_cut_call(
        &mut self,
        id: &Option<Arc<str>>,
        name: Arc<str>,
        text: String,
        characters: usize,
    ) {
        let delta = match self.content {
            ContentRecording::Omitted => omitted_text(characters),
            ContentRecording::Stored => with_omitted_note(text, characters),
        };
        let call = call_reference(id);
        self.push_event(EventPayload::ToolCall(ToolCallUpdate {
            call: call.clone(),
            name: Some(name),
            ..ToolCallUpdate::default()
        }));
        self.push_event(EventPayload::ToolArguments { call: call.clone(), delta });
        self.push_event(EventPayload::ToolResult(ToolResult {
            call,
            name: None,
            outcome: ToolOutcome::Cancelled,
            reason: None,
            content: None,
        }));
    }

    fn record_block(&mut self, block: RecordedBlock) {
        let RecordedBlock { number, kind, characters, bytes, has_text, text, sent_bytes } = block;
        let is_text = matches!(kind, RecordedBlockKind::Text);
        match kind {
            RecordedBlockKind::Redacted => {}
            RecordedBlockKind::Text | RecordedBlockKind::Reasoning => {
                if !has_text {
                    return;
                }
                let message = message_id(self.turn, number);
                let text = match self.content {
                    ContentRecording::Omitted => {
                        if let Some(message) = message.clone().filter(|_| !text.is_empty()) {
                            let live_text = with_omitted_note(text, characters);
                            self.live_texts.push((LiveTextKey::Text(message), live_text));
                        }
                        omitted_text(characters)
                    }
                    ContentRecording::Stored => with_omitted_note(text, characters),
                };
                // Text that was sent in deltas is not repeated.
                let update = match sent_bytes {
                    0 => TextUpdate { message, full: Some(text.clone()), ..TextUpdate::default() },
                    sent_bytes => text_delta(message, &text, sent_bytes),
                };
                if is_text {
                    self.text = Some(text);
                    self.push_event(EventPayload::Text(update));
                } else {
                    self.push_event(EventPayload::Thought(update));
                }
            }
            RecordedBlockKind::Call { id, name, .. } => {
                let input = match self.content {
                    ContentRecording::Omitted => {
                        let complete_id = id.clone().filter(|_| text.len() == bytes);
                        self.live_texts
                            .extend(complete_id.map(|id| (LiveTextKey::Input(id), text)));
                        omitted_json(bytes)
                    }
                    ContentRecording::Stored if text.len() < bytes => omitted_json(bytes),
                    ContentRecording::Stored => {
                        RawJson::parse(&text).unwrap_or_else(|| RawJson::string(&text))
                    }
                };
                // The client has received the call, and may be running it.
                self.push_event(EventPayload::ToolCall(ToolCallUpdate {
                    call: call_reference(&id),
                    name: Some(name),
                    input: Some(input),
                    status: Some(ToolStatus::Running),
                    ..ToolCallUpdate::default()
                }));
                self.has_calls = true;
                self.calls.extend(id);
            }
        }
    }

    fn push_event(&mut self, body: EventPayload) {
        self.bytes += queue::event_bytes(&body);
        self.events.push(TimedEvent { at: unix_millis(), body });
    }
}
