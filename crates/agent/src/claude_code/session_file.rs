//! A session file out of a client's history: the agent goes on as if it had been there.
//!
//! Neither the file nor the switch that makes the agent go on is a promised interface. Everything
//! that is known about them is in this file.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::PREFIX;
use super::content::{prompt_blocks, remove_cache_mark, text};
use crate::{LaunchSpec, ToolNameTable};

/// The version of the agent whose files these are.
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

/// What goes into the file, and what the agent is told over its pipe. No prompt: the agent
/// goes on by itself with what the file says.
///
/// Words behind answers are a message of their own in the file: the agent takes them for a prompt
/// that it has not looked at yet, and the model sees them right behind the answers. Told over
/// the pipe, the agent would put words of its own between them.
pub(super) fn split_history(
    body: &Value,
    names: &ToolNameTable,
) -> (Vec<SessionFileMessage>, Option<Vec<Value>>) {
    let mut records = read_history(body, names);
    let last = records.iter().rposition(|record| record.role == SessionFileRole::Assistant);
    let tail = records.split_off(last.map_or(0, |last| last + 1));
    let blocks: Vec<Value> = tail.into_iter().flat_map(|record| record.content).collect();
    let (answers, words): (Vec<Value>, Vec<Value>) =
        blocks.into_iter().partition(|block| text(block, "type") == Some("tool_result"));
    let words = prompt_blocks(words);
    if answers.is_empty() || records.is_empty() {
        return (records, Some(words));
    }
    records.push(SessionFileMessage { role: SessionFileRole::User, content: answers });
    if !words.is_empty() {
        records.push(SessionFileMessage { role: SessionFileRole::User, content: words });
    }
    (records, None)
}

/// The text of the file.
pub(super) fn write_session_file(records: &[SessionFileMessage], wish: &LaunchSpec<'_>) -> String {
    let time = timestamp(wish.now);
    let model = wish.model.or(text(wish.body, "model")).unwrap_or("unknown");
    let mut parent = Value::Null;
    let mut file = String::new();
    for (index, record) in records.iter().enumerate() {
        let number = xxh3_128(format!("{}/{index}", wish.session).as_bytes());
        let uuid = Value::String(uuid(number));
        let (kind, message) = match record.role {
            SessionFileRole::User => ("user", json!({"role": "user", "content": record.content})),
            SessionFileRole::Assistant => {
                let called =
                    record.content.iter().any(|block| text(block, "type") == Some("tool_use"));
                let message = json!({
                    "id": format!("msg_{number:032x}"),
                    "type": "message",
                    "role": "assistant",
                    "model": model,
                    "content": record.content,
                    "stop_reason": if called { "tool_use" } else { "end_turn" },
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
            "cwd": wish.folder,
            "sessionId": wish.session,
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

/// Where the agent looks for the file of a session in a folder.
pub(super) fn session_path(state: &Path, folder: &str, session: &str) -> PathBuf {
    state.join("projects").join(folder_slug(folder)).join(format!("{session}.jsonl"))
}

/// The messages of a request, cleaned; those of the model in a row are one.
fn read_history(body: &Value, names: &ToolNameTable) -> Vec<SessionFileMessage> {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    let mut records: Vec<SessionFileMessage> = Vec::new();
    for message in messages {
        let role = match text(message, "role") {
            Some("user") => SessionFileRole::User,
            Some("assistant") => SessionFileRole::Assistant,
            // Instructions go over the pipe.
            Some(_) | None => continue,
        };
        let blocks = match message.get("content") {
            Some(Value::String(said)) => vec![json!({"type": "text", "text": said})],
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

/// A block as the agent keeps it. Thinking is only worth something with its signature.
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
    if let Some(Value::Array(within)) = block.get_mut("content") {
        within.iter_mut().for_each(remove_cache_mark);
    }
    Some(block)
}

/// A folder's name among the agent's projects: letters and digits stay, a long name is cut and
/// gets a number.
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

/// A number in the shape of a UUID.
fn uuid(number: u128) -> String {
    let number = (number & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{number:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    parts.join("-")
}

/// Milliseconds since 1970, as JavaScript writes a time.
fn timestamp(now: u64) -> String {
    let (days, within) = (now / 86_400_000, now % 86_400_000);
    // The calendar repeats every 400 years; years are counted from March.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hours, minutes) = (within / 3_600_000, within / 60_000 % 60);
    let (seconds, rest) = (within / 1_000 % 60, within % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{rest:03}Z")
}

#[cfg(test)]
mod tests;
