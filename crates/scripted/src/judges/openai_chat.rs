//! OpenAI's Chat Completions.
//!
//! Adjacent assistant messages are one turn; ids may repeat in a later turn; system messages may be
//! anywhere; arguments may be any string.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    JudgeObjection, JudgeResult,
    openai::{
        check_name, check_string, check_token_count, empty_array, long_array, missing, wrong_type,
        wrong_value,
    },
};
use crate::json_fields::{list, non_null, text};

const ROLES: &str = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'";

pub(super) fn judge(request: &Value) -> JudgeResult {
    if !request.is_object() {
        return Err(wrong_type("body", "an object", request));
    }
    match request.get("model") {
        Some(Value::String(model)) if !model.is_empty() => {}
        None | Some(Value::Null | Value::String(_)) => {
            return Err(JudgeObjection::new("you must provide a model parameter"));
        }
        Some(other) => return Err(wrong_type("model", "a string", other)),
    }
    let messages = match request.get("messages") {
        None => return Err(missing("messages")),
        Some(Value::Array(messages)) if messages.is_empty() => return Err(empty_array("messages")),
        Some(Value::Array(messages)) => messages,
        Some(other) => return Err(wrong_type("messages", "an array of objects", other)),
    };
    for (at, one) in messages.iter().enumerate() {
        message(one, &format!("messages[{at}]"))?;
    }
    pairs(messages)?;
    settings(request)
}

fn message(message: &Value, at: &str) -> JudgeResult {
    if !message.is_object() {
        return Err(wrong_type(at, "an object", message));
    }
    let role_at = format!("{at}.role");
    let role = match message.get("role") {
        None => return Err(missing(&role_at)),
        Some(Value::String(role)) => role.as_str(),
        Some(other) => return Err(wrong_type(&role_at, &format!("one of {ROLES}"), other)),
    };
    if !["system", "assistant", "user", "function", "tool", "developer"].contains(&role) {
        return Err(wrong_value(&role_at, role, ROLES));
    }
    if role == "tool" {
        answer_id(message, at)?;
    }
    calls(message, role, at)?;
    content(message, role, at)
}

fn answer_id(message: &Value, at: &str) -> JudgeResult {
    let at = format!("{at}.tool_call_id");
    match non_null(message, "tool_call_id") {
        None => Err(JudgeObjection::new(
            "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
        )
        .at(at)),
        id => check_string(id, &at, 40).map(drop),
    }
}

fn calls(message: &Value, role: &str, at: &str) -> JudgeResult {
    let at = format!("{at}.tool_calls");
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(wrong_type(&at, "an array of objects", other)),
    };
    match calls.len() {
        0 => return Err(empty_array(&at)),
        1..=128 => {}
        many => return Err(long_array(&at, 128, many)),
    }
    if role != "assistant" {
        return Err(JudgeObjection::new(
            "Invalid parameter: only messages with role 'assistant' can have tool calls.",
        )
        .at(at));
    }
    for (index, one) in calls.iter().enumerate() {
        call(one, &format!("{at}[{index}]"))?;
    }
    Ok(())
}

fn call(call: &Value, at: &str) -> JudgeResult {
    if !call.is_object() {
        return Err(wrong_type(at, "an object", call));
    }
    check_string(call.get("id"), &format!("{at}.id"), 40)?;
    let kind_at = format!("{at}.type");
    let kind = match call.get("type") {
        None => return Err(missing(&kind_at)),
        Some(Value::String(kind)) => kind.as_str(),
        Some(other) => return Err(wrong_type(&kind_at, "a string", other)),
    };
    let text = match kind {
        "function" => "arguments",
        "custom" => "input",
        other => return Err(wrong_value(&kind_at, other, "'function' and 'custom'")),
    };
    let at = format!("{at}.{kind}");
    let body = call.get(kind).ok_or_else(|| missing(&at))?;
    if !body.is_object() {
        return Err(wrong_type(&at, "an object", body));
    }
    check_name(body.get("name"), &format!("{at}.name"), 64)?;
    let at = format!("{at}.{text}");
    match body.get(text) {
        None => Err(missing(&at)),
        Some(Value::String(_)) => Ok(()),
        Some(other) => Err(wrong_type(&at, "a string", other)),
    }
}

fn content(message: &Value, role: &str, at: &str) -> JudgeResult {
    let calls = !list(message, "tool_calls").is_empty();
    let other =
        ["refusal", "audio", "function_call"].iter().any(|key| non_null(message, key).is_some());
    let may_be_absent = role == "assistant" && (calls || other);
    let at = format!("{at}.content");
    match message.get("content") {
        None | Some(Value::Null) if may_be_absent => Ok(()),
        None | Some(Value::Null) => {
            Err(JudgeObjection::new("Invalid value for 'content': expected a string, got null.")
                .at(at))
        }
        Some(Value::String(_)) => Ok(()),
        // A tool result may be an empty list.
        Some(Value::Array(parts)) if parts.is_empty() && !may_be_absent && role != "tool" => {
            Err(empty_array(&at))
        }
        Some(Value::Array(parts)) => {
            let mut places = parts.iter().enumerate();
            places.try_for_each(|(index, one)| part(one, role, &format!("{at}[{index}]")))
        }
        Some(found) => Err(wrong_type(&at, "one of a string or array of objects", found)),
    }
}

