//! What a client says and answers, as the agent is to read it.

use serde_json::{Map, Value, json};

/// Blocks of a person's words. Text that begins with `/` would be a command of the agent's own: a
/// space before it makes it text. Answers do not belong among words: the agent would throw
/// them away.
pub(super) fn prompt_blocks(blocks: Vec<Value>) -> Vec<Value> {
    let mut words: Vec<Value> =
        blocks.into_iter().filter(|block| text(block, "type") != Some("tool_result")).collect();
    for block in &mut words {
        remove_cache_mark(block);
        if let Some(Value::String(text)) = block.get_mut("text")
            && text.starts_with('/')
        {
            text.insert(0, ' ');
        }
    }
    words
}

/// Takes a mark for the provider's cache off: the agent sets its own, and providers count them.
pub(super) fn remove_cache_mark(block: &mut Value) {
    if let Value::Object(block) = block {
        block.remove("cache_control");
    }
}

/// Blocks of an answer, as tool servers spell them.
pub(super) fn result_blocks(blocks: Vec<Value>) -> Vec<Value> {
    blocks.into_iter().map(result_block).collect()
}

fn result_block(block: Value) -> Value {
    let source = block.get("source");
    let part = |name| source.and_then(|source| text(source, name));
    match (text(&block, "type"), part("type")) {
        (Some("text"), _) => {
            json!({"type": "text", "text": text(&block, "text").unwrap_or_default()})
        }
        (Some("image"), Some("base64")) => json!({
            "type": "image",
            "data": part("data").unwrap_or_default(),
            "mimeType": part("media_type").unwrap_or("image/png"),
        }),
        (Some("document"), Some("text")) => {
            json!({"type": "text", "text": part("data").unwrap_or_default()})
        }
        (Some("image" | "document"), Some("url")) => {
            json!({"type": "text", "text": part("url").unwrap_or_default()})
        }
        // Nothing is lost: what tool servers have no word for is told as it is.
        _ => json!({"type": "text", "text": block.to_string()}),
    }
}

/// Answers of a person, each as a text: several choices are one text with commas.
pub(super) fn answer_texts(answers: Map<String, Value>) -> Map<String, Value> {
    answers
        .into_iter()
        .map(|(question, answer)| (question, Value::String(answer_text(answer))))
        .collect()
}

fn answer_text(answer: Value) -> String {
    match answer {
        Value::String(text) => text,
        Value::Array(several) => {
            several.into_iter().map(answer_text).collect::<Vec<String>>().join(", ")
        }
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => other.to_string(),
    }
}

/// A text in an object, by name.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}
