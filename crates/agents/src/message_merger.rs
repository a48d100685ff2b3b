//! Merges the stream events of several agent messages into one message for the client.
//!
//! An agent may write several messages before it is done; the client receives one. Calls are not
//! forwarded as they are streamed. The bridge adds the calls for the client at the end.

mod usage;

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::ClientToolCall;
use usage::UsageSum;

/// Separates the texts of two agent messages.
const BLANK_LINE: &str = "\n\n";

/// The client message under construction.
#[derive(Debug, Default)]
pub(crate) struct MessageMerger {
    started: bool,
    /// Number of blocks.
    blocks: u64,
    open: Vec<MergedBlock>,
    /// Stop reason and stop sequence.
    stop: Option<(String, Value)>,
    usage: UsageSum,
    /// The last model name, of this message or an earlier one.
    model: Option<String>,
    /// Number of earlier messages.
    number: u64,
    /// Seed of message ids.
    seed: u128,
    /// The current agent message has text.
    has_text: bool,
    /// An earlier agent message has text, so a blank line precedes the next text.
    needs_blank_line: bool,
}

/// An open block.
#[derive(Debug)]
struct MergedBlock {
    /// Index in the agent's message.
    agent_index: u64,
    merged_index: u64,
    kind: String,
}

impl MessageMerger {
    /// Whether no event was produced yet.
    pub(crate) fn is_empty(&self) -> bool {
        !self.started
    }

    /// A separate message with the same model and seed.
    pub(crate) fn new_sibling(&mut self) -> MessageMerger {
        self.number += 1;
        let (model, number, seed) = (self.model.clone(), self.number, self.seed);
        MessageMerger { model, number, seed, ..MessageMerger::default() }
    }

    /// Sets the seed of ids for messages that the agent does not start itself.
    pub(crate) fn set_seed(&mut self, seed: u128) {
        self.seed = seed;
    }

    /// Adds an event of the agent's stream that is not part of a call.
    pub(crate) fn push_event(&mut self, event: Value, out: &mut Vec<Value>) {
        match event.get("type").and_then(Value::as_str).unwrap_or("") {
            "message_start" => self.start_message(event, out),
            "content_block_start" => {
                if let (Some(agent_index), Some(kind)) =
                    (block_index(&event), nested_type(&event, "content_block"))
                {
                    let kind = kind.to_owned();
                    self.close_blocks(Some(agent_index), out);
                    self.ensure_started(out);
                    self.open.push(MergedBlock { agent_index, merged_index: self.blocks, kind });
                    self.blocks += 1;
                    let event = self.start_block(event);
                    self.forward_event(event, agent_index, out);
                }
            }
            "content_block_delta" => {
                let open =
                    self.open.iter().find(|open| Some(open.agent_index) == block_index(&event));
                if let (Some(open), Some(delta_kind)) = (open, nested_type(&event, "delta"))
                    && accepts_delta(&open.kind, delta_kind)
                {
                    let (agent_index, merged_index) = (open.agent_index, open.merged_index);
                    if self.take_blank_line(event.get("delta").and_then(|delta| delta.get("text")))
                    {
                        let delta = json!({"type": "text_delta", "text": BLANK_LINE});
                        out.push(
                            json!({"type": "content_block_delta", "index": merged_index, "delta": delta}),
                        );
                    }
                    self.forward_event(event, agent_index, out);
                }
            }
            "content_block_stop" => {
                if let Some(index) = block_index(&event) {
                    self.close_blocks(Some(index), out);
                }
            }
            "message_delta" => self.read_delta(&event),
            _ => {}
        }
    }

    /// Ends the agent's message, complete or not.
    pub(crate) fn end_agent_message(&mut self, out: &mut Vec<Value>) {
        self.close_blocks(None, out);
        self.usage.finish_message();
    }

    /// Adds a whole text block.
    pub(crate) fn push_text(&mut self, text: &str, out: &mut Vec<Value>) {
        self.ensure_started(out);
        self.needs_blank_line |= std::mem::take(&mut self.has_text);
        let text = match self.take_blank_line(Some(&text.into())) {
            true => format!("{BLANK_LINE}{text}"),
            false => text.to_owned(),
        };
        let delta = json!({"type": "text_delta", "text": text});
        self.push_block(json!({"type": "text", "text": ""}), delta, out);
    }

    /// Adds a whole call, with its arguments as the model wrote them.
    pub(crate) fn push_call(
        &mut self,
        call: &ClientToolCall,
        arguments: &str,
        out: &mut Vec<Value>,
    ) {
        self.ensure_started(out);
        let start = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": arguments});
        self.push_block(start, delta, out);
    }

