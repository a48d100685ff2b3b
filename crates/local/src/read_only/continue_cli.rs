//! Continue: `sessions/<id>.json`, one object with the list `history`. A call and the state of its tool
//! are in the item of the reply; what the tool returned is the `output` of that state. A call without a
//! state is sent without a result.

use std::path::Path;

use foxwedge_sessions::ReadOnlyAgent;
use serde_json::{Value, json};

use super::{
    ReadOnlyText, call_block, field, image_block, list, parse_document, text_block, thinking_block,
};

/// What Continue sends as the result of a call that was cut off.
const CANCELLED: &str = "Tool cancelled";

/// How many bytes of a file show what it is.
const HEAD: usize = 4096;

pub(super) fn is_session(path: &Path, content: &[u8]) -> bool {
    let head = String::from_utf8_lossy(content.get(..HEAD.min(content.len())).unwrap_or_default());
    path.extension().is_some_and(|end| end == "json")
        && head.starts_with('{')
        && head.contains("\"sessionId\"")
        && head.contains("\"workspaceDirectory\"")
}

pub(super) fn session_text(content: &[u8]) -> anyhow::Result<Vec<u8>> {
    let session = parse_document(ReadOnlyAgent::Continue, content)?;
    let facts = [
        ("id", field(&session, "sessionId")),
        ("title", field(&session, "title")),
        ("folder", field(&session, "workspaceDirectory")),
        ("model", field(&session, "chatModelTitle")),
    ];
    let mut text = ReadOnlyText::new(ReadOnlyAgent::Continue, &facts);
    // A summary replaces everything before it.
    let history = list(&session, "history");
    let summary = history.iter().position(|item| field(item, "conversationSummary").is_string());
    let mut thoughts = Vec::new();
    for item in history.iter().skip(summary.unwrap_or(0)) {
        push_item(&mut text, item, &mut thoughts);
    }
    text.push("assistant", thoughts);
    Ok(text.finish())
}

/// Adds an item. Thoughts are items of their own, in front of the reply that they belong to.
fn push_item(text: &mut ReadOnlyText, item: &Value, thoughts: &mut Vec<Value>) {
    let message = field(item, "message");
    match message.get("role").and_then(Value::as_str) {
        Some("user") => {
            text.push("assistant", std::mem::take(thoughts));
            let mut content: Vec<Value> =
                list(item, "contextItems").iter().filter_map(context_block).collect();
            content.extend(content_blocks(message));
            text.push("user", content);
        }
        Some("thinking") => {
            let blocks = content_blocks(message);
            let words: Vec<&str> =
                blocks.iter().filter_map(|it| it.get("text")?.as_str()).collect();
            let redacted = field(message, "redactedThinking");
            thoughts.extend(match redacted.is_string() {
                true => Some(json!({"type": "redacted_thinking", "data": redacted})),
                false => thinking_block(&words.join("\n"), field(message, "signature")),
            });
        }
        Some("assistant") => push_reply(text, item, message, std::mem::take(thoughts)),
        Some("tool") => {
            text.push_result(field(message, "toolCallId"), json!(content_blocks(message)), false);
        }
        // The instructions of the agent are not stored; others do not know what they say.
        _ => {}
    }
}

fn push_reply(text: &mut ReadOnlyText, item: &Value, message: &Value, mut content: Vec<Value>) {
    let reasoning = field(field(item, "reasoning"), "text").as_str().unwrap_or_default();
    content.extend(thinking_block(reasoning, &Value::Null));
    content.extend(content_blocks(message));
    for call in list(message, "toolCalls") {
        let function = field(call, "function");
        let (name, arguments) = (field(function, "name"), field(function, "arguments"));
        content.push(call_block(field(call, "id"), name, arguments));
    }
    text.push("assistant", content);
    for state in list(item, "toolCallStates") {
        let mut output: Vec<Value> = list(state, "output")
            .iter()
            .filter_map(|part| text_block(field(part, "content").as_str()?))
            .collect();
        if list(state, "output").is_empty() {
            output.extend(text_block(CANCELLED));
        }
        let is_error = state.get("status").and_then(Value::as_str) == Some("errored");
        text.push_result(field(state, "toolCallId"), json!(output), is_error);
    }
}

/// The content of a message: a text, or a list of parts.
fn content_blocks(message: &Value) -> Vec<Value> {
    let content = field(message, "content");
    let of_part = |part: &Value| match part.get("type").and_then(Value::as_str)? {
        "text" => text_block(part.get("text")?.as_str()?),
        "imageUrl" => Some(image_block(part.get("imageUrl")?.get("url")?.as_str()?)),
        _ => None,
    };
    match content.as_str() {
        Some(text) => text_block(text).into_iter().collect(),
        None => content.as_array().into_iter().flatten().filter_map(of_part).collect(),
    }
}

/// What the user attached.
fn context_block(item: &Value) -> Option<Value> {
    let name = field(item, "name").as_str().unwrap_or_default();
    let content = item.get("content")?.as_str()?;
    text_block(&format!("<context name=\"{name}\">\n{content}\n</context>"))
}
