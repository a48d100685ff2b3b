//! What is new in a request: the messages behind what the agent has seen.

use foxwedge_core::Wire;
use foxwedge_dialect::{
    ReadError, Want,
    canon::{Bit, History, Lost, Part, Said, Speaker, decode_request, encode},
    read,
};
use serde_json::{Value, json};

/// What is new in a request.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tail {
    /// Answers to calls, in their order.
    pub answers: Vec<Answer>,
    /// What a person says, as blocks of an Anthropic user message, in order.
    pub words: Vec<Value>,
    /// Whether somebody else spoke: words of the model that the agent never said.
    pub foreign: bool,
    /// Whether at most one call may be handed out at a time.
    pub one_at_a_time: bool,
    /// What the ids of messages are made of that the agent did not begin itself: another number for
    /// every request of every conversation. The text does not say it.
    pub seed: u128,
}

/// An answer of the client.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The id of its call, as the client has it.
    pub call: String,
    /// Blocks of text and images, as Anthropic spells them; never empty.
    pub content: Vec<Value>,
    /// Marked as a failure.
    pub error: bool,
}

/// A call of a client's tool, as the client is told of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The client's name of the tool.
    pub name: String,
    /// The arguments: an object, as a rule.
    pub arguments: Value,
}

impl Tail {
    /// The messages of a request from this one on. Instructions are not part of it.
    ///
    /// # Errors
    /// If the text is not JSON, or holds no list of messages of that format.
    pub fn read(source: &str, wire: Wire, from: usize) -> Result<Tail, ReadError> {
        let listed = read(source, wire, Want::default())?.draft.messages.len();
        let request = decode_request(source, wire)?;
        let mut tail =
            Tail { one_at_a_time: request.settings.parallel == Some(false), ..Tail::default() };
        // Instructions that stand beside the list come first, and are not counted.
        let said = request.history.messages;
        let beside = if listed == 0 { 0 } else { said.len().saturating_sub(listed) };
        let mut words = Vec::new();
        for said in said.into_iter().skip(beside.saturating_add(from)) {
            match said.role {
                Speaker::System | Speaker::Developer => {}
                Speaker::Assistant => tail.foreign = true,
                Speaker::User => tail.user(said.parts, &mut words),
            }
        }
        tail.words = if words.is_empty() { Vec::new() } else { blocks(words) };
        Ok(tail)
    }

    /// Sorts what stands on the user's side.
    fn user<'a>(&mut self, parts: Vec<Part<'a>>, words: &mut Vec<Part<'a>>) {
        for part in parts {
            let Bit::Answer(answer) = part.bit() else {
                words.push(part);
                continue;
            };
            let mut content = blocks(answer.parts.clone());
            if content.is_empty() {
                content.push(json!({"type": "text", "text": ""}));
            }
            let call = answer.id.as_deref().unwrap_or("").to_owned();
            self.answers.push(Answer { call, content, error: answer.error });
        }
    }
}

/// What is said, as Anthropic spells it. What it has no spelling for is told in words.
fn blocks(parts: Vec<Part<'_>>) -> Vec<Value> {
    let history = History { messages: vec![Said::new(Speaker::User, parts)] };
    let (list, losses) = encode(&history, Wire::Anthropic);
    let mut blocks = Vec::new();
    let list = match serde_json::from_str(&list) {
        Ok(Value::Array(list)) => list,
        Ok(_) | Err(_) => Vec::new(),
    };
    for mut message in list {
        match message.get_mut("content").map(Value::take) {
            Some(Value::Array(content)) => blocks.extend(content),
            Some(Value::String(text)) => blocks.push(json!({"type": "text", "text": text})),
            Some(_) | None => {}
        }
    }
    let lost = losses.iter().filter(|loss| matches!(loss.what, Lost::Media | Lost::Unknown));
    blocks.extend(lost.map(|loss| json!({"type": "text", "text": format!("[{}]", loss.note)})));
    blocks
}

#[cfg(test)]
mod tests;
