//! Qwen Code's variant of linked files: contents of the Gemini API, and compressions that cut the path.

use serde_json::{Value, json};

use super::{LineRecord, SessionConversation, linked};

const MANNER: linked::LinkedAgent = linked::LinkedAgent {
    is_linked: |_| true,
    message,
    key: |_| None,
    carried: |_| None,
    leaves_hollow: false,
    leaves_blank: |_| false,
    starts_at_notes: true,
};

pub(super) fn view(records: &[LineRecord]) -> SessionConversation {
    let wrapped = linked::view(&readable(records), &MANNER);
    let mut conversation = SessionConversation::default();
    for (message, lines) in wrapped.messages.into_iter().zip(wrapped.lines) {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let contents = blocks.iter().find_map(|block| block["contents"].as_array().cloned());
        let contents = contents.unwrap_or_else(|| {
            let role = if message["role"] == "assistant" { "model" } else { "user" };
            let parts: Vec<Value> = blocks.iter().map(|block| block["part"].clone()).collect();
            vec![json!({"role": role, "parts": parts})]
        });
        for content in contents {
            conversation.messages.push(content);
            conversation.lines.push(lines.clone());
        }
    }
    conversation
}

/// The lines on the path from the last record to the root.
pub(super) fn walk(records: &[LineRecord]) -> Vec<usize> {
    linked::plain_walk(&readable(records), &MANNER)
}

/// The records that can be on the path. A compression has no parent.
fn readable(records: &[LineRecord]) -> Vec<LineRecord> {
    let mut readable: Vec<LineRecord> = Vec::new();
    for LineRecord { line, value } in records {
        let mut value = value.clone();
        let kinds = ["user", "assistant", "tool_result", "system"];
        let is_known = kinds.iter().any(|kind| value["type"] == *kind);
        let is_aside = value["type"] == "system" && value["subtype"] == "session_artifact_event";
        let cuts = compressed(&value).is_some();
        if let Some(fields) = value.as_object_mut() {
            if !is_known || is_aside {
                fields.remove("uuid");
            }
            if fields.get("parentUuid") == Some(&json!("")) {
                fields.remove("parentUuid");
            }
            let parent = fields.remove("parentUuid");
            let key = if cuts { "cutParent" } else { "parentUuid" };
            fields.extend(parent.map(|parent| (key.to_owned(), parent)));
        }
        readable.push(LineRecord { line: *line, value });
    }
    readable
}

/// The contents of a compression.
fn compressed(record: &Value) -> Option<&Vec<Value>> {
    let is_compression = record["type"] == "system" && record["subtype"] == "chat_compression";
    record["systemPayload"]["compressedHistory"].as_array().filter(|_| is_compression)
}

/// The message of a record, with wrapped parts.
fn message(record: &Value) -> Option<Value> {
    if let Some(contents) = compressed(record) {
        let last = contents.last()?;
        let parts = last["parts"].as_array().cloned().unwrap_or_default();
        let calls = parts.iter().filter(|part| part.get("functionCall").is_some()).map(wrapped);
        let calls: Vec<Value> = calls.filter(|_| last["role"] == "model").collect();
        let role = if calls.is_empty() { "compressed" } else { "assistant" };
        let mut content = vec![json!({"type": "compressed", "contents": contents})];
        content.extend(calls);
        return Some(json!({"role": role, "content": content}));
    }
    let kinds = ["user", "assistant", "tool_result"];
    let message = record.get("message").filter(|_| kinds.iter().any(|it| record["type"] == *it))?;
    let role = if message["role"] == "model" { "assistant" } else { "user" };
    let parts = message["parts"].as_array().cloned().unwrap_or_default();
    let content: Vec<Value> = parts.iter().map(wrapped).collect();
    Some(json!({"role": role, "content": content}))
}

fn wrapped(part: &Value) -> Value {
    let body = |camel: &str, snake: &str| {
        let body = part.get(camel).or_else(|| part.get(snake));
        body.filter(|body| body.is_object()).cloned()
    };
    if let Some(result) = body("functionResponse", "function_response") {
        let response = &result["response"];
        let words = response.get("output").or_else(|| response.get("error"));
        return json!({"type": "tool_result", "tool_use_id": result["id"], "content": words,
            "part": part});
    }
    match body("functionCall", "function_call") {
        Some(call) => json!({"type": "tool_use", "id": call["id"], "part": part}),
        None => json!({"type": "other", "part": part}),
    }
}
