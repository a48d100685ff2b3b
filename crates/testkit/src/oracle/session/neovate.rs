//! Neovate's variant of linked files: each message record is one message, and the parts have other
//! names.

use serde_json::{Value, json};

use super::linked::LinkedAgent;

pub(super) const MANNER: LinkedAgent = LinkedAgent {
    is_linked: |record| record["type"] == "message",
    message,
    key: |_| None,
    carried: |_| None,
    leaves_hollow: true,
    leaves_blank: |_| false,
    starts_at_notes: false,
};

/// The message in a record, in Anthropic's format. Reasoning is not sent back, because it has no
/// signature.
fn message(record: &Value) -> Option<Value> {
    let role = match record["role"].as_str()? {
        "tool" => "user",
        other => other,
    };
    let content = match &record["content"] {
        Value::Array(parts) => parts.iter().filter_map(block).collect(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    };
    Some(json!({"role": role, "content": content}))
}

fn block(part: &Value) -> Option<Value> {
    Some(match part["type"].as_str()? {
        "reasoning" => return None,
        "tool_use" => json!({"type": "tool_use", "id": part["id"].as_str().unwrap_or(""),
            "name": part["name"].as_str().unwrap_or(""),
            "input": part.get("input").cloned().unwrap_or_else(|| json!({}))}),
        "tool-result" => answer(&part["toolCallId"], &part["result"]),
        // The form of old versions, in user messages.
        "tool_result" => answer(&part["id"], &part["result"]),
        "image" => image(part),
        _ => part.clone(),
    })
}

fn image(part: &Value) -> Value {
    let (kind, data) = (&part["mimeType"], &part["data"]);
    json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}})
}

fn answer(id: &Value, result: &Value) -> Value {
    let content = match result.get("llmContent").unwrap_or(result) {
        Value::Null => json!(""),
        Value::Array(parts) if parts.is_empty() => json!(""),
        Value::Array(parts) => {
            let converted = parts.iter().map(|part| match part["type"] == "image" {
                true => image(part),
                false => part.clone(),
            });
            converted.collect()
        }
        other => other.clone(),
    };
    let id = id.as_str().unwrap_or("");
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    if result["isError"] == true {
        block["is_error"] = json!(true);
    }
    block
}
