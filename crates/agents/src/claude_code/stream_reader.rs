//! Reads model output as events of an Anthropic stream.
//!
//! The agent prints it twice: as events of its provider, and as lines with whole blocks. Events are
//! forwarded; lines only if their message had no events. Every message is complete even if the
//! stream breaks: blocks are closed, and it has a stop reason and an end. An incomplete call is
//! reported as closed, because the agent does not make it.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::PREFIX;
use super::content::text;
use crate::{AgentEvent, ToolNameTable};

/// Number of message ids that are kept.
const MAX_REMEMBERED: usize = 64;

/// Maximum number of blocks of a message; more are ignored.
const MAX_BLOCKS: usize = 10_000;

/// The state of the reader.
#[derive(Debug, Default)]
pub(super) struct StreamJsonReader {
    open: Option<OpenMessage>,
    streamed: VecDeque<String>,
    /// A message from lines that ended with a tool request. More lines of it may follow.
    called_message: Option<String>,
    has_output: bool,
}

/// An open message.
#[derive(Debug)]
struct OpenMessage {
    id: String,
    source: MessageSource,
    blocks: u64,
    /// Indexes of open blocks.
    open: Vec<u64>,
    calls: Vec<MessageCall>,
    /// Stop reason, from events or lines.
    reason: Option<String>,
}

/// Source of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MessageSource {
    Events,
    Lines,
}

/// A call in a message.
#[derive(Debug)]
struct MessageCall {
    id: String,
    /// Whether the agent has all of the call.
    complete: bool,
}

impl StreamJsonReader {
    /// Reads an event of the agent's provider.
    pub(super) fn read_event(
        &mut self,
        mut event: Value,
        names: &ToolNameTable,
    ) -> Vec<AgentEvent> {
        let index = event.get("index").and_then(Value::as_u64);
        match (text(&event, "type"), index) {
            (Some("message_start"), _) => {
                let Some(id) = event.get("message").and_then(|message| text(message, "id")) else {
                    return vec![AgentEvent::Unreadable];
                };
                let id = id.to_owned();
                let mut events = self.end_message(None);
                self.remember(id.clone());
                self.start_message(id, MessageSource::Events);
                events.push(AgentEvent::StreamEvent(event));
                events
            }
            (Some("content_block_start"), Some(index)) => self.start_block(index, event, names),
            (Some("content_block_delta"), Some(index)) => match self.event_message() {
                Some(message) if message.open.contains(&index) => {
                    vec![AgentEvent::StreamEvent(event)]
                }
                Some(_) | None => vec![AgentEvent::Unreadable],
            },
            (Some("content_block_stop"), Some(index)) => match self.event_message() {
                Some(message) if message.open.contains(&index) => {
                    message.open.retain(|open| *open != index);
                    vec![AgentEvent::StreamEvent(event)]
                }
                Some(_) | None => vec![AgentEvent::Unreadable],
            },
            (Some("message_delta"), _) => {
                let reason = event.get("delta").and_then(|delta| text(delta, "stop_reason"));
                let reason = reason.map(str::to_owned);
                let Some(message) = self.event_message() else {
                    return vec![AgentEvent::Unreadable];
                };
                let Some(reason) = reason else { return Vec::new() };
                if message.reason.is_some() {
                    return vec![AgentEvent::Unreadable];
                }
                let mut events = message.close_blocks(&reason);
                message.reason = Some(reason);
                if let Some(event) = event.as_object_mut() {
                    event.entry("usage").or_insert_with(|| json!({}));
                }
                events.push(AgentEvent::StreamEvent(event));
                events
            }
            (Some("message_stop"), _) => match self.event_message() {
                Some(_) => self.end_message(None),
                None => vec![AgentEvent::Unreadable],
            },
            (Some("ping" | "error"), _) => Vec::new(),
            _ => vec![AgentEvent::Unreadable],
        }
    }

