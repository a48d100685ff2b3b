//! Checks the form of one item.

use serde_json::Value;

use super::{FAMILIES, kind};
use crate::{
    json_fields::{non_null, text},
    judges::{
        JudgeObjection, JudgeResult,
        openai::{check_name, check_string, missing, wrong_type, wrong_value},
    },
};

const ROLES: &str = "'assistant', 'system', 'developer', and 'user'";

pub(super) fn judge(item: &Value, at: &str) -> JudgeResult {
    if !item.is_object() {
        return Err(wrong_type(at, "an object", item));
    }
    if let Some(found) = non_null(item, "type").filter(|found| !found.is_string()) {
        return Err(wrong_type(&format!("{at}.type"), "a string", found));
    }
    let kind = kind(item);
    item_id(item, kind, at)?;
    let call_at = format!("{at}.call_id");
    if let Some((call, ..)) = FAMILIES.iter().find(|family| family.0 == kind) {
        // A provider-run search has no id to refer to.
        if is_hosted(item) || *call == "tool_search_call" && non_null(item, "call_id").is_none() {
            return Ok(());
        }
        if !(*call == "local_shell_call" && text(item, "id").is_some()) {
            check_string(item.get("call_id"), &call_at, 64)?;
        }
        return self::call(item, call, at);
    }
    if FAMILIES.iter().any(|family| family.1 == kind) {
        if is_hosted(item) || kind == "tool_search_output" && non_null(item, "call_id").is_none() {
            return Ok(());
        }
        if !(kind == "local_shell_call_output" && text(item, "id").is_some()) {
            check_string(item.get("call_id"), &call_at, 64)?;
        }
        let plain = matches!(kind, "function_call_output" | "custom_tool_call_output");
        return match non_null(item, "output") {
            None if plain => Err(missing(&format!("{at}.output"))),
            Some(found) if plain && !found.is_string() && !found.is_array() => {
                Err(wrong_type(&format!("{at}.output"), "one of a string or array", found))
            }
            _ => Ok(()),
        };
    }
    if kind == "message" { message(item, at) } else { Ok(()) }
}

/// The id that a call and its output share.
pub(super) fn call_id(item: &Value) -> Option<&str> {
    let own = || text(item, "id").filter(|_| kind(item).starts_with("local_shell_call"));
    text(item, "call_id").or_else(own)
}

/// Whether an item is marked as run by the provider.
pub(super) fn is_hosted(item: &Value) -> bool {
    let search = kind(item).starts_with("tool_search");
    let elsewhere = non_null(item, "environment").and_then(|place| text(place, "type"));
    search && text(item, "execution").is_some_and(|who| who != "client")
        || kind(item) == "shell_call" && elsewhere.is_some_and(|place| place != "local")
}

/// Whether an item is from the model.
pub(super) fn is_from_model(item: &Value) -> bool {
    match kind(item) {
        "message" => text(item, "role") == Some("assistant"),
        "item_reference" | "mcp_approval_response" => false,
        kind => !FAMILIES.iter().any(|family| family.1 == kind),
    }
}

fn item_id(item: &Value, kind: &str, at: &str) -> JudgeResult {
    let prefix = match kind {
        "function_call" => "fc",
        "custom_tool_call" => "ctc",
        "reasoning" => "rs",
        "message" if text(item, "role") == Some("assistant") => "msg",
        _ => return Ok(()),
    };
    match non_null(item, "id") {
        None => Ok(()),
        Some(Value::String(id)) if id.starts_with(prefix) => Ok(()),
        Some(Value::String(id)) => Err(JudgeObjection::new(format!(
            "Invalid '{at}.id': '{id}'. Expected an ID that begins with '{prefix}'."
        ))
        .at(format!("{at}.id"))
        .code("invalid_value")),
        Some(other) => Err(wrong_type(&format!("{at}.id"), "a string", other)),
    }
}

fn call(item: &Value, kind: &str, at: &str) -> JudgeResult {
    let text = match kind {
        "function_call" => "arguments",
        "custom_tool_call" => "input",
        _ => return Ok(()),
    };
    check_name(item.get("name"), &format!("{at}.name"), 128)?;
    let at = format!("{at}.{text}");
    match item.get(text) {
        Some(Value::String(_)) => Ok(()),
        None => Err(missing(&at)),
        Some(other) => Err(wrong_type(&at, "a string", other)),
    }
}

fn message(item: &Value, at: &str) -> JudgeResult {
    let role_at = format!("{at}.role");
    match item.get("role") {
        None => return Err(missing(&role_at)),
        Some(Value::String(role))
            if ["assistant", "system", "developer", "user"].contains(&role.as_str()) => {}
        Some(Value::String(role)) => return Err(wrong_value(&role_at, role, ROLES)),
        Some(other) => return Err(wrong_type(&role_at, &format!("one of {ROLES}"), other)),
    }
    let at = format!("{at}.content");
    match item.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => match parts.iter().position(|part| !part.is_object()) {
            Some(index) => Err(wrong_type(
                &format!("{at}[{index}]"),
                "an object",
                parts.get(index).unwrap_or(&Value::Null),
            )),
            None => Ok(()),
        },
        None => Err(missing(&at)),
        Some(other) => Err(wrong_type(&at, "one of a string or array", other)),
    }
}
