//! opencode: one row for each message, with its parts. Rows whose payload is not an object are skipped.

use serde_json::{Value, json};

use super::{LineRecord, SessionConversation};

pub(super) fn view(records: &[LineRecord]) -> SessionConversation {
    let is_message = |record: &&LineRecord| {
        record.value["table"] == "message" && is_whole(&record.value["data"])
    };
    let rows: Vec<&LineRecord> = records.iter().filter(is_message).collect();
    let mut conversation = SessionConversation::default();
    for LineRecord { line, value } in rows.get(compacted(&rows)..).unwrap_or_default() {
        let parts = parts(value);
        match value["data"]["role"].as_str() {
            Some("user") => {
                let content: Vec<Value> = parts.iter().filter_map(prompt).collect();
                if content.iter().any(|block| block["text"] != "") {
                    conversation.push(*line, json!({"role": "user", "content": content}));
                }
            }
            Some("assistant") => push_reply(&mut conversation, *line, &parts),
            _ => {}
        }
    }
    conversation
}

/// Where the last compaction that was answered begins.
fn compacted(rows: &[&LineRecord]) -> usize {
    let is_compaction = |row: &&LineRecord| {
        row.value["data"]["role"] == "user"
            && parts(&row.value).iter().any(|part| part["type"] == "compaction")
    };
    let is_answered = |at: usize| {
        let id = &rows[at].value["id"];
        rows[at + 1..].iter().map(|row| &row.value["data"]).any(|data| {
            data["parentID"] == *id && data["summary"] == true && data["finish"].is_string()
        })
    };
    let found = (0..rows.len()).rev().find(|at| is_compaction(&rows[*at]) && is_answered(*at));
    found.unwrap_or(0)
}

fn is_whole(data: &Value) -> bool {
    data.is_object() && data.get("$text").is_none()
}

/// The payloads of the parts that can be read.
fn parts(row: &Value) -> Vec<Value> {
    let rows = row["rows"].as_array().into_iter().flatten();
    rows.map(|part| &part["data"]).filter(|data| is_whole(data)).cloned().collect()
}

fn prompt(part: &Value) -> Option<Value> {
    match part["type"].as_str()? {
        "text" => Some(json!({"type": "text", "text": part["text"].as_str()?})),
        "compaction" => Some(json!({"type": "text", "text": "What did we do so far?"})),
        _ => None,
    }
}

/// The steps of a reply, and the results of each step behind it.
fn push_reply(conversation: &mut SessionConversation, line: usize, parts: &[Value]) {
    if !parts.iter().any(|part| part["type"] == "text" || part["type"] == "tool") {
        return;
    }
    for step in parts.chunk_by(|_, next| next["type"] != "step-start") {
        let (mut content, mut results) = (Vec::new(), Vec::new());
        for part in step {
            let state = &part["state"];
            match part["type"].as_str() {
                Some("text") if part["text"].is_string() => {
                    content.push(json!({"type": "text", "text": part["text"]}));
                }
                Some("tool") => {
                    let id = part["callID"].as_str().unwrap_or_default();
                    let name = part["tool"].as_str().unwrap_or_default();
                    let mut call = json!({"type": "tool_use", "id": id, "name": name});
                    // The agent sends no input for a call without one.
                    if let Some(input) = state.get("input") {
                        call["input"] = input.clone();
                    }
                    content.push(call);
                    results.extend(result(id, state));
                }
                _ => {}
            }
        }
        conversation.push(line, json!({"role": "assistant", "content": content}));
        if !results.is_empty() {
            conversation.push(line, json!({"role": "user", "content": results}));
        }
    }
}

fn result(id: &str, state: &Value) -> Option<Value> {
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match state["status"].as_str()? {
        "completed" => Some(json!({"type": "tool_result", "tool_use_id": id,
            "content": words(&state["output"])})),
        "error" => Some(json!({"type": "tool_result", "tool_use_id": id,
            "content": words(&state["error"]), "is_error": true})),
        _ => None,
    }
}