    /// Reads a line with whole blocks of a message.
    pub(super) fn read_line(&mut self, message: Value, names: &ToolNameTable) -> Vec<AgentEvent> {
        let Some(id) = text(&message, "id") else { return vec![AgentEvent::Unreadable] };
        let Some(Value::Array(blocks)) = message.get("content") else {
            return vec![AgentEvent::Unreadable];
        };
        if self.streamed.iter().any(|streamed| streamed == id) {
            for block in blocks {
                if let (Some("tool_use"), Some(call)) = (text(block, "type"), text(block, "id")) {
                    self.mark_complete(call);
                }
            }
            return Vec::new();
        }
        let id = id.to_owned();
        let mut events = Vec::new();
        let goes_on = self
            .open
            .as_ref()
            .is_some_and(|open| open.source == MessageSource::Lines && open.id == id);
        if !goes_on {
            events = self.end_message(None);
            let mut start = message.clone();
            if let Some(start) = start.as_object_mut() {
                start.insert("content".to_owned(), json!([]));
                start.insert("stop_reason".to_owned(), Value::Null);
                start.insert("stop_sequence".to_owned(), Value::Null);
            }
            events
                .push(AgentEvent::StreamEvent(json!({"type": "message_start", "message": start})));
            self.start_message(id, MessageSource::Lines);
        }
        let Some(open) = &mut self.open else { return events };
        // Old versions have the reason on some of the lines.
        if let Some(reason) = text(&message, "stop_reason") {
            open.reason = Some(reason.to_owned());
        }
        for block in blocks {
            open.write_block(block, names, &mut events);
        }
        // The next tool request may come only after the first result, so end the message here.
        if self.called_message.as_deref() == Some(&*open.id) {
            events.extend(self.end_message(None));
        }
        events
    }

