//! Gemini CLI: messages that are written again when they change.

use serde_json::{Value, json};

use super::{SessionConversation, lines::records};

/// A message, and the line of its current version.
type GeminiCliMessage = (usize, Value);

pub(super) fn view(bytes: &[u8]) -> SessionConversation {
    let mut list: Vec<GeminiCliMessage> = Vec::new();
    if let Some(old) = old_file(bytes) {
        old.iter().enumerate().for_each(|(at, message)| write(&mut list, at, message));
    } else {
        for record in records(bytes) {
            follow(&mut list, record.line, &record.value);
        }
    }
    let mut conversation = SessionConversation::default();
    for (line, message) in list {
        tell(&mut conversation, line, &message);
    }
    conversation
}

/// The messages of an older file: one object over many lines, possibly truncated.
fn old_file(bytes: &[u8]) -> Option<Vec<Value>> {
    let text = String::from_utf8_lossy(bytes);
    let (head, rest) = text.split_once("\"messages\": [")?;
    let first = head.trim_start().lines().next()?;
    if first != "{" {
        return None;
    }
    // The longest readable prefix of the list.
    let ends = rest.match_indices('}').map(|(at, _)| at + 1).rev().chain([0]);
    ends.into_iter().find_map(|end| serde_json::from_str(&format!("[{}]", &rest[..end])).ok())
}

/// Applies a record.
fn follow(list: &mut Vec<GeminiCliMessage>, line: usize, record: &Value) {
    let set = &record["$set"]["messages"];
    if let Some(id) = record["$rewindTo"].as_str() {
        let from = list.iter().position(|(_, message)| message["id"] == id).unwrap_or(0);
        list.truncate(from);
    } else if record["id"].is_string() {
        write(list, line, record);
    } else if let Some(all) = set.as_array() {
        list.clear();
        all.iter().for_each(|message| write(list, line, message));
    }
}

/// The last version counts, at the position of the first.
fn write(list: &mut Vec<GeminiCliMessage>, line: usize, message: &Value) {
    let named = |other: &Value| other["id"].is_string() && other["id"] == message["id"];
    match list.iter_mut().find(|(_, other)| named(other)) {
        Some(entry) => *entry = (line, message.clone()),
        None => list.push((line, message.clone())),
    }
}

fn tell(conversation: &mut SessionConversation, line: usize, message: &Value) {
    let content = parts(&message["content"]);
    match message["type"].as_str() {
        Some("user") if !is_aside(&content) => {
            conversation.push(line, json!({"role": "user", "parts": content}));
        }
        Some("gemini") => {
            let none = Vec::new();
            let calls = message["toolCalls"].as_array().unwrap_or(&none);
            let mut model_parts = content.clone();
            for call in calls {
                let named = |part: &Value| part["functionCall"]["id"] == call["id"];
                if !content.iter().any(named) {
                    let (id, name, args) = (&call["id"], &call["name"], &call["args"]);
                    model_parts
                        .push(json!({"functionCall": {"id": id, "name": name, "args": args}}));
                }
            }
            if model_parts.is_empty() {
                return;
            }
            conversation.push(line, json!({"role": "model", "parts": model_parts}));
            let answers: Vec<Value> = calls.iter().flat_map(answer).collect();
            if !answers.is_empty() {
                conversation.push(line, json!({"role": "user", "parts": answers}));
            }
        }
        _ => {}
    }
}

/// Content as a list of parts; an empty string has none.
fn parts(content: &Value) -> Vec<Value> {
    let part = |value: &Value| match value {
        Value::String(text) => json!({"text": text}),
        other => other.clone(),
    };
    match content {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::Array(list) => list.iter().map(part).collect(),
        other => vec![part(other)],
    }
}

/// Whether this is a command for the agent and not for the model.
fn is_aside(parts: &[Value]) -> bool {
    let marks = ["/", "?", "<session_context>", "<hook_context>"];
    match parts {
        [] => true,
        [only] => {
            let text = only["text"].as_str().unwrap_or("-").trim();
            text.is_empty() || marks.iter().any(|mark| text.starts_with(mark))
        }
        _ => false,
    }
}

/// The result of a call.
fn answer(call: &Value) -> Vec<Value> {
    let is_part = |part: &Value| part.get("functionResponse").is_some();
    match &call["result"] {
        Value::Null => Vec::new(),
        Value::Array(parts) if parts.is_empty() => Vec::new(),
        Value::Array(parts) if parts.iter().any(is_part) => parts.clone(),
        part if is_part(part) => vec![part.clone()],
        output => vec![json!({"functionResponse": {"id": call["id"], "name": call["name"],
            "response": {"output": output}}})],
    }
}
