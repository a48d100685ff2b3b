//! What is new in a request: the messages behind what the agent has seen.

use foxwedge_core::Format;
use foxwedge_dialect::{
    OutlineOptions, ReadError,
    model::{
        ContentPart, LossKind, ModelHistory, ModelMessage, ModelPart, ModelRole, decode_request,
        encode,
    },
    read,
};
use serde_json::{Value, json};

/// What is new in a request.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestTail {
    /// Answers to calls, in their order.
    pub answers: Vec<ClientToolResult>,
    /// What a person says, as blocks of an Anthropic user message, in order.
    pub user_content: Vec<Value>,
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
pub struct ClientToolResult {
    /// The id of its call, as the client has it.
    pub call: String,
    /// Blocks of text and images, as Anthropic spells them; never empty.
    pub content: Vec<Value>,
    /// Marked as a failure.
    pub error: bool,
}

/// A call of a client's tool, as the client is told of it.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientToolCall {
    /// Its id.
    pub id: String,
    /// The client's name of the tool.
    pub name: String,
    /// The arguments: an object, as a rule.
    pub arguments: Value,
}

impl RequestTail {
    /// The messages of a request from this one on. Instructions are not part of it.
    ///
    /// # Errors
    /// If the text is not JSON, or holds no list of messages of that format.
    pub fn read(source: &str, wire: Format, from: usize) -> Result<RequestTail, ReadError> {
        let listed = read(source, wire, OutlineOptions::default())?.draft.messages.len();
        let request = decode_request(source, wire)?;
        let mut tail = RequestTail {
            one_at_a_time: request.settings.parallel_calls == Some(false),
            ..RequestTail::default()
        };
        // Instructions that stand beside the list come first, and are not counted.
        let said = request.history.messages;
        let beside = if listed == 0 { 0 } else { said.len().saturating_sub(listed) };
        let mut words = Vec::new();
        for said in said.into_iter().skip(beside.saturating_add(from)) {
            match said.role {
                ModelRole::System | ModelRole::Developer => {}
                ModelRole::Assistant => tail.foreign = true,
                ModelRole::User => tail.sort_user_parts(said.parts, &mut words),
            }
        }
        tail.user_content = if words.is_empty() { Vec::new() } else { content_blocks(words) };
        Ok(tail)
    }

    /// Sorts what stands on the user's side.
    fn sort_user_parts<'a>(&mut self, parts: Vec<ModelPart<'a>>, words: &mut Vec<ModelPart<'a>>) {
        for part in parts {
            let ContentPart::ToolResult(answer) = part.content() else {
                words.push(part);
                continue;
            };
            let mut content = content_blocks(answer.parts.clone());
            if content.is_empty() {
                content.push(json!({"type": "text", "text": ""}));
            }
            let call = answer.id.as_deref().unwrap_or("").to_owned();
            self.answers.push(ClientToolResult { call, content, error: answer.error });
        }
    }
}

/// What is said, as Anthropic spells it. What it has no spelling for is told in words.
fn content_blocks(parts: Vec<ModelPart<'_>>) -> Vec<Value> {
    let history = ModelHistory { messages: vec![ModelMessage::new(ModelRole::User, parts)] };
    let (list, losses) = encode(&history, Format::Anthropic);
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
    let lost =
        losses.iter().filter(|loss| matches!(loss.kind, LossKind::Media | LossKind::Unknown));
    blocks.extend(lost.map(|loss| json!({"type": "text", "text": format!("[{}]", loss.note)})));
    blocks
}

#[cfg(test)]
mod tests;
