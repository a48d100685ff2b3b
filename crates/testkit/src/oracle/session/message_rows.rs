//! Crush and goose: one row for each message, in order. Rows whose payload is not a list are skipped.

use serde_json::{Value, json};

use super::{LineRecord, SessionConversation};

pub(super) fn view(agent: &str, records: &[LineRecord]) -> SessionConversation {
    let mut conversation = SessionConversation::default();
    for LineRecord { line, value } in records {
        let Some(parts) = value["data"].as_array().filter(|_| value["table"] == "messages") else {
            continue;
        };
        let own = value["columns"]["metadata_json"].as_str().unwrap_or_default();
        if own.contains("\"agentVisible\":false") {
            continue;
        }
        let role = match value["columns"]["role"].as_str() {
            Some("assistant") => "assistant",
            Some("user" | "tool") => "user",
            _ => continue,
        };
        let content: Vec<Value> = match agent {
            "crush" => parts.iter().filter_map(crush_block).collect(),
            _ => parts.iter().filter_map(goose_block).collect(),
        };
        let is_full = |block: &Value| block["type"] != "text" || block["text"] != "";
        let is_sent = match (agent, value["columns"]["role"].as_str()) {
            ("crush", Some("user")) => !parts.is_empty(),
            ("crush", Some("tool")) => content.iter().any(|block| block["type"] == "tool_result"),
            _ => content.iter().any(is_full),
        };
        if is_sent {
            conversation.push(*line, json!({"role": role, "content": content}));
        }
    }
    conversation
}

fn crush_block(part: &Value) -> Option<Value> {
    let data = &part["data"];
    match part["type"].as_str()? {
        // A text that is null or missing is empty.
        "text" => Some(json!({"type": "text", "text": data["text"].as_str().unwrap_or_default()})),
        "tool_call" => {
            let input = data["input"].as_str().unwrap_or_default();
            let input: Value = serde_json::from_str(input).unwrap_or_default();
            let input = if input.is_object() { input } else { json!({}) };
            Some(
                json!({"type": "tool_use", "id": data["id"], "name": data["name"], "input": input}),
            )
        }
        "tool_result" => {
            Some(result(&data["tool_call_id"], &data["content"], data["is_error"] == true))
        }
        _ => None,
    }
}

fn goose_block(part: &Value) -> Option<Value> {
    match part["type"].as_str()? {
        "text" => Some(json!({"type": "text", "text": part["text"].as_str()?})),
        "toolRequest" => {
            let call = &part["toolCall"]["value"];
            Some(json!({"type": "tool_use", "id": part["id"], "name": call["name"],
                "input": call["arguments"]}))
        }
        "toolResponse" => {
            let outcome = &part["toolResult"];
            let value = &outcome["value"];
            match outcome["error"].is_string() {
                true => Some(result(&part["id"], &outcome["error"], true)),
                false => {
                    let texts = value["content"].as_array().into_iter().flatten();
                    let texts = texts.map(|one| json!({"type": "text", "text": one["text"]}));
                    Some(result(&part["id"], &texts.collect(), value["isError"] == true))
                }
            }
        }
        _ => None,
    }
}

fn result(id: &Value, content: &Value, is_error: bool) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    if is_error {
        block["is_error"] = json!(true);
    }
    block
}
