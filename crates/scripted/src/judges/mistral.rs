//! Mistral, in the Chat format.
//!
//! Mistral has its own rule for the order of roles, and ids are nine letters and digits. Ids may
//! repeat in a later turn, and two assistant messages may follow each other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{JudgeObjection, JudgeResult};
use crate::json_fields::{has_only, list, non_null, text};

pub(super) fn judge(request: &Value) -> JudgeResult {
    let required =
        |place: String| JudgeObjection::new("Field required").at(place).kind("missing").status(422);
    if non_null(request, "model").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(required("body.model".to_owned()));
    }
    let messages = match request.get("messages") {
        Some(Value::Array(messages)) => messages,
        None | Some(Value::Null) => return Err(required("body.messages".to_owned())),
        Some(_) => return Err(type_objection("list", "body.messages")),
    };
    if messages.is_empty() {
        return Err(order_objection("Conversation must have at least one message"));
    }
    for (at, one) in messages.iter().enumerate() {
        message(one, at)?;
    }
    order_of_roles(messages)?;
    pairs(messages)
}

fn type_objection(expected: &str, place: &str) -> JudgeObjection {
    JudgeObjection::new(format!("Input should be a valid {expected}"))
        .at(place)
        .kind("type_error")
        .status(422)
}

fn order_objection(message: impl Into<String>) -> JudgeObjection {
    JudgeObjection::new(message).kind("invalid_request_message_order").code("3230")
}

fn call_objection(message: impl Into<String>) -> JudgeObjection {
    JudgeObjection::new(message).kind("invalid_function_call").code("3280")
}

fn message(message: &Value, at: usize) -> JudgeResult {
    let place = format!("body.messages.{at}");
    if !message.is_object() {
        return Err(type_objection("dictionary", &place));
    }
    let role = match message.get("role") {
        Some(Value::String(role)) => role.as_str(),
        _ => "",
    };
    if !["assistant", "system", "tool", "user"].contains(&role) {
        return Err(JudgeObjection::new(format!(
            "Input tag '{role}' found using 'role' does not match any of the expected tags: \
             'assistant', 'system', 'tool', 'user'"
        ))
        .at(place)
        .kind("union_tag_invalid")
        .status(422));
    }
    if let Some(found) = non_null(message, "content")
        && !found.is_string()
        && !found.is_array()
    {
        return Err(type_objection("string", &format!("{place}.{role}.content")));
    }
    let hollow =
        non_null(message, "content").is_none_or(|content| *content == Value::Array(vec![]));
    match role {
        "tool" | "user" | "system" if non_null(message, "content").is_none() => {
            return Err(type_objection("string", &format!("{place}.{role}.content")));
        }
        "tool"
            if list(message, "content").iter().any(|part| text(part, "type") != Some("text")) =>
        {
            return Err(type_objection("string", &format!("{place}.tool.content")));
        }
        "assistant" => {
            if let Some(calls) = non_null(message, "tool_calls")
                && !calls.is_array()
            {
                return Err(type_objection("list", &format!("{place}.assistant.tool_calls")));
            }
            let calls = list(message, "tool_calls");
            if hollow && calls.is_empty() {
                return Err(JudgeObjection::new(
                    "Assistant message must have either content or tool_calls, but not none.",
                )
                .kind("invalid_request_assistant_message")
                .code("3240"));
            }
            for one in calls {
                call(one)?;
            }
        }
        _ if !list(message, "tool_calls").is_empty() => {
            return Err(JudgeObjection::new("Extra inputs are not permitted")
                .at(format!("{place}.{role}.tool_calls"))
                .kind("extra_forbidden")
                .status(422));
        }
        _ => {}
    }
    Ok(())
}

fn call(call: &Value) -> JudgeResult {
    let id = text(call, "id").unwrap_or_default();
    if id.is_empty() || id == "null" {
        return Err(call_objection("Tool call id has to be defined."));
    }
    if id.len() != 9 || !has_only(id, "") {
        return Err(call_objection(format!(
            "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
        )));
    }
    let kind = call.get("type");
    if kind.is_some_and(|kind| !["function", "custom"].iter().any(|known| kind == known)) {
        return Err(type_objection("tool type", "tool_calls.type"));
    }
    // The content of a call decides its kind, whatever its type is.
    let body = call.get("function").or_else(|| call.get("custom")).unwrap_or(&Value::Null);
    let name = text(body, "name").unwrap_or_default();
    if name.is_empty() || name.len() > 64 || !has_only(name, "_-") {
        return Err(call_objection(format!(
            "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, \
             with a maximum length of 64."
        )));
    }
    if let Some(function) = call.get("function")
        && !function.get("arguments").is_some_and(|given| given.is_string() || given.is_object())
    {
        return Err(type_objection("string", "tool_calls.function.arguments"));
    }
    Ok(())
}

fn order_of_roles(messages: &[Value]) -> JudgeResult {
    let mut before: Option<(&str, bool)> = None;
    for message in messages {
        let role = text(message, "role").unwrap_or_default();
        let calls = !list(message, "tool_calls").is_empty();
        let fits = match (before, role) {
            (None, role) => role != "tool",
            (Some(("assistant", calls)), "tool") => calls,
            (Some((before, _)), "tool") => before == "tool",
            (Some((before, _)), "system") => !matches!(before, "assistant" | "tool"),
            (Some((before, _)), "user") => before != "tool",
            // Left open: the count of the results reports it.
            (Some(_), _) => true,
        };
        if !fits {
            let before = before.map_or("system", |(role, _)| role);
            return Err(order_objection(format!("Unexpected role '{role}' after role '{before}'")));
        }
        before = Some((role, calls));
    }
    let prefix = |message: &Value| message.get("prefix") == Some(&Value::Bool(true));
    match messages.last() {
        Some(last) if text(last, "role") == Some("assistant") && !prefix(last) => {
            Err(order_objection(
                "Expected last role User or Tool (or Assistant with prefix) for serving but got assistant",
            ))
        }
        _ => Ok(()),
    }
}

fn pairs(messages: &[Value]) -> JudgeResult {
    let mut rest = messages.iter().peekable();
    while let Some(message) = rest.next() {
        let mut calls = BTreeSet::new();
        for id in list(message, "tool_calls").iter().filter_map(|call| text(call, "id")) {
            if !calls.insert(id) {
                return Err(call_objection(format!(
                    "Duplicate tool call id {id} in assistant message"
                )));
            }
        }
        if calls.is_empty() {
            continue;
        }
        let mut answered = BTreeSet::new();
        while let Some(answer) = rest.next_if(|message| text(message, "role") == Some("tool")) {
            let id = text(answer, "tool_call_id").unwrap_or_default();
            if !calls.contains(id) {
                return Err(call_objection(format!(
                    "Unexpected tool call id {id} in tool results"
                )));
            }
            if !answered.insert(id) {
                return Err(call_objection(format!("Duplicate tool call id {id} in tool results")));
            }
        }
        if answered.len() != calls.len() {
            return Err(order_objection("Not the same number of function calls and responses"));
        }
    }
    Ok(())
}
