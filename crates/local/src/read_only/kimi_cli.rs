//! kimi-cli: `sessions/<folder>/<session>/context.jsonl`, one message in each line. Lines whose role
//! begins with `_` are about the session. The agent leaves out lines that are torn.

use std::path::Path;

use foxwedge_sessions::ReadOnlyAgent;
use serde_json::{Value, json};

use super::{ReadOnlyText, call_block, field, image_block, list, text_block, thinking_block};

pub(super) fn is_session(path: &Path, content: &[u8]) -> bool {
    let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has_own_role = || {
        let line = String::from_utf8_lossy(line);
        let role = line.split_once("\"role\"").map_or("", |(_, rest)| rest);
        role.trim_start_matches([':', ' ']).starts_with("\"_")
    };
    path.file_name().is_some_and(|name| name == "context.jsonl") && has_own_role()
}

pub(super) fn session_text(path: &Path, content: &[u8]) -> Vec<u8> {
    let id = path.parent().and_then(Path::file_name).map(|name| json!(name.to_string_lossy()));
    let facts = [("id", id.as_ref().unwrap_or(&Value::Null))];
    let mut text = ReadOnlyText::new(ReadOnlyAgent::KimiCli, &facts);
    for line in String::from_utf8_lossy(content).lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(message) => push_message(&mut text, &message),
            Err(_) => text.push_torn(line),
        }
    }
    text.finish()
}

fn push_message(text: &mut ReadOnlyText, message: &Value) {
    match message.get("role").and_then(Value::as_str) {
        Some("user") => text.push("user", content_blocks(message)),
        Some("assistant") => {
            let mut content = content_blocks(message);
            for call in list(message, "tool_calls") {
                let function = field(call, "function");
                let (name, arguments) = (field(function, "name"), field(function, "arguments"));
                content.push(call_block(field(call, "id"), name, arguments));
            }
            text.push("assistant", content);
        }
        Some("tool") => {
            let content = json!(content_blocks(message));
            text.push_result(field(message, "tool_call_id"), content, false);
        }
        _ => {}
    }
}

fn content_blocks(message: &Value) -> Vec<Value> {
    let content = field(message, "content");
    let url = |part: &Value, key: &str| part.get(key)?.get("url")?.as_str().map(str::to_owned);
    let of_part = |part: &Value| match part.get("type").and_then(Value::as_str)? {
        "text" => text_block(part.get("text")?.as_str()?),
        "think" => thinking_block(part.get("think")?.as_str()?, &Value::Null),
        "image_url" => Some(image_block(&url(part, "image_url")?)),
        kind @ ("audio_url" | "video_url") => {
            text_block(&format!("[{kind}: {}]", url(part, kind)?))
        }
        _ => None,
    };
    match content.as_str() {
        Some(text) => text_block(text).into_iter().collect(),
        None => content.as_array().into_iter().flatten().filter_map(of_part).collect(),
    }
}
