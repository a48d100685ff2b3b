//! Makes the events of one outward message out of those of many.
//!
//! An agent may think in several messages before it is done: the client hears one. Calls are not
//! passed on as they are said; whoever knows which of them the client is to hear adds them at the
//! end.

mod usage;

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::Call;
use usage::Total;

/// What stands between the texts of two messages of the agent.
const BLANK_LINE: &str = "\n\n";

/// One outward message in the making.
#[derive(Debug, Default)]
pub(crate) struct Speech {
    begun: bool,
    /// How many blocks there are.
    blocks: u64,
    open: Vec<Open>,
    /// Why the model stopped, and at which text.
    stop: Option<(String, Value)>,
    usage: Total,
    /// The model that spoke last, in this message or an earlier one.
    model: Option<String>,
    /// How many messages there were before.
    number: u64,
    /// What ids are made of.
    seed: u128,
    /// A text was said.
    texts: bool,
    /// A text was said in an earlier message of the agent: a blank line stands before the next.
    parted: bool,
}

/// A block that is open.
#[derive(Debug)]
struct Open {
    /// The agent's number of it.
    theirs: u64,
    ours: u64,
    kind: String,
}

impl Speech {
    /// Whether nothing was said yet.
    pub(crate) fn is_empty(&self) -> bool {
        !self.begun
    }

    /// Another message, beside this one.
    pub(crate) fn apart(&mut self) -> Speech {
        self.number += 1;
        let (model, number, seed) = (self.model.clone(), self.number, self.seed);
        Speech { model, number, seed, ..Speech::default() }
    }

    /// Ids of messages that the agent does not begin itself are made of this from now on.
    pub(crate) fn seed(&mut self, seed: u128) {
        self.seed = seed;
    }

    /// An event of the agent's stream, of a message or of a block that is no call.
    pub(crate) fn said(&mut self, event: Value, out: &mut Vec<Value>) {
        match event.get("type").and_then(Value::as_str).unwrap_or("") {
            "message_start" => self.message(event, out),
            "content_block_start" => {
                if let (Some(theirs), Some(kind)) = (index(&event), kind(&event, "content_block")) {
                    let kind = kind.to_owned();
                    self.close(Some(theirs), out);
                    self.begin(out);
                    self.open.push(Open { theirs, ours: self.blocks, kind });
                    self.blocks += 1;
                    let event = self.part_start(event);
                    self.pass(event, theirs, out);
                }
            }
            "content_block_delta" => {
                let open = self.open.iter().find(|open| Some(open.theirs) == index(&event));
                if let (Some(open), Some(piece)) = (open, kind(&event, "delta"))
                    && fits(&open.kind, piece)
                {
                    let (theirs, ours) = (open.theirs, open.ours);
                    if self.parts(event.get("delta").and_then(|delta| delta.get("text"))) {
                        let delta = json!({"type": "text_delta", "text": BLANK_LINE});
                        out.push(
                            json!({"type": "content_block_delta", "index": ours, "delta": delta}),
                        );
                    }
                    self.pass(event, theirs, out);
                }
            }
            "content_block_stop" => {
                if let Some(index) = index(&event) {
                    self.close(Some(index), out);
                }
            }
            "message_delta" => self.delta(&event),
            _ => {}
        }
    }

    /// The agent's message is over, however it ended.
    pub(crate) fn message_over(&mut self, out: &mut Vec<Value>) {
        self.close(None, out);
        self.usage.settle();
    }

    /// A text in one piece.
    pub(crate) fn text(&mut self, text: &str, out: &mut Vec<Value>) {
        self.begin(out);
        self.parted |= std::mem::take(&mut self.texts);
        let text = match self.parts(Some(&text.into())) {
            true => format!("{BLANK_LINE}{text}"),
            false => text.to_owned(),
        };
        let delta = json!({"type": "text_delta", "text": text});
        self.block(json!({"type": "text", "text": ""}), delta, out);
    }

    /// A call in one piece, with its arguments as the model wrote them.
    pub(crate) fn call(&mut self, call: &Call, arguments: &str, out: &mut Vec<Value>) {
        self.begin(out);
        let start = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": arguments});
        self.block(start, delta, out);
    }

