//! pi's variant of linked files: other names for links, results as messages, and compactions that cut
//! the path.

use serde_json::{Value, json};

use super::{
    LineRecord,
    linked::{CarriedOver, LinkedAgent},
};

pub(super) const MANNER: LinkedAgent = LinkedAgent {
    is_linked: |_| true,
    message,
    key: |_| None,
    carried,
    leaves_hollow: false,
    leaves_blank: |_| false,
    starts_at_notes: true,
};

/// The records with the names of links that other agents use. A compaction loses its parent, and
/// messages that pi does not send are marked.
pub(super) fn renamed(records: &[LineRecord]) -> Vec<LineRecord> {
    let mut renamed: Vec<LineRecord> = Vec::new();
    for LineRecord { line, value } in records {
        let mut value = value.clone();
        let is_header = value["type"] == "session";
        if let Some(fields) = value.as_object_mut().filter(|_| !is_header) {
            fields.remove("uuid");
            let id = fields.remove("id");
            let parent = fields.remove("parentId").filter(|parent| parent != "");
            fields.extend(id.map(|id| ("uuid".to_owned(), id)));
            let key = if fields.get("type") == Some(&json!("compaction")) {
                "cutParent"
            } else {
                "parentUuid"
            };
            fields.remove("parentUuid");
            fields.extend(parent.map(|parent| (key.to_owned(), parent)));
            let said = fields.get("message").cloned().unwrap_or_default();
            let failed = said["stopReason"] == "error" || said["stopReason"] == "aborted";
            if said["excludeFromContext"] == true || failed && said["role"] == "assistant" {
                fields.insert("isApiErrorMessage".to_owned(), json!(true));
            }
        }
        renamed.push(LineRecord { line: *line, value });
    }
    renamed
}

/// The message in a record, in Anthropic's format.
fn message(record: &Value) -> Option<Value> {
    let user = |content: Vec<Value>| Some(json!({"role": "user", "content": content}));
    match record["type"].as_str()? {
        "compaction" | "branch_summary" => {
            let text = record["summary"].as_str()?;
            user(vec![json!({"type": "text", "text": text})])
        }
        "custom_message" => user(blocks(&record["content"])),
        "message" => {
            let message = &record["message"];
            match message["role"].as_str()? {
                "toolResult" => user(vec![result(message)]),
                "bashExecution" => {
                    let text = |key: &str| message[key].as_str().unwrap_or("").to_owned();
                    let ran = format!("Ran `{}`\n```\n{}\n```", text("command"), text("output"));
                    user(vec![json!({"type": "text", "text": ran})])
                }
                "user" | "custom" | "hookMessage" => user(blocks(&message["content"])),
                "assistant" => {
                    let content = blocks(&message["content"]);
                    Some(json!({"role": "assistant", "content": content}))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts.iter().filter_map(block).collect(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        _ => Vec::new(),
    }
}

fn block(part: &Value) -> Option<Value> {
    Some(match part["type"].as_str()? {
        "thinking" => return None,
        "toolCall" => json!({"type": "tool_use", "id": part["id"].as_str().unwrap_or(""),
            "name": part["name"].as_str().unwrap_or(""),
            "input": part.get("arguments").cloned().unwrap_or_else(|| json!({}))}),
        "image" => json!({"type": "image", "source": {"type": "base64",
            "media_type": part["mimeType"], "data": part["data"]}}),
        _ => part.clone(),
    })
}

fn result(message: &Value) -> Value {
    let content = match &message["content"] {
        Value::Array(parts) if !parts.is_empty() => parts.iter().filter_map(block).collect(),
        text @ Value::String(_) => text.clone(),
        _ => json!(""),
    };
    let id = message["toolCallId"].as_str().unwrap_or("");
    let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    if message["isError"] == true {
        block["is_error"] = json!(true);
    }
    block
}

/// The records that a compaction kept.
fn carried(record: &Value) -> Option<CarriedOver> {
    let text = |key: &str| record[key].as_str().map(str::to_owned);
    let (anchor, head) = (text("uuid")?, text("firstKeptEntryId")?);
    let tail = text("cutParent").filter(|_| record["type"] == "compaction" && head != anchor)?;
    Some(CarriedOver::Segment { anchor, head, tail })
}
