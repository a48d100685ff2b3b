//! What the model says, message by message, as events of an Anthropic stream.
//!
//! The agent tells it twice: as the events of its provider, and as lines of whole blocks. Events
//! are passed on; lines only if their message was never told by events. Whatever
//! breaks on the way, every message told here is whole: its blocks are closed, it has a stop reason
//! and an end. A call that came only half is told as closed: the agent does not make it.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::PREFIX;
use super::content::text;
use crate::{AgentEvent, ToolNameTable};

/// So many messages are remembered as told.
const MAX_REMEMBERED: usize = 64;

/// A message has at most this many blocks; more are noise.
const MAX_BLOCKS: usize = 10_000;

/// What has been told.
#[derive(Debug, Default)]
pub(super) struct StreamJsonReader {
    open: Option<OpenMessage>,
    streamed: VecDeque<String>,
    /// A message of lines that ended with a wish. More lines of it may come.
    called_message: Option<String>,
    has_output: bool,
}

/// A message that has not ended.
#[derive(Debug)]
struct OpenMessage {
    id: String,
    source: MessageSource,
    blocks: u64,
    /// Blocks that are open.
    open: Vec<u64>,
    calls: Vec<MessageCall>,
    /// Of the events, or of the lines.
    reason: Option<String>,
}

/// Where a message comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MessageSource {
    Events,
    Lines,
}

/// A call in a message.
#[derive(Debug)]
struct MessageCall {
    id: String,
    /// Whether the agent has shown that it has the whole of it.
    complete: bool,
}

impl StreamJsonReader {
    /// An event of the agent's provider.
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
                let mut heard = self.end_message(None);
                self.remember(id.clone());
                self.start_message(id, MessageSource::Events);
                heard.push(AgentEvent::StreamEvent(event));
                heard
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
                let mut heard = message.close_blocks(&reason);
                message.reason = Some(reason);
                if let Some(event) = event.as_object_mut() {
                    event.entry("usage").or_insert_with(|| json!({}));
                }
                heard.push(AgentEvent::StreamEvent(event));
                heard
            }
            (Some("message_stop"), _) => match self.event_message() {
                Some(_) => self.end_message(None),
                None => vec![AgentEvent::Unreadable],
            },
            (Some("ping" | "error"), _) => Vec::new(),
            _ => vec![AgentEvent::Unreadable],
        }
    }

    /// A line with whole blocks of a message.
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
        let mut heard = Vec::new();
        let goes_on = self
            .open
            .as_ref()
            .is_some_and(|open| open.source == MessageSource::Lines && open.id == id);
        if !goes_on {
            heard = self.end_message(None);
            let mut start = message.clone();
            if let Some(start) = start.as_object_mut() {
                start.insert("content".to_owned(), json!([]));
                start.insert("stop_reason".to_owned(), Value::Null);
                start.insert("stop_sequence".to_owned(), Value::Null);
            }
            heard.push(AgentEvent::StreamEvent(json!({"type": "message_start", "message": start})));
            self.start_message(id, MessageSource::Lines);
        }
        let Some(open) = &mut self.open else { return heard };
        // Old versions say the reason on some of the lines.
        if let Some(reason) = text(&message, "stop_reason") {
            open.reason = Some(reason.to_owned());
        }
        for block in blocks {
            open.write_block(block, names, &mut heard);
        }
        // Its next wish may come only behind the answer to the first: nothing else would end it.
        if self.called_message.as_deref() == Some(&*open.id) {
            heard.extend(self.end_message(None));
        }
        heard
    }

    /// The agent works on a call: it has the whole of it. A message of lines ends here, since
    /// nothing else says when it does.
    pub(super) fn mark_called(&mut self, call: Option<&str>) -> Vec<AgentEvent> {
        if let Some(call) = call {
            self.mark_complete(call);
        }
        match &self.open {
            Some(open) if open.source == MessageSource::Lines => {
                self.called_message = Some(open.id.clone());
                self.end_message(None)
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// The turn has ended: whether anything was told in it, and what ends the last message.
    pub(super) fn end_turn(&mut self, reason: Option<&str>) -> (bool, Vec<AgentEvent>) {
        let heard = self.end_message(reason);
        (std::mem::take(&mut self.has_output), heard)
    }

    /// Ends the message that is open, in good form.
    pub(super) fn end_message(&mut self, reason: Option<&str>) -> Vec<AgentEvent> {
        let Some(mut message) = self.open.take() else { return Vec::new() };
        let mut heard = Vec::new();
        if message.source == MessageSource::Lines || message.reason.is_none() {
            let called = message.calls.iter().any(|call| call.complete);
            let said = message.reason.take();
            let reason = match (called, said.as_deref(), reason) {
                (true, _, _) => "tool_use",
                (false, Some("tool_use") | None, Some("tool_use") | None) => "end_turn",
                (false, Some("tool_use") | None, Some(reason)) => reason,
                (false, Some(said), _) => said,
            };
            heard = message.close_blocks("");
            heard.push(AgentEvent::StreamEvent(json!({
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": null},
                "usage": {"output_tokens": 0},
            })));
        }
        heard.push(AgentEvent::StreamEvent(json!({"type": "message_stop"})));
        heard
    }

    /// A block begins.
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

    /// The open message, if it is one of events.
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
        calls.filter(|said| said.id == call).for_each(|said| said.complete = true);
    }

    fn remember(&mut self, id: String) {
        if self.streamed.len() >= MAX_REMEMBERED {
            self.streamed.pop_front();
        }
        self.streamed.push_back(id);
    }
}

impl OpenMessage {
    /// Closes what is open before the message gets its reason. Calls that nobody has seen whole
    /// are not made, unless the provider itself says that it waits for them.
    fn close_blocks(&mut self, reason: &str) -> Vec<AgentEvent> {
        let stop = |index: u64| {
            AgentEvent::StreamEvent(json!({"type": "content_block_stop", "index": index}))
        };
        let mut heard: Vec<AgentEvent> = self.open.drain(..).map(stop).collect();
        if reason != "tool_use" {
            let half = self.calls.iter().filter(|call| !call.complete);
            heard.extend(
                half.map(|call| AgentEvent::CallClosed { call: call.id.clone(), error: true }),
            );
        }
        heard
    }

    /// A whole block, as the events that would have told it.
    fn write_block(&mut self, block: &Value, names: &ToolNameTable, heard: &mut Vec<AgentEvent>) {
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
        let said = |event| AgentEvent::StreamEvent(event);
        heard.push(said(
            json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        heard.extend(deltas.into_iter().map(|delta| {
            said(json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        heard.push(said(json!({"type": "content_block_stop", "index": index})));
    }
}

/// Gives a call of a client's tool the client's name, and marks one of the agent's own.
fn rename_tool(block: &mut Value, names: &ToolNameTable) {
    if text(block, "type") != Some("tool_use") {
        return;
    }
    let inner = text(block, "name").and_then(|name| name.strip_prefix(PREFIX));
    let (field, value) = match inner.and_then(|inner| names.client_name(inner)) {
        Some(outer) => ("name", outer.to_owned()),
        None => ("type", "agent_tool_use".to_owned()),
    };
    if let Some(block) = block.as_object_mut() {
        block.insert(field.to_owned(), Value::String(value));
    }
}
