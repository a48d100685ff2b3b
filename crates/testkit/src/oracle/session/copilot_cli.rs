//! Copilot CLI: events in file order, until a compaction or a cleared context replaces them.

use serde_json::{Value, json};

use super::{LineRecord, SessionConversation};

pub(super) fn view(records: &[LineRecord]) -> SessionConversation {
    let mut conversation = SessionConversation::default();
    for LineRecord { line, value } in records {
        let data = &value["data"];
        let is_aside = value["agentId"].is_string() || data["parentToolCallId"].is_string();
        match value["type"].as_str() {
            Some("session.compaction_complete") if data["success"] == true => {
                conversation.truncate(0);
                if let Some(text) = data["summaryContent"].as_str() {
                    conversation.push(*line, json!({"role": "user", "content": text}));
                }
            }
            Some("session.context_cleared") => conversation.truncate(0),
            _ if is_aside => {}
            Some("user.message" | "system.notification") => {
                let text = data["content"].as_str().unwrap_or("");
                conversation.push(*line, json!({"role": "user", "content": text}));
            }
            Some("assistant.message") => conversation.push(*line, reply(data)),
            Some("tool.execution_complete") if data["isUserRequested"] != true => {
                let text = data["result"].get("content").or_else(|| data["error"].get("message"));
                let text = text.and_then(Value::as_str).unwrap_or("");
                let id = data["toolCallId"].as_str().unwrap_or("");
                let message = json!({"role": "tool", "tool_call_id": id, "content": text});
                conversation.push(*line, message);
            }
            _ => {}
        }
    }
    conversation
}

fn reply(data: &Value) -> Value {
    let text = data["content"].as_str().filter(|text| !text.is_empty());
    let mut message = json!({"role": "assistant", "content": text});
    let requests = data["toolRequests"].as_array().cloned().unwrap_or_default();
    let call = |request: &Value| {
        let text = |key: &str| request[key].as_str().unwrap_or("").to_owned();
        let arguments = match request.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "{}".to_owned(),
        };
        json!({"id": text("toolCallId"), "type": "function",
            "function": {"name": text("name"), "arguments": arguments}})
    };
    if !requests.is_empty() {
        message["tool_calls"] = requests.iter().map(call).collect();
    }
    message
}
