//! Droid: `sessions/<folder>/<session>.jsonl`. The first line is a `session_start`; `message` lines hold
//! messages in the format of Anthropic. What a compaction replaced stays in the file, and is read.

use std::path::Path;

use foxwedge_sessions::ReadOnlyAgent;
use serde_json::{Value, json};

use super::{ReadOnlyText, field, text_block};

pub(super) fn is_session(path: &Path, content: &[u8]) -> bool {
    let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
    path.extension().is_some_and(|end| end == "jsonl")
        && line.starts_with(b"{\"type\":\"session_start\"")
}

pub(super) fn session_text(content: &[u8]) -> Vec<u8> {
    let content = String::from_utf8_lossy(content);
    let head = content.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let head = head.unwrap_or_default();
    let facts = [
        ("id", field(&head, "id")),
        ("title", field(&head, "title")),
        ("folder", field(&head, "cwd")),
    ];
    let mut text = ReadOnlyText::new(ReadOnlyAgent::Droid, &facts);
    for line in content.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(event) if field(&event, "type") == "message" => push_message(&mut text, &event),
            Ok(_) => {}
            Err(_) => text.push_torn(line),
        }
    }
    text.finish()
}

fn push_message(text: &mut ReadOnlyText, event: &Value) {
    let message = field(event, "message");
    let Some(role @ ("user" | "assistant")) = field(message, "role").as_str() else { return };
    let blocks = match field(message, "content") {
        Value::String(words) => text_block(words).into_iter().collect(),
        Value::Array(blocks) => blocks.iter().map(sent_block).collect(),
        _ => Vec::new(),
    };
    text.push(role, blocks);
}

/// A block as it is sent. Droid adds fields of its own to some.
fn sent_block(block: &Value) -> Value {
    let mut block = block.clone();
    if field(&block, "type") == "tool_use" && field(&block, "input").is_null() {
        block["input"] = json!({});
    }
    block
}
