//! The blocks of a message in each format.

use serde_json::Value;

use super::items;
use super::reading::{BlockPlace, OracleBlock, OracleBlockKind, OracleRole, field, text};
use crate::dialect::TestFormat;

/// The blocks of one message in order; in Chat the text first, then the calls.
pub(super) fn of_message<'a>(
    format: TestFormat,
    value: &'a Value,
    role: OracleRole,
) -> Vec<OracleBlock<'a>> {
    let whole = |kind| vec![OracleBlock { kind, body: value, value, place: BlockPlace::Whole }];
    match format {
        TestFormat::Chat if role == OracleRole::Answer => whole(OracleBlockKind::Answer),
        TestFormat::Responses => whole(items::kind(value)),
        TestFormat::Chat => {
            let mut blocks = content(field(value, "content"), chat);
            blocks.extend(tool_calls(value));
            blocks
        }
        TestFormat::Anthropic => content(field(value, "content"), anthropic),
        TestFormat::Bedrock => content(field(value, "content"), bedrock),
        TestFormat::Gemini => content(field(value, "parts"), gemini),
    }
}

/// The elements of a content array. A non-empty string is one text block.
fn content(
    content: Option<&Value>,
    read: fn(&Value) -> (OracleBlockKind, &Value),
) -> Vec<OracleBlock<'_>> {
    match content {
        Some(value @ Value::String(text)) if !text.is_empty() => {
            vec![OracleBlock {
                kind: OracleBlockKind::Text,
                body: value,
                value,
                place: BlockPlace::Whole,
            }]
        }
        Some(Value::Array(elements)) => elements
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let (kind, body) = read(value);
                OracleBlock { kind, body, value, place: BlockPlace::Content(index) }
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn tool_calls(message: &Value) -> Vec<OracleBlock<'_>> {
    let elements = field(message, "tool_calls").and_then(Value::as_array);
    elements
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, value)| value.is_object())
        .map(|(index, value)| OracleBlock {
            kind: OracleBlockKind::Call,
            body: value,
            value,
            place: BlockPlace::ToolCalls(index),
        })
        .collect()
}

fn chat(value: &Value) -> (OracleBlockKind, &Value) {
    match text(value, "type") {
        Some("text") => (OracleBlockKind::Text, value),
        _ => (OracleBlockKind::Other, value),
    }
}

fn anthropic(value: &Value) -> (OracleBlockKind, &Value) {
    let kind = match text(value, "type") {
        Some("text") => OracleBlockKind::Text,
        Some("tool_use") => OracleBlockKind::Call,
        Some("tool_result") => OracleBlockKind::Answer,
        Some("server_tool_use" | "mcp_tool_use") => OracleBlockKind::ServerCall,
        Some("thinking" | "redacted_thinking") => OracleBlockKind::Reasoning,
        Some(kind) if kind.ends_with("_tool_result") => OracleBlockKind::ServerAnswer,
        _ => OracleBlockKind::Other,
    };
    (kind, value)
}

fn gemini(value: &Value) -> (OracleBlockKind, &Value) {
    let thought = field(value, "thought") == Some(&Value::Bool(true));
    if let Some(body) = object(value, "functionCall") {
        (OracleBlockKind::Call, body)
    } else if let Some(body) = object(value, "functionResponse") {
        (OracleBlockKind::Answer, body)
    } else if thought {
        (OracleBlockKind::Reasoning, value)
    } else if text(value, "text").is_some() {
        (OracleBlockKind::Text, value)
    } else {
        (OracleBlockKind::Other, value)
    }
}

fn bedrock(value: &Value) -> (OracleBlockKind, &Value) {
    if let Some(body) = object(value, "toolUse") {
        let server = text(body, "type") == Some("server_tool_use");
        (if server { OracleBlockKind::ServerCall } else { OracleBlockKind::Call }, body)
    } else if let Some(body) = object(value, "toolResult") {
        let server = text(body, "type").is_some_and(|kind| kind != "tool_result");
        (if server { OracleBlockKind::ServerAnswer } else { OracleBlockKind::Answer }, body)
    } else if field(value, "reasoningContent").is_some() {
        (OracleBlockKind::Reasoning, value)
    } else if text(value, "text").is_some() {
        (OracleBlockKind::Text, value)
    } else {
        (OracleBlockKind::Other, value)
    }
}

fn object<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    field(value, key).filter(|body| body.is_object())
}
