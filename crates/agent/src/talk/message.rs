//! The message that an agent is saying: its calls are put together here, piece by piece.

use serde_json::Value;

use crate::{Call, speech::index};

/// The arguments of one call, at most.
const LONGEST: usize = 64 << 20;

/// A message that is being said.
#[derive(Debug, Default)]
pub(super) struct Message {
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    index: u64,
    whose: Whose,
    id: String,
    name: String,
    /// What came with the beginning; pieces stand for it.
    input: Option<Value>,
    pieces: String,
    /// The agent has answered it already.
    closed: bool,
}

/// Whose tool is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    Client,
    Agent,
}

/// What an event means for calls.
#[derive(Debug)]
pub(super) enum Piece {
    /// It belongs to a call.
    Part,
    /// It ends a call.
    Called { whose: Whose, call: Call, text: String },
    /// It ends a call that the agent has answered already.
    Dropped,
    /// It is no part of a call.
    Other(Value),
}

impl Message {
    /// An event of a block.
    pub(super) fn event(&mut self, event: Value) -> Piece {
        let Some(at) = index(&event) else { return Piece::Other(event) };
        match event.get("type").and_then(Value::as_str).unwrap_or("") {
            "content_block_start" => self.start(at, event),
            "content_block_delta" => match self.blocks.iter_mut().find(|block| block.index == at) {
                Some(block) => {
                    let piece = event.get("delta").and_then(|delta| delta.get("partial_json"));
                    let piece = piece.and_then(Value::as_str).unwrap_or("");
                    if block.pieces.len() + piece.len() <= LONGEST {
                        block.pieces.push_str(piece);
                    }
                    Piece::Part
                }
                None => Piece::Other(event),
            },
            "content_block_stop" => match self.blocks.iter().position(|block| block.index == at) {
                Some(place) => self.blocks.remove(place).done(),
                None => Piece::Other(event),
            },
            _ => Piece::Other(event),
        }
    }

    /// The agent has answered a call that is still being said. Whether there is such a call.
    pub(super) fn close(&mut self, id: &str) -> bool {
        let block = self.blocks.iter_mut().find(|block| block.id == id);
        block.map(|block| block.closed = true).is_some()
    }

    fn start(&mut self, index: u64, mut event: Value) -> Piece {
        self.blocks.retain(|block| block.index != index);
        let Some(block) = event.get_mut("content_block") else { return Piece::Other(event) };
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        let whose = match text("type").as_str() {
            "tool_use" => Whose::Client,
            "agent_tool_use" => Whose::Agent,
            _ => return Piece::Other(event),
        };
        let (id, name) = (text("id"), text("name"));
        let input = block.get_mut("input").map(Value::take);
        let pieces = String::new();
        self.blocks.push(Block { index, whose, id, name, input, pieces, closed: false });
        Piece::Part
    }
}

impl Block {
    fn done(self) -> Piece {
        let Block { whose, id, name, input, pieces, closed, .. } = self;
        if closed && whose == Whose::Client {
            return Piece::Dropped;
        }
        let (arguments, text) = match input {
            Some(input) if pieces.trim().is_empty() => {
                let text = input.to_string();
                (input, text)
            }
            None if pieces.trim().is_empty() => {
                (Value::Object(serde_json::Map::new()), "{}".into())
            }
            // What is no JSON is kept as the model wrote it.
            Some(_) | None => {
                let read = serde_json::from_str(&pieces);
                (read.unwrap_or_else(|_| Value::String(pieces.clone())), pieces)
            }
        };
        Piece::Called { whose, call: Call { id, name, arguments }, text }
    }
}