    /// Ends the client message and resets for the next one. `calls`: the message has calls.
    pub(crate) fn finish(&mut self, calls: bool, out: &mut Vec<Value>) {
        self.ensure_started(out);
        self.end_agent_message(out);
        let (reason, sequence) = match self.stop.take() {
            _ if calls => ("tool_use".to_owned(), Value::Null),
            // The agent continued after these by itself and is done now.
            Some((reason, _)) if matches!(&*reason, "tool_use" | "pause_turn") => {
                ("end_turn".to_owned(), Value::Null)
            }
            Some(stop) => stop,
            None => ("end_turn".to_owned(), Value::Null),
        };
        let usage = std::mem::take(&mut self.usage).into_total();
        out.push(json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": sequence},
            "usage": usage,
        }));
        out.push(json!({"type": "message_stop"}));
        self.discard();
    }

    /// Drops the current message.
    pub(crate) fn discard(&mut self) {
        let (model, number, seed) = (self.model.take(), self.number + 1, self.seed);
        *self = MessageMerger { model, number, seed, ..MessageMerger::default() };
    }

    fn start_message(&mut self, event: Value, out: &mut Vec<Value>) {
        self.end_agent_message(out);
        self.needs_blank_line |= std::mem::take(&mut self.has_text);
        let message = event.get("message");
        if let Some(model) = message.and_then(|of| of.get("model")).and_then(Value::as_str) {
            self.model = Some(model.to_owned());
        }
        if let Some(usage) = message.and_then(|of| of.get("usage")) {
            self.usage.update(usage);
        }
        if message.is_some_and(Value::is_object) && !self.started {
            self.started = true;
            out.push(event);
        }
    }

    fn read_delta(&mut self, event: &Value) {
        if let Some(usage) = event.get("usage") {
            self.usage.update(usage);
        }
        let Some(delta) = event.get("delta") else { return };
        if let Some(reason) = delta.get("stop_reason").and_then(Value::as_str) {
            let sequence = delta.get("stop_sequence").cloned().unwrap_or(Value::Null);
            self.stop = Some((reason.to_owned(), sequence));
        }
    }

    /// Starts the message if no agent message has started it.
    fn ensure_started(&mut self, out: &mut Vec<Value>) {
        if self.started {
            return;
        }
        self.started = true;
        let model = self.model.as_deref().unwrap_or("agent");
        let seed = format!("{:032x} {}", self.seed, self.number);
        out.push(json!({
            "type": "message_start",
            "message": {
                "id": format!("msg_{:032x}", xxh3_128(seed.as_bytes())),
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [],
                "stop_reason": null,
                "stop_sequence": null,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            },
        }));
    }

    /// Whether a text needs a blank line before it: it is the first text of its message, and an
    /// earlier agent message has text.
    fn take_blank_line(&mut self, text: Option<&Value>) -> bool {
        let has_text = text.and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        self.has_text |= has_text;
        has_text && std::mem::take(&mut self.needs_blank_line)
    }

    /// Prepares a block start, which may already contain text.
    fn start_block(&mut self, mut event: Value) -> Value {
        let block = event.get_mut("content_block").filter(|block| block["type"] == "text");
        if let Some(text) = block.and_then(|block| block.get_mut("text"))
            && self.take_blank_line(Some(text))
        {
            *text = format!("{BLANK_LINE}{}", text.as_str().unwrap_or_default()).into();
        }
        event
    }

    /// Adds a whole block.
    fn push_block(&mut self, start: Value, delta: Value, out: &mut Vec<Value>) {
        let index = self.blocks;
        self.blocks += 1;
        out.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        out.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        out.push(json!({"type": "content_block_stop", "index": index}));
    }

    /// Forwards an event of an open block under its merged index.
    fn forward_event(&mut self, mut event: Value, index: u64, out: &mut Vec<Value>) {
        let open = self.open.iter().find(|open| open.agent_index == index);
        if let (Some(open), Some(number)) = (open, event.get_mut("index")) {
            *number = json!(open.merged_index);
            out.push(event);
        }
    }

    /// Closes one open block, or all.
    fn close_blocks(&mut self, only: Option<u64>, out: &mut Vec<Value>) {
        self.open.retain(|open| {
            let stays = only.is_some_and(|only| only != open.agent_index);
            if !stays {
                out.push(json!({"type": "content_block_stop", "index": open.merged_index}));
            }
            stays
        });
    }
}

/// The block index of an event.
pub(crate) fn block_index(event: &Value) -> Option<u64> {
    event.get("index")?.as_u64()
}

/// The type of the object in `field`.
fn nested_type<'e>(event: &'e Value, field: &str) -> Option<&'e str> {
    event.get(field)?.get("type")?.as_str()
}

/// Whether a block of this type accepts such a delta. Unknown block types accept any.
fn accepts_delta(block: &str, delta: &str) -> bool {
    match block {
        "text" => matches!(delta, "text_delta" | "citations_delta"),
        "thinking" => matches!(delta, "thinking_delta" | "signature_delta"),
        "redacted_thinking" => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
