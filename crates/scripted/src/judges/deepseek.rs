//! DeepSeek, in the Chat format.
//!
//! Each calling message is followed by its own results. In thinking mode every calling message has
//! its `reasoning_content`, which may be empty.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{JudgeObjection, JudgeResult, model_name};
use crate::json_fields::{has_only, list, non_null, text};

pub(super) fn judge(request: &Value, length: usize) -> JudgeResult {
    let shape = |what: String| {
        JudgeObjection::new(format!(
            "Failed to deserialize the JSON body into the target type: {what} at line 1 column \
             {length}"
        ))
    };
    if text(request, "model").is_none() {
        return Err(shape("missing field `model`".to_owned()));
    }
    let messages = match request.get("messages") {
        None => return Err(shape("missing field `messages`".to_owned())),
        Some(Value::Array(messages)) => messages,
        Some(_) => return Err(shape("messages: invalid type, expected a sequence".to_owned())),
    };
    if messages.is_empty() {
        return Err(JudgeObjection::new(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an \
             empty array instead.",
        ));
    }
    for (at, one) in messages.iter().enumerate() {
        message(one, at, &shape)?;
    }
    pairs(messages)?;
    reasoning(request, messages)
}

fn message(message: &Value, at: usize, shape: &dyn Fn(String) -> JudgeObjection) -> JudgeResult {
    if !message.is_object() {
        return Err(shape(format!("messages[{at}]: invalid type, expected a map")));
    }
    let role = match message.get("role") {
        None => return Err(shape(format!("messages[{at}]: missing field `role`"))),
        Some(Value::String(role)) => role.as_str(),
        Some(_) => {
            return Err(shape(format!("messages[{at}].role: invalid type, expected a string")));
        }
    };
    if !["system", "user", "assistant", "tool"].contains(&role) {
        return Err(shape(format!(
            "messages[{at}].role: unknown variant `{role}`, expected one of `system`, `user`, \
             `assistant`, `tool`"
        )));
    }
    match non_null(message, "content") {
        None | Some(Value::String(_)) => {}
        Some(Value::Array(parts)) => {
            let strange = |part: &&Value| role != "user" && text(part, "type") == Some("image_url");
            if parts.iter().any(|part| strange(&part)) {
                let what = format!("messages[{at}]: unknown variant `image_url`, expected `text`");
                return Err(shape(what));
            }
        }
        Some(_) => {
            return Err(shape(format!(
                "messages[{at}]: data did not match any variant of untagged enum \
                 ChatCompletionRequestContent"
            )));
        }
    }
    let calls = list(message, "tool_calls");
    if role != "assistant" {
        return match calls {
            [] => Ok(()),
            [..] => Err(shape(format!("messages[{at}]: unknown field `tool_calls`"))),
        };
    }
    if calls.is_empty() && non_null(message, "content").is_none() {
        return Err(JudgeObjection::new(
            "Invalid assistant message: content or tool_calls must be set",
        ));
    }
    let mut places = calls.iter().enumerate();
    places.try_for_each(|(index, one)| {
        call(one, &format!("messages[{at}].tool_calls[{index}]"), shape)
    })
}

fn call(call: &Value, at: &str, shape: &dyn Fn(String) -> JudgeObjection) -> JudgeResult {
    match call.get("id") {
        Some(Value::String(id)) if !id.is_empty() => {}
        Some(Value::String(_)) => {
            return Err(JudgeObjection::new(format!(
                "Invalid '{at}.id': empty string. Expected a string with minimum length 1, but got \
                 an empty string instead."
            )));
        }
        None => return Err(shape(format!("{at}: missing field `id`"))),
        Some(_) => return Err(shape(format!("{at}.id: invalid type, expected a string"))),
    }
    // The content of a call decides its kind, whatever its type is.
    let kind = if call.get("function").is_some() { "function" } else { "custom" };
    let body = call.get(kind).unwrap_or(&Value::Null);
    let name = text(body, "name").unwrap_or_default();
    if name.is_empty() || name.len() > 64 || !has_only(name, "_-") {
        return Err(JudgeObjection::new(format!(
            "Invalid '{at}.function.name': string does not match pattern. Expected a string that \
             matches the pattern '^[a-zA-Z0-9_-]+$'."
        )));
    }
    match body.get("arguments") {
        Some(Value::String(_)) => Ok(()),
        _ if kind == "custom" => Ok(()),
        None => Err(shape(format!("{at}.function: missing field `arguments`"))),
        Some(_) => Err(shape(format!("{at}.function.arguments: invalid type, expected a string"))),
    }
}

fn pairs(messages: &[Value]) -> JudgeResult {
    let mut rest = messages.iter().enumerate().peekable();
    while let Some((_, message)) = rest.next() {
        if text(message, "role") == Some("tool") {
            return Err(orphan());
        }
        let ids = list(message, "tool_calls").iter().filter_map(|call| text(call, "id"));
        let calls: BTreeSet<&str> = ids.collect();
        let mut answered = BTreeSet::new();
        let is_answer = |(_, message): &(usize, &Value)| text(message, "role") == Some("tool");
        while !calls.is_empty()
            && let Some((at, answer)) = rest.next_if(is_answer)
        {
            let id = text(answer, "tool_call_id").unwrap_or_default();
            if !calls.contains(id) {
                return Err(orphan());
            }
            if !answered.insert(id) {
                return Err(JudgeObjection::new(format!(
                    "Duplicate value for 'tool_call_id' of '{id}' in message[{at}]"
                )));
            }
        }
        if answered.len() != calls.len() {
            return Err(JudgeObjection::new(
                "An assistant message with 'tool_calls' must be followed by tool messages responding \
                 to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
            ));
        }
    }
    Ok(())
}

fn orphan() -> JudgeObjection {
    JudgeObjection::new(
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    )
}

fn reasoning(request: &Value, messages: &[Value]) -> JudgeResult {
    let mode = request.get("thinking").and_then(|thinking| text(thinking, "type"));
    let thinks = match mode {
        Some("enabled") => true,
        Some("disabled") => false,
        _ => model_name(request).contains("reasoner"),
    };
    let lost = |message: &Value| {
        !list(message, "tool_calls").is_empty() && text(message, "reasoning_content").is_none()
    };
    match thinks && messages.iter().any(lost) {
        true => Err(JudgeObjection::new(
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        )),
        false => Ok(()),
    }
}
