//! Converts user content and tool results for the agent.

use serde_json::{Map, Value, json};

/// User content blocks. Text that begins with `/` would be a command of the agent, so a space is
/// inserted before it. Tool results are removed: the agent would drop them here.
pub(super) fn prompt_blocks(blocks: Vec<Value>) -> Vec<Value> {
    let mut content: Vec<Value> =
        blocks.into_iter().filter(|block| text(block, "type") != Some("tool_result")).collect();
    for block in &mut content {
        remove_cache_mark(block);
        if let Some(Value::String(text)) = block.get_mut("text")
            && text.starts_with('/')
        {
            text.insert(0, ' ');
        }
    }
    content
}

/// Removes a cache mark: the agent sets its own, and providers limit their number.
pub(super) fn remove_cache_mark(block: &mut Value) {
    if let Value::Object(block) = block {
        block.remove("cache_control");
    }
}

/// Tool result blocks in MCP format.
pub(super) fn result_blocks(blocks: Vec<Value>) -> Vec<Value> {
    blocks.into_iter().map(result_block).collect()
}

fn result_block(block: Value) -> Value {
    let source = block.get("source");
    let source_text = |name| source.and_then(|source| text(source, name));
    match (text(&block, "type"), source_text("type")) {
        (Some("text"), _) => {
            json!({"type": "text", "text": text(&block, "text").unwrap_or_default()})
        }
        (Some("image"), Some("base64")) => json!({
            "type": "image",
            "data": source_text("data").unwrap_or_default(),
            "mimeType": source_text("media_type").unwrap_or("image/png"),
        }),
        (Some("document"), Some("text")) => {
            json!({"type": "text", "text": source_text("data").unwrap_or_default()})
        }
        (Some("image" | "document"), Some("url")) => {
            json!({"type": "text", "text": source_text("url").unwrap_or_default()})
        }
        // Blocks without an MCP equivalent are passed as JSON text, so nothing is lost.
        _ => json!({"type": "text", "text": block.to_string()}),
    }
}

/// Answers of a person as texts: several choices are joined with commas.
pub(super) fn answer_texts(answers: Map<String, Value>) -> Map<String, Value> {
    answers
        .into_iter()
        .map(|(question, answer)| (question, Value::String(answer_text(answer))))
        .collect()
}

fn answer_text(answer: Value) -> String {
    match answer {
        Value::String(text) => text,
        Value::Array(choices) => {
            choices.into_iter().map(answer_text).collect::<Vec<String>>().join(", ")
        }
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => other.to_string(),
    }
}

/// A string field of an object.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}
