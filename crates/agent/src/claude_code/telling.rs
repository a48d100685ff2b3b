//! What the model says, message by message, as events of an Anthropic stream.
//!
//! The agent tells it twice: as the events of its provider, and as lines of whole blocks. Events
//! are passed on; lines only if their message was never told by events. Whatever
//! breaks on the way, every message told here is whole: its blocks are closed, it has a stop reason
//! and an end. A call that came only half is told as closed: the agent does not make it.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::PREFIX;
use super::words::text;
use crate::{Heard, Names};

/// So many messages are remembered as told.
const REMEMBERED: usize = 64;

/// A message has at most this many blocks; more are noise.
const BLOCKS: usize = 10_000;

/// What has been told.
#[derive(Debug, Default)]
pub(super) struct Telling {
    open: Option<Message>,
    streamed: VecDeque<String>,
    /// A message of lines that ended with a wish. More lines of it may come.
    wished: Option<String>,
    anything: bool,
}

/// A message that has not ended.
#[derive(Debug)]
struct Message {
    id: String,
    source: Source,
    blocks: u64,
    /// Blocks that are open.
    open: Vec<u64>,
    calls: Vec<Said>,
    /// Of the events, or of the lines.
    reason: Option<String>,
}

/// Where a message comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Events,
    Lines,
}

/// A call in a message.
#[derive(Debug)]
struct Said {
    id: String,
    /// Whether the agent has shown that it has the whole of it.
    whole: bool,
}

impl Telling {
    /// An event of the agent's provider.
    pub(super) fn event(&mut self, mut event: Value, names: &Names) -> Vec<Heard> {
        let index = event.get("index").and_then(Value::as_u64);
        match (text(&event, "type"), index) {
            (Some("message_start"), _) => {
                let Some(id) = event.get("message").and_then(|message| text(message, "id")) else {
                    return vec![Heard::Noise];
                };
                let id = id.to_owned();
                let mut heard = self.finish(None);
                self.remember(id.clone());
                self.start(id, Source::Events);
                heard.push(Heard::Said(event));
                heard
            }
            (Some("content_block_start"), Some(index)) => self.block(index, event, names),
            (Some("content_block_delta"), Some(index)) => match self.events() {
                Some(message) if message.open.contains(&index) => vec![Heard::Said(event)],
                Some(_) | None => vec![Heard::Noise],
            },
            (Some("content_block_stop"), Some(index)) => match self.events() {
                Some(message) if message.open.contains(&index) => {
                    message.open.retain(|open| *open != index);
                    vec![Heard::Said(event)]
                }
                Some(_) | None => vec![Heard::Noise],
            },
            (Some("message_delta"), _) => {
                let reason = event.get("delta").and_then(|delta| text(delta, "stop_reason"));
                let reason = reason.map(str::to_owned);
                let Some(message) = self.events() else { return vec![Heard::Noise] };
                let Some(reason) = reason else { return Vec::new() };
                if message.reason.is_some() {
                    return vec![Heard::Noise];
                }
                let mut heard = message.close(&reason);
                message.reason = Some(reason);
                if let Some(event) = event.as_object_mut() {
                    event.entry("usage").or_insert_with(|| json!({}));
                }
                heard.push(Heard::Said(event));
                heard
            }
            (Some("message_stop"), _) => match self.events() {
                Some(_) => self.finish(None),
                None => vec![Heard::Noise],
            },
            (Some("ping" | "error"), _) => Vec::new(),
            _ => vec![Heard::Noise],
        }
    }

    /// A line with whole blocks of a message.
    pub(super) fn line(&mut self, message: Value, names: &Names) -> Vec<Heard> {
        let Some(id) = text(&message, "id") else { return vec![Heard::Noise] };
        let Some(Value::Array(blocks)) = message.get("content") else { return vec![Heard::Noise] };
        if self.streamed.iter().any(|streamed| streamed == id) {
            for block in blocks {
                if let (Some("tool_use"), Some(call)) = (text(block, "type"), text(block, "id")) {
                    self.whole(call);
                }
            }
            return Vec::new();
        }
        let id = id.to_owned();
        let mut heard = Vec::new();
        let goes_on =
            self.open.as_ref().is_some_and(|open| open.source == Source::Lines && open.id == id);
        if !goes_on {
            heard = self.finish(None);
            let mut start = message.clone();
            if let Some(start) = start.as_object_mut() {
                start.insert("content".to_owned(), json!([]));
                start.insert("stop_reason".to_owned(), Value::Null);
                start.insert("stop_sequence".to_owned(), Value::Null);
            }
            heard.push(Heard::Said(json!({"type": "message_start", "message": start})));
            self.start(id, Source::Lines);
        }
        let Some(open) = &mut self.open else { return heard };
        // Old versions say the reason on some of the lines.
        if let Some(reason) = text(&message, "stop_reason") {
            open.reason = Some(reason.to_owned());
        }
        for block in blocks {
            open.tell(block, names, &mut heard);
        }
        // Its next wish may come only behind the answer to the first: nothing else would end it.
        if self.wished.as_deref() == Some(&*open.id) {
            heard.extend(self.finish(None));
        }
        heard
    }