    /// The agent runs a call, so the call is complete. This also ends a message from lines, which
    /// has no other end mark.
    pub(super) fn mark_called(&mut self, call_id: Option<&str>) -> Vec<AgentEvent> {
        if let Some(call_id) = call_id {
            self.mark_complete(call_id);
        }
        match &self.open {
            Some(open) if open.source == MessageSource::Lines => {
                self.called_message = Some(open.id.clone());
                self.end_message(None)
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// Ends the turn. Returns whether it had output, and the events that end the last message.
    pub(super) fn end_turn(&mut self, reason: Option<&str>) -> (bool, Vec<AgentEvent>) {
        let events = self.end_message(reason);
        (std::mem::take(&mut self.has_output), events)
    }

    /// Ends the open message properly.
    pub(super) fn end_message(&mut self, reason: Option<&str>) -> Vec<AgentEvent> {
        let Some(mut message) = self.open.take() else { return Vec::new() };
        let mut events = Vec::new();
        if message.source == MessageSource::Lines || message.reason.is_none() {
            let has_calls = message.calls.iter().any(|call| call.complete);
            let own_reason = message.reason.take();
            let reason = match (has_calls, own_reason.as_deref(), reason) {
                (true, _, _) => "tool_use",
                (false, Some("tool_use") | None, Some("tool_use") | None) => "end_turn",
                (false, Some("tool_use") | None, Some(reason)) => reason,
                (false, Some(own_reason), _) => own_reason,
            };
            events = message.close_blocks("");
            events.push(AgentEvent::StreamEvent(json!({
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": null},
                "usage": {"output_tokens": 0},
            })));
        }
        events.push(AgentEvent::StreamEvent(json!({"type": "message_stop"})));
        events
    }

    /// Starts a block.
    fn start_block(
        &mut self,
        index: u64,
        mut event: Value,
        names: &ToolNameTable,
    ) -> Vec<AgentEvent> {
        let Some(message) = self.event_message() else { return vec![AgentEvent::Unreadable] };
        let Some(block) = event.get_mut("content_block") else {
            return vec![AgentEvent::Unreadable];
        };
        let room = message.open.len() < MAX_BLOCKS && message.calls.len() < MAX_BLOCKS;
        let room = room && message.reason.is_none();
        if !room || text(block, "type").is_none() || message.open.contains(&index) {
            return vec![AgentEvent::Unreadable];
        }
        if text(block, "type") == Some("tool_use") {
            let Some(id) = text(block, "id") else { return vec![AgentEvent::Unreadable] };
            message.calls.push(MessageCall { id: id.to_owned(), complete: false });
        }
        rename_tool(block, names);
        message.open.push(index);
        vec![AgentEvent::StreamEvent(event)]
    }

    /// The open message, if it comes from events.
    fn event_message(&mut self) -> Option<&mut OpenMessage> {
        self.open.as_mut().filter(|message| message.source == MessageSource::Events)
    }

    fn start_message(&mut self, id: String, source: MessageSource) {
        self.has_output = true;
        let calls = Vec::new();
        self.open =
            Some(OpenMessage { id, source, blocks: 0, open: Vec::new(), calls, reason: None });
    }

    fn mark_complete(&mut self, call: &str) {
        let calls = self.open.iter_mut().flat_map(|message| &mut message.calls);
        calls.filter(|known| known.id == call).for_each(|known| known.complete = true);
    }

    fn remember(&mut self, id: String) {
        if self.streamed.len() >= MAX_REMEMBERED {
            self.streamed.pop_front();
        }
        self.streamed.push_back(id);
    }
}

impl OpenMessage {
    /// Closes open blocks before the stop reason. Incomplete calls are reported as closed, unless
    /// the provider's reason is `tool_use`.
    fn close_blocks(&mut self, reason: &str) -> Vec<AgentEvent> {
        let stop = |index: u64| {
            AgentEvent::StreamEvent(json!({"type": "content_block_stop", "index": index}))
        };
        let mut events: Vec<AgentEvent> = self.open.drain(..).map(stop).collect();
        if reason != "tool_use" {
            let incomplete = self.calls.iter().filter(|call| !call.complete);
            events.extend(
                incomplete
                    .map(|call| AgentEvent::CallClosed { call: call.id.clone(), error: true }),
            );
        }
        events
    }

    /// Writes a whole block as stream events.
    fn write_block(&mut self, block: &Value, names: &ToolNameTable, events: &mut Vec<AgentEvent>) {
        let mut start = block.clone();
        let (Some(kind), Some(fields)) = (text(block, "type"), start.as_object_mut()) else {
            return;
        };
        let mut deltas = Vec::new();
        let mut empty = |field: &str, delta: &str| {
            if let Some(Value::String(value)) = fields.get_mut(field) {
                let value = std::mem::take(value);
                deltas.push(json!({"type": delta, field: value}));
            }
        };
        match kind {
            "text" => empty("text", "text_delta"),
            "thinking" => {
                empty("thinking", "thinking_delta");
                empty("signature", "signature_delta");
            }
            "tool_use" => {
                let Some(id) = text(block, "id") else { return };
                self.calls.push(MessageCall { id: id.to_owned(), complete: true });
                let input = fields.insert("input".to_owned(), json!({}));
                let input = input.unwrap_or_else(|| json!({})).to_string();
                deltas.push(json!({"type": "input_json_delta", "partial_json": input}));
            }
            _ => {}
        }
        rename_tool(&mut start, names);
        let index = self.blocks;
        self.blocks += 1;
        let stream_event = |event| AgentEvent::StreamEvent(event);
        events.push(stream_event(
            json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        events.extend(deltas.into_iter().map(|delta| {
            stream_event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        events.push(stream_event(json!({"type": "content_block_stop", "index": index})));
    }
}

/// Restores the client's name of a client tool call, and marks a call of the agent's own tools.
fn rename_tool(block: &mut Value, names: &ToolNameTable) {
    if text(block, "type") != Some("tool_use") {
        return;
    }
    let agent_name = text(block, "name").and_then(|name| name.strip_prefix(PREFIX));
    let (field, value) = match agent_name.and_then(|agent_name| names.client_name(agent_name)) {
        Some(client_name) => ("name", client_name.to_owned()),
        None => ("type", "agent_tool_use".to_owned()),
    };
    if let Some(block) = block.as_object_mut() {
        block.insert(field.to_owned(), Value::String(value));
    }
}
