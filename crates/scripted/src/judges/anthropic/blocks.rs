//! Checks one message and its blocks: their form, and whether they are allowed there.

use serde_json::Value;

use super::role;
use crate::{
    json_fields::{has_only, non_null, text},
    judges::{JudgeObjection, JudgeResult},
};

pub(super) fn judge(message: &Value, at: usize, last: bool) -> JudgeResult {
    let final_assistant = last && role(message) == "assistant";
    let hollow = || {
        JudgeObjection::new(format!(
            "messages.{at}: all messages must have non-empty content except for the optional final \
             assistant message"
        ))
    };
    match message.get("content") {
        None => Err(JudgeObjection::new(format!("messages.{at}.content: Field required"))),
        Some(Value::String(value)) if value.is_empty() => {
            if final_assistant {
                Ok(())
            } else {
                Err(hollow())
            }
        }
        Some(Value::String(value)) => check_text(value, final_assistant),
        Some(Value::Array(blocks)) if blocks.is_empty() => {
            // Instructions may consist of fields other than text.
            if final_assistant || role(message) == "system" { Ok(()) } else { Err(hollow()) }
        }
        Some(Value::Array(blocks)) => {
            let mut places = blocks.iter().enumerate();
            places.try_for_each(|(index, one)| {
                block(one, role(message), &format!("messages.{at}.content.{index}"), at)
            })
        }
        Some(_) => Err(JudgeObjection::new(format!(
            "messages.{at}.content: Input should be a valid string or list"
        ))),
    }
}

/// Whether a name is legal for a tool.
pub(super) fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len()) && has_only(name, "_-")
}

fn check_text(value: &str, final_assistant: bool) -> JudgeResult {
    if value.is_empty() {
        return Err(JudgeObjection::new("messages: text content blocks must be non-empty"));
    }
    // Trailing white space in the last message has its own error message.
    match !final_assistant && value.trim().is_empty() {
        true => Err(JudgeObjection::new(
            "messages: text content blocks must contain non-whitespace text",
        )),
        false => Ok(()),
    }
}

fn block(block: &Value, role: &str, at: &str, message: usize) -> JudgeResult {
    if !block.is_object() {
        return Err(JudgeObjection::new(format!("{at}: Input should be a valid dictionary")));
    }
    let Some(kind) = text(block, "type") else {
        return Err(JudgeObjection::new(format!("{at}.type: Field required")));
    };
    let only_in = |kind: &str, whose: &str| {
        Err(JudgeObjection::new(format!(
            "messages.{message}: `{kind}` blocks can only be in `{whose}` messages"
        )))
    };
    match kind {
        "text" => match block.get("text") {
            Some(Value::String(value)) => check_text(value, false),
            None => Err(JudgeObjection::new(format!("{at}.text.text: Field required"))),
            Some(_) => {
                Err(JudgeObjection::new(format!("{at}.text.text: Input should be a valid string")))
            }
        },
        "tool_use" if role != "assistant" => only_in("tool_use", "assistant"),
        "tool_use" => call(block, &format!("{at}.tool_use")),
        "tool_result" if role != "user" => only_in("tool_result", "user"),
        "tool_result" => answer(block, &format!("{at}.tool_result")),
        "thinking" | "redacted_thinking" if role != "assistant" => only_in("thinking", "assistant"),
        "thinking" => {
            if text(block, "thinking").is_none() {
                return Err(JudgeObjection::new(format!("{at}.thinking.thinking: Field required")));
            }
            match text(block, "signature") {
                None => {
                    Err(JudgeObjection::new(format!("{at}.thinking.signature: Field required")))
                }
                Some("") => Err(JudgeObjection::new(format!(
                    "{at}: Invalid `signature` in `thinking` block"
                ))),
                Some(_) => Ok(()),
            }
        }
        "redacted_thinking" => match text(block, "data") {
            None => {
                Err(JudgeObjection::new(format!("{at}.redacted_thinking.data: Field required")))
            }
            Some("") => Err(JudgeObjection::new(format!(
                "{at}: Invalid `data` in `redacted_thinking` block"
            ))),
            Some(_) => Ok(()),
        },
        kind if role == "user"
            && kind.ends_with("_tool_result")
            && non_null(block, "tool_use_id").is_some() =>
        {
            let id = text(block, "tool_use_id").unwrap_or_default();
            Err(JudgeObjection::new(format!(
                "{at}: unexpected `tool_use_id` found in `{kind}` blocks: {id}. Each `{kind}` block \
                 must have a corresponding `server_tool_use` block before it."
            )))
        }
        _ => Ok(()),
    }
}

fn call(call: &Value, at: &str) -> JudgeResult {
    id(call, "id", at)?;
    match call.get("name") {
        Some(Value::String(name)) if name.is_empty() => {
            let detail = format!("{at}.name: String should have at least 1 character");
            return Err(JudgeObjection::new(detail));
        }
        Some(Value::String(name)) if name.chars().count() > 128 => {
            let detail = format!("{at}.name: String should have at most 128 characters");
            return Err(JudgeObjection::new(detail));
        }
        Some(Value::String(name)) if !is_name(name) => {
            return Err(JudgeObjection::new(format!(
                "{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )));
        }
        Some(Value::String(_)) => {}
        None => return Err(JudgeObjection::new(format!("{at}.name: Field required"))),
        Some(_) => {
            return Err(JudgeObjection::new(format!("{at}.name: Input should be a valid string")));
        }
    }
    match call.get("input") {
        Some(Value::Object(_)) => Ok(()),
        None => Err(JudgeObjection::new(format!("{at}.input: Field required"))),
        Some(_) => {
            Err(JudgeObjection::new(format!("{at}.input: Input should be a valid dictionary")))
        }
    }
}

fn answer(answer: &Value, at: &str) -> JudgeResult {
    id(answer, "tool_use_id", at)?;
    match non_null(answer, "content") {
        None | Some(Value::String(_) | Value::Array(_)) => Ok(()),
        Some(_) => Err(JudgeObjection::new(format!(
            "{at}.content: Input should be a valid string or list"
        ))),
    }
}

fn id(block: &Value, key: &str, at: &str) -> JudgeResult {
    match block.get(key) {
        None => Err(JudgeObjection::new(format!("{at}.{key}: Field required"))),
        Some(Value::String(id)) if id.is_empty() => {
            Err(JudgeObjection::new(format!("{at}.{key}: String should have at least 1 character")))
        }
        Some(Value::String(id)) if !has_only(id, "_-") => Err(JudgeObjection::new(format!(
            "{at}.{key}: String should match pattern '^[a-zA-Z0-9_-]+$'"
        ))),
        Some(Value::String(_)) => Ok(()),
        Some(_) => Err(JudgeObjection::new(format!("{at}.{key}: Input should be a valid string"))),
    }
}