    /// The agent works on a call: it has the whole of it. A message of lines ends here, since
    /// nothing else says when it does.
    pub(super) fn wish(&mut self, call: Option<&str>) -> Vec<Heard> {
        if let Some(call) = call {
            self.whole(call);
        }
        match &self.open {
            Some(open) if open.source == Source::Lines => {
                self.wished = Some(open.id.clone());
                self.finish(None)
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// The turn has ended: whether anything was told in it, and what ends the last message.
    pub(super) fn end(&mut self, reason: Option<&str>) -> (bool, Vec<Heard>) {
        let heard = self.finish(reason);
        (std::mem::take(&mut self.anything), heard)
    }

    /// Ends the message that is open, in good form.
    pub(super) fn finish(&mut self, reason: Option<&str>) -> Vec<Heard> {
        let Some(mut message) = self.open.take() else { return Vec::new() };
        let mut heard = Vec::new();
        if message.source == Source::Lines || message.reason.is_none() {
            let called = message.calls.iter().any(|call| call.whole);
            let said = message.reason.take();
            let reason = match (called, said.as_deref(), reason) {
                (true, _, _) => "tool_use",
                (false, Some("tool_use") | None, Some("tool_use") | None) => "end_turn",
                (false, Some("tool_use") | None, Some(reason)) => reason,
                (false, Some(said), _) => said,
            };
            heard = message.close("");
            heard.push(Heard::Said(json!({
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": null},
                "usage": {"output_tokens": 0},
            })));
        }
        heard.push(Heard::Said(json!({"type": "message_stop"})));
        heard
    }

    /// A block begins.
    fn block(&mut self, index: u64, mut event: Value, names: &Names) -> Vec<Heard> {
        let Some(message) = self.events() else { return vec![Heard::Noise] };
        let Some(block) = event.get_mut("content_block") else { return vec![Heard::Noise] };
        let room = message.open.len() < BLOCKS && message.calls.len() < BLOCKS;
        let room = room && message.reason.is_none();
        if !room || text(block, "type").is_none() || message.open.contains(&index) {
            return vec![Heard::Noise];
        }
        if text(block, "type") == Some("tool_use") {
            let Some(id) = text(block, "id") else { return vec![Heard::Noise] };
            message.calls.push(Said { id: id.to_owned(), whole: false });
        }
        renamed(block, names);
        message.open.push(index);
        vec![Heard::Said(event)]
    }

    /// The open message, if it is one of events.
    fn events(&mut self) -> Option<&mut Message> {
        self.open.as_mut().filter(|message| message.source == Source::Events)
    }

    fn start(&mut self, id: String, source: Source) {
        self.anything = true;
        let calls = Vec::new();
        self.open = Some(Message { id, source, blocks: 0, open: Vec::new(), calls, reason: None });
    }

    fn whole(&mut self, call: &str) {
        let calls = self.open.iter_mut().flat_map(|message| &mut message.calls);
        calls.filter(|said| said.id == call).for_each(|said| said.whole = true);
    }

    fn remember(&mut self, id: String) {
        if self.streamed.len() >= REMEMBERED {
            self.streamed.pop_front();
        }
        self.streamed.push_back(id);
    }
}

impl Message {
    /// Closes what is open before the message gets its reason. Calls that nobody has seen whole
    /// are not made, unless the provider itself says that it waits for them.
    fn close(&mut self, reason: &str) -> Vec<Heard> {
        let stop = |index: u64| Heard::Said(json!({"type": "content_block_stop", "index": index}));
        let mut heard: Vec<Heard> = self.open.drain(..).map(stop).collect();
        if reason != "tool_use" {
            let half = self.calls.iter().filter(|call| !call.whole);
            heard.extend(half.map(|call| Heard::Closed { call: call.id.clone(), error: true }));
        }
        heard
    }

    /// A whole block, as the events that would have told it.
    fn tell(&mut self, block: &Value, names: &Names, heard: &mut Vec<Heard>) {
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
                self.calls.push(Said { id: id.to_owned(), whole: true });
                let input = fields.insert("input".to_owned(), json!({}));
                let input = input.unwrap_or_else(|| json!({})).to_string();
                deltas.push(json!({"type": "input_json_delta", "partial_json": input}));
            }
            _ => {}
        }
        renamed(&mut start, names);
        let index = self.blocks;
        self.blocks += 1;
        let said = |event| Heard::Said(event);
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
fn renamed(block: &mut Value, names: &Names) {
    if text(block, "type") != Some("tool_use") {
        return;
    }
    let inner = text(block, "name").and_then(|name| name.strip_prefix(PREFIX));
    let (field, value) = match inner.and_then(|inner| names.outer(inner)) {
        Some(outer) => ("name", outer.to_owned()),
        None => ("type", "agent_tool_use".to_owned()),
    };
    if let Some(block) = block.as_object_mut() {
        block.insert(field.to_owned(), Value::String(value));
    }
}