fn part(part: &Value, role: &str, at: &str) -> JudgeResult {
    if !part.is_object() {
        return Err(wrong_type(at, "an object", part));
    }
    let at = format!("{at}.type");
    let kind = match part.get("type") {
        None => return Err(missing(&at)),
        Some(Value::String(kind)) => kind.as_str(),
        Some(other) => return Err(wrong_type(&at, "a string", other)),
    };
    let message = at.split('.').next().unwrap_or_default();
    match (role, kind) {
        (_, "text") => match part.get("text") {
            Some(Value::String(_)) => Ok(()),
            None => Err(missing(&at.replace(".type", ".text"))),
            Some(other) => Err(wrong_type(&at.replace(".type", ".text"), "a string", other)),
        },
        (_, "refusal") => Ok(()),
        ("tool" | "assistant" | "system" | "developer", "image_url") => {
            Err(JudgeObjection::new(format!(
                "Invalid '{message}'. Image URLs are only allowed for messages with role 'user', but \
                 this message with role '{role}' contains an image URL."
            ))
            .at(message))
        }
        ("tool", other) => Err(wrong_value(&at, other, "'text'")),
        _ => Ok(()),
    }
}

/// Every turn gets all its results before any other message, and there are no other results.
fn pairs(messages: &[Value]) -> JudgeResult {
    let mut turn = ChatTurnCheck::default();
    for (at, message) in messages.iter().enumerate() {
        match text(message, "role") {
            Some("assistant") => {
                if !turn.answered.is_empty() {
                    turn.check_answered(at)?;
                    turn = ChatTurnCheck::default();
                }
                for id in list(message, "tool_calls").iter().filter_map(|call| text(call, "id")) {
                    turn.calls.push(id);
                    turn.known.insert(id);
                }
            }
            Some("tool") => turn.answer(text(message, "tool_call_id").unwrap_or_default(), at)?,
            _ => {
                turn.check_answered(at)?;
                turn = ChatTurnCheck::default();
            }
        }
    }
    turn.check_answered(messages.len())
}

/// Adjacent assistant messages, and the results after them.
#[derive(Default)]
struct ChatTurnCheck<'v> {
    calls: Vec<&'v str>,
    known: BTreeSet<&'v str>,
    answered: BTreeMap<&'v str, usize>,
}

impl<'v> ChatTurnCheck<'v> {
    fn answer(&mut self, id: &'v str, at: usize) -> JudgeResult {
        if let Some(before) = self.answered.get(id) {
            return Err(JudgeObjection::new(format!(
                "Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in \
                 messages[{before}] and messages[{at}]."
            ))
            .at(format!("messages.[{at}].tool_call_id")));
        }
        if !self.known.contains(id) {
            return Err(JudgeObjection::new(
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding \
                 message with 'tool_calls'.",
            )
            .at(format!("messages.[{at}].role")));
        }
        self.answered.insert(id, at);
        Ok(())
    }

    fn check_answered(&self, next: usize) -> JudgeResult {
        let open = self.calls.iter().filter(|id| !self.answered.contains_key(**id));
        let open: Vec<&str> = open.copied().collect();
        if open.is_empty() {
            return Ok(());
        }
        Err(JudgeObjection::new(format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to \
             each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        ))
        .at(format!("messages.[{next}].role")))
    }
}

fn settings(request: &Value) -> JudgeResult {
    check_token_count(request, "max_tokens", 1)?;
    check_token_count(request, "max_completion_tokens", 1)?;
    let tools = match request.get("tools") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(tools)) => match tools.len() {
            0 => return Err(empty_array("tools")),
            1..=128 => tools.as_slice(),
            many => return Err(long_array("tools", 128, many)),
        },
        Some(other) => return Err(wrong_type("tools", "an array of objects", other)),
    };
    for (index, tool) in tools.iter().enumerate() {
        let kind = text(tool, "type").unwrap_or("function");
        let at = format!("tools[{index}].{kind}");
        if matches!(kind, "function" | "custom") {
            let body = tool.get(kind).ok_or_else(|| missing(&at))?;
            check_name(body.get("name"), &format!("{at}.name"), 64)?;
        }
    }
    let needs_tools = ["tool_choice", "parallel_tool_calls"];
    match needs_tools.iter().find(|key| tools.is_empty() && non_null(request, key).is_some()) {
        Some(key) => Err(JudgeObjection::new(format!(
            "Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
        ))
        .at(*key)),
        None => Ok(()),
    }
}
