//! Assembles the tool calls of the message that an agent is streaming.

use serde_json::Value;

use crate::{ClientToolCall, message_merger::block_index};

/// Maximum size of the arguments of one call.
const MAX_ARGUMENT_BYTES: usize = 64 << 20;

/// The message that is being streamed.
#[derive(Debug, Default)]
pub(super) struct CallAssembler {
    blocks: Vec<CallBlock>,
}

#[derive(Debug)]
struct CallBlock {
    index: u64,
    owner: ToolOwner,
    id: String,
    name: String,
    /// The input of the block start; deltas replace it.
    input: Option<Value>,
    input_json: String,
    /// The agent already has its result.
    closed: bool,
}

/// Owner of the called tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ToolOwner {
    Client,
    Agent,
}

/// What an event is for the calls of the message.
#[derive(Debug)]
pub(super) enum AssemblerEvent {
    /// Part of a call.
    CallPart,
    /// The end of a call.
    CallEnded { owner: ToolOwner, call: ClientToolCall, text: String },
    /// The end of a call that already has a result.
    Dropped,
    /// Not part of a call.
    Other(Value),
}

impl CallAssembler {
    /// Adds an event of a block.
    pub(super) fn push_event(&mut self, event: Value) -> AssemblerEvent {
        let Some(at) = block_index(&event) else { return AssemblerEvent::Other(event) };
        match event.get("type").and_then(Value::as_str).unwrap_or("") {
            "content_block_start" => self.start(at, event),
            "content_block_delta" => match self.blocks.iter_mut().find(|block| block.index == at) {
                Some(block) => {
                    let delta_text = event.get("delta").and_then(|delta| delta.get("partial_json"));
                    let delta_text = delta_text.and_then(Value::as_str).unwrap_or("");
                    if block.input_json.len() + delta_text.len() <= MAX_ARGUMENT_BYTES {
                        block.input_json.push_str(delta_text);
                    }
                    AssemblerEvent::CallPart
                }
                None => AssemblerEvent::Other(event),
            },
            "content_block_stop" => match self.blocks.iter().position(|block| block.index == at) {
                Some(position) => self.blocks.remove(position).into_event(),
                None => AssemblerEvent::Other(event),
            },
            _ => AssemblerEvent::Other(event),
        }
    }

    /// Marks a call that is still streamed as answered. Returns false if there is no such call.
    pub(super) fn close(&mut self, id: &str) -> bool {
        let block = self.blocks.iter_mut().find(|block| block.id == id);
        block.map(|block| block.closed = true).is_some()
    }

    fn start(&mut self, index: u64, mut event: Value) -> AssemblerEvent {
        self.blocks.retain(|block| block.index != index);
        let Some(block) = event.get_mut("content_block") else {
            return AssemblerEvent::Other(event);
        };
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        let owner = match text("type").as_str() {
            "tool_use" => ToolOwner::Client,
            "agent_tool_use" => ToolOwner::Agent,
            _ => return AssemblerEvent::Other(event),
        };
        let (id, name) = (text("id"), text("name"));
        let input = block.get_mut("input").map(Value::take);
        let input_json = String::new();
        self.blocks.push(CallBlock { index, owner, id, name, input, input_json, closed: false });
        AssemblerEvent::CallPart
    }
}

impl CallBlock {
    fn into_event(self) -> AssemblerEvent {
        let CallBlock { owner, id, name, input, input_json, closed, .. } = self;
        if closed && owner == ToolOwner::Client {
            return AssemblerEvent::Dropped;
        }
        let (arguments, text) = match input {
            Some(input) if input_json.trim().is_empty() => {
                let text = input.to_string();
                (input, text)
            }
            None if input_json.trim().is_empty() => {
                (Value::Object(serde_json::Map::new()), "{}".into())
            }
            // Invalid JSON is kept as the model wrote it.
            Some(_) | None => {
                let parsed = serde_json::from_str(&input_json);
                (parsed.unwrap_or_else(|_| Value::String(input_json.clone())), input_json)
            }
        };
        AssemblerEvent::CallEnded { owner, call: ClientToolCall { id, name, arguments }, text }
    }
}
