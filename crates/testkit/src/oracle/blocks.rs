//! What each element of a message is, dialect by dialect.

use serde_json::Value;

use super::items;
use super::reading::{Block, Kind, Place, Role, field, text};
use crate::dialect::Dialect;

/// The blocks of one message in order; for Chat the text first, then the calls.
pub(super) fn of_message<'a>(dialect: Dialect, value: &'a Value, role: Role) -> Vec<Block<'a>> {
    let whole = |kind| vec![Block { kind, body: value, value, place: Place::Whole }];
    match dialect {
        Dialect::Chat if role == Role::Answer => whole(Kind::Answer),
        Dialect::Responses => whole(items::kind(value)),
        Dialect::Chat => {
            let mut blocks = content(field(value, "content"), chat);
            blocks.extend(tool_calls(value));
            blocks
        }
        Dialect::Anthropic => content(field(value, "content"), anthropic),
        Dialect::Bedrock => content(field(value, "content"), bedrock),
        Dialect::Gemini => content(field(value, "parts"), gemini),
    }
}

/// The elements of a content array; a string that is not empty is one block of text.
fn content(content: Option<&Value>, read: fn(&Value) -> (Kind, &Value)) -> Vec<Block<'_>> {
    match content {
        Some(value @ Value::String(text)) if !text.is_empty() => {
            vec![Block { kind: Kind::Text, body: value, value, place: Place::Whole }]
        }
        Some(Value::Array(elements)) => elements
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let (kind, body) = read(value);
                Block { kind, body, value, place: Place::Content(index) }
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn tool_calls(message: &Value) -> Vec<Block<'_>> {
    let elements = field(message, "tool_calls").and_then(Value::as_array);
    elements
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, value)| value.is_object())
        .map(|(index, value)| Block {
            kind: Kind::Call,
            body: value,
            value,
            place: Place::ToolCalls(index),
        })
        .collect()
}

fn chat(value: &Value) -> (Kind, &Value) {
    match text(value, "type") {
        Some("text") => (Kind::Text, value),
        _ => (Kind::Other, value),
    }
}

fn anthropic(value: &Value) -> (Kind, &Value) {
    let kind = match text(value, "type") {
        Some("text") => Kind::Text,
        Some("tool_use") => Kind::Call,
        Some("tool_result") => Kind::Answer,
        Some("server_tool_use" | "mcp_tool_use") => Kind::ServerCall,
        Some("thinking" | "redacted_thinking") => Kind::Reasoning,
        Some(kind) if kind.ends_with("_tool_result") => Kind::ServerAnswer,
        _ => Kind::Other,
    };
    (kind, value)
}

fn gemini(value: &Value) -> (Kind, &Value) {
    let thought = field(value, "thought") == Some(&Value::Bool(true));
    if let Some(body) = object(value, "functionCall") {
        (Kind::Call, body)
    } else if let Some(body) = object(value, "functionResponse") {
        (Kind::Answer, body)
    } else if thought {
        (Kind::Reasoning, value)
    } else if text(value, "text").is_some() {
        (Kind::Text, value)
    } else {
        (Kind::Other, value)
    }
}

fn bedrock(value: &Value) -> (Kind, &Value) {
    if let Some(body) = object(value, "toolUse") {
        let server = text(body, "type") == Some("server_tool_use");
        (if server { Kind::ServerCall } else { Kind::Call }, body)
    } else if let Some(body) = object(value, "toolResult") {
        let server = text(body, "type").is_some_and(|kind| kind != "tool_result");
        (if server { Kind::ServerAnswer } else { Kind::Answer }, body)
    } else if field(value, "reasoningContent").is_some() {
        (Kind::Reasoning, value)
    } else if text(value, "text").is_some() {
        (Kind::Text, value)
    } else {
        (Kind::Other, value)
    }
}

fn object<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    field(value, key).filter(|body| body.is_object())
}
