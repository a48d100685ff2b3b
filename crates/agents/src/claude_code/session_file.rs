//! Writes a session file from a client's history, so that the agent continues from there.
//!
//! Neither the file format nor the switch that makes the agent continue is a stable interface. All
//! knowledge about them is in this file.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::PREFIX;
use super::content::{prompt_blocks, remove_cache_mark, text};
use crate::{LaunchSpec, ToolNameTable};

/// The version of the agent that writes this file format.
const VERSION: &str = "2.1.112";

/// A message of the session file.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SessionFileMessage {
    role: SessionFileRole,
    content: Vec<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SessionFileRole {
    User,
    Assistant,
}

/// Splits a history into messages for the file and a prompt for the pipe. Without a prompt the
/// agent continues by itself from the file.
///
/// User content after tool results is a separate message in the file: the agent treats it as an
/// unread prompt, and the model sees it directly after the results. Over the pipe, the agent would
/// insert text of its own between them.
pub(super) fn split_history(
    body: &Value,
    names: &ToolNameTable,
) -> (Vec<SessionFileMessage>, Option<Vec<Value>>) {
    let mut records = read_history(body, names);
    let last = records.iter().rposition(|record| record.role == SessionFileRole::Assistant);
    let tail = records.split_off(last.map_or(0, |last| last + 1));
    let blocks: Vec<Value> = tail.into_iter().flat_map(|record| record.content).collect();
    let (results, content): (Vec<Value>, Vec<Value>) =
        blocks.into_iter().partition(|block| text(block, "type") == Some("tool_result"));
    let content = prompt_blocks(content);
    if results.is_empty() || records.is_empty() {
        return (records, Some(content));
    }
    records.push(SessionFileMessage { role: SessionFileRole::User, content: results });
    if !content.is_empty() {
        records.push(SessionFileMessage { role: SessionFileRole::User, content });
    }
    (records, None)
}

/// The text of the file.
pub(super) fn write_session_file(records: &[SessionFileMessage], spec: &LaunchSpec<'_>) -> String {
    let time = timestamp(spec.now);
    let model = spec.model.or(text(spec.body, "model")).unwrap_or("unknown");
    let mut parent = Value::Null;
    let mut file = String::new();
    for (index, record) in records.iter().enumerate() {
        let number = xxh3_128(format!("{}/{index}", spec.session).as_bytes());
        let uuid = Value::String(uuid(number));
        let (kind, message) = match record.role {
            SessionFileRole::User => ("user", json!({"role": "user", "content": record.content})),
            SessionFileRole::Assistant => {
                let has_calls =
                    record.content.iter().any(|block| text(block, "type") == Some("tool_use"));
                let message = json!({
                    "id": format!("msg_{number:032x}"),
                    "type": "message",
                    "role": "assistant",
                    "model": model,
                    "content": record.content,
                    "stop_reason": if has_calls { "tool_use" } else { "end_turn" },
                    "stop_sequence": null,
                    "usage": {"input_tokens": 0, "output_tokens": 0},
                });
                ("assistant", message)
            }
        };
        let line = json!({
            "parentUuid": parent,
            "isSidechain": false,
            "userType": "external",
            "cwd": spec.folder,
            "sessionId": spec.session,
            "version": VERSION,
            "gitBranch": "",
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": time,
        });
        file.push_str(&line.to_string());
        file.push('\n');
        parent = uuid;
    }
    file
}

/// Where the agent expects the session file.
pub(super) fn session_path(state: &Path, folder: &str, session: &str) -> PathBuf {
    state.join("projects").join(folder_slug(folder)).join(format!("{session}.jsonl"))
}

/// The cleaned messages of a request; consecutive assistant messages are merged.
fn read_history(body: &Value, names: &ToolNameTable) -> Vec<SessionFileMessage> {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    let mut records: Vec<SessionFileMessage> = Vec::new();
    for message in messages {
        let role = match text(message, "role") {
            Some("user") => SessionFileRole::User,
            Some("assistant") => SessionFileRole::Assistant,
            // Instructions are sent over the pipe.
            Some(_) | None => continue,
        };
        let blocks = match message.get("content") {
            Some(Value::String(content_text)) => {
                vec![json!({"type": "text", "text": content_text})]
            }
            Some(Value::Array(blocks)) => blocks.clone(),
            Some(_) | None => Vec::new(),
        };
        let content: Vec<Value> =
            blocks.into_iter().filter_map(|block| clean_block(block, names)).collect();
        match records.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if role == SessionFileRole::Assistant && last.role == role => {
                last.content.extend(content);
            }
            Some(_) | None => records.push(SessionFileMessage { role, content }),
        }
    }
    records
}

/// A block in the form that the agent stores. Thinking without a signature is dropped.
fn clean_block(mut block: Value, names: &ToolNameTable) -> Option<Value> {
    match text(&block, "type")? {
        "thinking" => {
            text(&block, "signature").filter(|signature| !signature.is_empty())?;
        }
        "tool_use" => {
            let name = format!("{PREFIX}{}", names.agent_name(text(&block, "name")?));
            block.as_object_mut()?.insert("name".to_owned(), Value::String(name));
        }
        _ => {}
    }
    remove_cache_mark(&mut block);
    if let Some(Value::Array(inner_blocks)) = block.get_mut("content") {
        inner_blocks.iter_mut().for_each(remove_cache_mark);
    }
    Some(block)
}

/// The folder name below `projects`: letters and digits are kept, a long name is cut and gets a
/// hash.
fn folder_slug(folder: &str) -> String {
    let keep = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        Ok(_) | Err(_) => '-',
    };
    let name: String = folder.encode_utf16().map(keep).collect();
    let Some((head, rest)) = name.split_at_checked(200) else { return name };
    if rest.is_empty() {
        return name;
    }
    let hash = folder.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_shl(5).wrapping_sub(hash).wrapping_add(i32::from(unit))
    });
    format!("{head}-{}", base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

/// Formats a number as a UUID.
fn uuid(number: u128) -> String {
    let number = (number & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    parts.join("-")
}

/// Formats milliseconds since 1970 as JavaScript does.
fn timestamp(now: u64) -> String {
    let now = i64::try_from(now).ok().and_then(|now| Timestamp::from_millisecond(now).ok());
    format!("{:.3}", now.unwrap_or(Timestamp::MAX))
}

#[cfg(test)]
mod tests;
