//! Makes the events of one outward message out of those of many.
//!
//! An agent may think in several messages before it is done: the client hears one. Calls are not
//! passed on as they are said; whoever knows which of them the client is to hear adds them at the
//! end.

mod usage;

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::ClientToolCall;
use usage::UsageSum;

/// What stands between the texts of two messages of the agent.
const BLANK_LINE: &str = "\n\n";

/// One outward message in the making.
#[derive(Debug, Default)]
pub(crate) struct MessageMerger {
    started: bool,
    /// How many blocks there are.
    blocks: u64,
    open: Vec<MergedBlock>,
    /// Why the model stopped, and at which text.
    stop: Option<(String, Value)>,
    usage: UsageSum,
    /// The model that spoke last, in this message or an earlier one.
    model: Option<String>,
    /// How many messages there were before.
    number: u64,
    /// What ids are made of.
    seed: u128,
    /// A text was said.
    has_text: bool,
    /// A text was said in an earlier message of the agent: a blank line stands before the next.
    needs_blank_line: bool,
}

/// A block that is open.
#[derive(Debug)]
struct MergedBlock {
    /// The agent's number of it.
    agent_index: u64,
    merged_index: u64,
    kind: String,
}

impl MessageMerger {
    /// Whether nothing was said yet.
    pub(crate) fn is_empty(&self) -> bool {
        !self.started
    }

    /// Another message, beside this one.
    pub(crate) fn new_sibling(&mut self) -> MessageMerger {
        self.number += 1;
        let (model, number, seed) = (self.model.clone(), self.number, self.seed);
        MessageMerger { model, number, seed, ..MessageMerger::default() }
    }

    /// Ids of messages that the agent does not begin itself are made of this from now on.
    pub(crate) fn set_seed(&mut self, seed: u128) {
        self.seed = seed;
    }

    /// An event of the agent's stream, of a message or of a block that is no call.
    pub(crate) fn push_event(&mut self, event: Value, out: &mut Vec<Value>) {
        match event.get("type").and_then(Value::as_str).unwrap_or("") {
            "message_start" => self.start_message(event, out),
            "content_block_start" => {
                if let (Some(theirs), Some(kind)) =
                    (block_index(&event), nested_type(&event, "content_block"))
                {
                    let kind = kind.to_owned();
                    self.close_blocks(Some(theirs), out);
                    self.ensure_started(out);
                    self.open.push(MergedBlock {
                        agent_index: theirs,
                        merged_index: self.blocks,
                        kind,
                    });
                    self.blocks += 1;
                    let event = self.start_block(event);
                    self.forward_event(event, theirs, out);
                }
            }
            "content_block_delta" => {
                let open =
                    self.open.iter().find(|open| Some(open.agent_index) == block_index(&event));
                if let (Some(open), Some(piece)) = (open, nested_type(&event, "delta"))
                    && accepts_delta(&open.kind, piece)
                {
                    let (theirs, ours) = (open.agent_index, open.merged_index);
                    if self.take_blank_line(event.get("delta").and_then(|delta| delta.get("text")))
                    {
                        let delta = json!({"type": "text_delta", "text": BLANK_LINE});
                        out.push(
                            json!({"type": "content_block_delta", "index": ours, "delta": delta}),
                        );
                    }
                    self.forward_event(event, theirs, out);
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

    /// The agent's message is over, however it ended.
    pub(crate) fn end_agent_message(&mut self, out: &mut Vec<Value>) {
        self.close_blocks(None, out);
        self.usage.finish_message();
    }

    /// A text in one piece.
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

    /// A call in one piece, with its arguments as the model wrote them.
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

    /// The end of the outward message; the next one begins anew. `calls`: it holds some.
    pub(crate) fn finish(&mut self, calls: bool, out: &mut Vec<Value>) {
        self.ensure_started(out);
        self.end_agent_message(out);
        let (reason, sequence) = match self.stop.take() {
            _ if calls => ("tool_use".to_owned(), Value::Null),
            // The agent went on from these by itself, and is done now.
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

    /// What was said is of no use any more.
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

    /// The beginning, where no message of the agent's has made it.
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

    /// Whether a text needs a blank line before it: it is the first of its message, and another
    /// message of the agent said something before.
    fn take_blank_line(&mut self, text: Option<&Value>) -> bool {
        let says = text.and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        self.has_text |= says;
        says && std::mem::take(&mut self.needs_blank_line)
    }

    /// The start of a block, which may hold a text.
    fn start_block(&mut self, mut event: Value) -> Value {
        let block = event.get_mut("content_block").filter(|block| block["type"] == "text");
        if let Some(text) = block.and_then(|block| block.get_mut("text"))
            && self.take_blank_line(Some(text))
        {
            *text = format!("{BLANK_LINE}{}", text.as_str().unwrap_or_default()).into();
        }
        event
    }

    /// A block in one piece.
    fn push_block(&mut self, start: Value, delta: Value, out: &mut Vec<Value>) {
        let index = self.blocks;
        self.blocks += 1;
        out.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        out.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        out.push(json!({"type": "content_block_stop", "index": index}));
    }

    /// An event of an open block, under our number of it.
    fn forward_event(&mut self, mut event: Value, index: u64, out: &mut Vec<Value>) {
        let open = self.open.iter().find(|open| open.agent_index == index);
        if let (Some(open), Some(number)) = (open, event.get_mut("index")) {
            *number = json!(open.merged_index);
            out.push(event);
        }
    }

    /// Ends one block, or all that are open.
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

/// The number of a block in an event.
pub(crate) fn block_index(event: &Value) -> Option<u64> {
    event.get("index")?.as_u64()
}

/// The type of what an event carries.
fn nested_type<'e>(event: &'e Value, field: &str) -> Option<&'e str> {
    event.get(field)?.get("type")?.as_str()
}

/// Whether a block of that type takes such a piece. Blocks that we do not know take anything.
fn accepts_delta(block: &str, piece: &str) -> bool {
    match block {
        "text" => matches!(piece, "text_delta" | "citations_delta"),
        "thinking" => matches!(piece, "thinking_delta" | "signature_delta"),
        "redacted_thinking" => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
