//! Kimi Code: records in file order, until one of them takes back or replaces what was said.

use serde_json::{Value, json};

use super::{LineRecord, SessionConversation};

pub(super) fn view(records: &[LineRecord]) -> SessionConversation {
    let mut conversation = SessionConversation::default();
    for LineRecord { line, value } in records {
        let (message, event) = (&value["message"], &value["event"]);
        match value["type"].as_str() {
            Some("context.append_message") if message["origin"]["kind"] != "injection" => {
                conversation.push(*line, whole(message));
            }
            Some("context.append_loop_event") => {
                if let Some(message) = piece(event) {
                    conversation.push(*line, message);
                }
            }
            Some("context.apply_compaction") if value.get("keptUserMessageCount").is_some() => {
                keep_users(&mut conversation);
                if let Some(text) = value["summary"].as_str() {
                    conversation.push(*line, json!({"role": "user", "content": text}));
                }
            }
            Some("context.clear") => conversation.truncate(0),
            Some("context.undo") => {
                for _ in 0..value["count"].as_u64().unwrap_or(0).min(1000) {
                    let last = conversation.messages.iter().rposition(|it| it["role"] == "user");
                    conversation.truncate(last.unwrap_or(conversation.messages.len()));
                }
            }
            _ => {}
        }
    }
    conversation
}

fn keep_users(conversation: &mut SessionConversation) {
    let told = conversation.messages.iter().zip(&conversation.lines);
    let users: Vec<(usize, Value)> = told
        .filter(|(message, _)| message["role"] == "user")
        .map(|(message, lines)| (lines[0], message.clone()))
        .collect();
    conversation.truncate(0);
    users.into_iter().for_each(|(line, message)| conversation.push(line, message));
}

/// A whole message.
fn whole(message: &Value) -> Value {
    let texts: Vec<Value> = match &message["content"] {
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text").cloned()).collect(),
        text @ Value::String(_) => vec![text.clone()],
        _ => Vec::new(),
    };
    let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
    match message["role"].as_str() {
        Some("tool") => answer(&message["toolCallId"], &message["content"]),
        Some("assistant") => {
            let calls = message["toolCalls"].as_array().cloned().unwrap_or_default();
            let calls = calls.iter().map(|it| call(&it["id"], &it["name"], it.get("arguments")));
            reply(texts.first().copied(), calls.collect())
        }
        _ => json!({"role": "user", "content": texts.first().copied().unwrap_or("")}),
    }
}

/// A piece of a reply, or a result.
fn piece(event: &Value) -> Option<Value> {
    match event["type"].as_str()? {
        "content.part" => {
            let text = (event["part"]["type"] == "text").then(|| event["part"]["text"].as_str());
            Some(reply(text.flatten(), Vec::new()))
        }
        "tool.call" => {
            let call = call(&event["toolCallId"], &event["name"], event.get("args"));
            Some(reply(None, vec![call]))
        }
        "tool.result" => Some(answer(&event["toolCallId"], &event["result"]["output"])),
        _ => None,
    }
}

fn reply(text: Option<&str>, calls: Vec<Value>) -> Value {
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

fn call(id: &Value, name: &Value, arguments: Option<&Value>) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let arguments = match arguments {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "{}".to_owned(),
    };
    json!({"id": text(id), "type": "function",
        "function": {"name": text(name), "arguments": arguments}})
}

fn answer(id: &Value, content: &Value) -> Value {
    let content = match content {
        Value::String(_) | Value::Array(_) => content.clone(),
        _ => json!(""),
    };
    json!({"role": "tool", "tool_call_id": id.as_str().unwrap_or(""), "content": content})
}
