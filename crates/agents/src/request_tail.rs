//! The new part of a request: the messages after those the agent has seen.

use foxwedge_core::Format;
use foxwedge_formats::{
    OutlineOptions, ReadError,
    model::{
        ContentPart, LossKind, ModelHistory, ModelMessage, ModelPart, ModelRole, decode_request,
        encode,
    },
    read,
};
use serde_json::{Value, json};

/// The new part of a request.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestTail {
    /// Tool results, in order.
    pub answers: Vec<ClientToolResult>,
    /// User content as blocks of an Anthropic user message, in order.
    pub user_content: Vec<Value>,
    /// Whether it contains assistant messages that the agent did not write.
    pub foreign: bool,
    /// Whether parallel tool calls are disabled.
    pub one_at_a_time: bool,
    /// Seed of ids for messages that the agent does not start itself: a different number for every
    /// request of every conversation. It is not read from the text.
    pub seed: u128,
}

/// A tool result of the client.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientToolResult {
    /// The call id that the client uses.
    pub call: String,
    /// Text and image blocks in Anthropic's format; never empty.
    pub content: Vec<Value>,
    /// Whether it is marked as an error.
    pub error: bool,
}

/// A call of a client tool, in the form for the client.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientToolCall {
    /// Call id.
    pub id: String,
    /// The client's tool name.
    pub name: String,
    /// The arguments, usually an object.
    pub arguments: Value,
}

impl RequestTail {
    /// Reads the messages of a request from this index on. Instructions are skipped.
    ///
    /// # Errors
    /// If the text is not JSON, or holds no list of messages of that format.
    pub fn read(source: &str, format: Format, from: usize) -> Result<RequestTail, ReadError> {
        let listed = read(source, format, OutlineOptions::default())?.draft.messages.len();
        let request = decode_request(source, format)?;
        let mut tail = RequestTail {
            one_at_a_time: request.settings.parallel_calls == Some(false),
            ..RequestTail::default()
        };
        // Instructions outside the message list come first and are not counted.
        let messages = request.history.messages;
        let beside = if listed == 0 { 0 } else { messages.len().saturating_sub(listed) };
        let mut content_parts = Vec::new();
        for message in messages.into_iter().skip(beside.saturating_add(from)) {
            match message.role {
                ModelRole::System | ModelRole::Developer => {}
                ModelRole::Assistant => tail.foreign = true,
                ModelRole::User => tail.sort_user_parts(message.parts, &mut content_parts),
            }
        }
        tail.user_content =
            if content_parts.is_empty() { Vec::new() } else { content_blocks(content_parts) };
        Ok(tail)
    }

    /// Splits user parts into tool results and content.
    fn sort_user_parts<'a>(
        &mut self,
        parts: Vec<ModelPart<'a>>,
        content_parts: &mut Vec<ModelPart<'a>>,
    ) {
        for part in parts {
            let ContentPart::ToolResult(answer) = part.content() else {
                content_parts.push(part);
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

/// Encodes parts in Anthropic's format. Parts without an equivalent become text notes.
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