    /// The end of the outward message; the next one begins anew. `calls`: it holds some.
    pub(crate) fn finish(&mut self, calls: bool, out: &mut Vec<Value>) {
        self.begin(out);
        self.message_over(out);
        let (reason, sequence) = match self.stop.take() {
            _ if calls => ("tool_use".to_owned(), Value::Null),
            // The agent went on from these by itself, and is done now.
            Some((reason, _)) if matches!(&*reason, "tool_use" | "pause_turn") => {
                ("end_turn".to_owned(), Value::Null)
            }
            Some(stop) => stop,
            None => ("end_turn".to_owned(), Value::Null),
        };
        let usage = std::mem::take(&mut self.usage).told();
        out.push(json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": sequence},
            "usage": usage,
        }));
        out.push(json!({"type": "message_stop"}));
        self.forget();
    }

    /// What was said is of no use any more.
    pub(crate) fn forget(&mut self) {
        let (model, number, seed) = (self.model.take(), self.number + 1, self.seed);
        *self = Speech { model, number, seed, ..Speech::default() };
    }

    fn message(&mut self, event: Value, out: &mut Vec<Value>) {
        self.message_over(out);
        self.parted |= std::mem::take(&mut self.texts);
        let message = event.get("message");
        if let Some(model) = message.and_then(|of| of.get("model")).and_then(Value::as_str) {
            self.model = Some(model.to_owned());
        }
        if let Some(usage) = message.and_then(|of| of.get("usage")) {
            self.usage.tell(usage);
        }
        if message.is_some_and(Value::is_object) && !self.begun {
            self.begun = true;
            out.push(event);
        }
    }

    fn delta(&mut self, event: &Value) {
        if let Some(usage) = event.get("usage") {
            self.usage.tell(usage);
        }
        let Some(delta) = event.get("delta") else { return };
        if let Some(reason) = delta.get("stop_reason").and_then(Value::as_str) {
            let sequence = delta.get("stop_sequence").cloned().unwrap_or(Value::Null);
            self.stop = Some((reason.to_owned(), sequence));
        }
    }

    /// The beginning, where no message of the agent's has made it.
    fn begin(&mut self, out: &mut Vec<Value>) {
        if self.begun {
            return;
        }
        self.begun = true;
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
    fn parts(&mut self, text: Option<&Value>) -> bool {
        let says = text.and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        self.texts |= says;
        says && std::mem::take(&mut self.parted)
    }

    /// The start of a block, which may hold a text.
    fn part_start(&mut self, mut event: Value) -> Value {
        let block = event.get_mut("content_block").filter(|block| block["type"] == "text");
        if let Some(text) = block.and_then(|block| block.get_mut("text"))
            && self.parts(Some(text))
        {
            *text = format!("{BLANK_LINE}{}", text.as_str().unwrap_or_default()).into();
        }
        event
    }

    /// A block in one piece.
    fn block(&mut self, start: Value, delta: Value, out: &mut Vec<Value>) {
        let index = self.blocks;
        self.blocks += 1;
        out.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        out.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        out.push(json!({"type": "content_block_stop", "index": index}));
    }

    /// An event of an open block, under our number of it.
    fn pass(&mut self, mut event: Value, index: u64, out: &mut Vec<Value>) {
        let open = self.open.iter().find(|open| open.theirs == index);
        if let (Some(open), Some(number)) = (open, event.get_mut("index")) {
            *number = json!(open.ours);
            out.push(event);
        }
    }

    /// Ends one block, or all that are open.
    fn close(&mut self, only: Option<u64>, out: &mut Vec<Value>) {
        self.open.retain(|open| {
            let stays = only.is_some_and(|only| only != open.theirs);
            if !stays {
                out.push(json!({"type": "content_block_stop", "index": open.ours}));
            }
            stays
        });
    }
}

/// The number of a block in an event.
pub(crate) fn index(event: &Value) -> Option<u64> {
    event.get("index")?.as_u64()
}

/// The type of what an event carries.
fn kind<'e>(event: &'e Value, field: &str) -> Option<&'e str> {
    event.get(field)?.get("type")?.as_str()
}

/// Whether a block of that type takes such a piece. Blocks that we do not know take anything.
fn fits(block: &str, piece: &str) -> bool {
    match block {
        "text" => matches!(piece, "text_delta" | "citations_delta"),
        "thinking" => matches!(piece, "thinking_delta" | "signature_delta"),
        "redacted_thinking" => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
