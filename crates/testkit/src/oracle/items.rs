//! The items of the Responses dialect: their sides, kinds, families and ids.

use serde_json::Value;

use super::reading::{Kind, Role, field, id, text};

/// The side of an item, and whether it says what it is.
pub(super) fn role(item: &Value) -> (Role, bool) {
    match text(item, "type") {
        Some("message") => message_role(item).map_or((Role::User, false), |role| (role, true)),
        Some("mcp_approval_response" | "item_reference") => (Role::Other, true),
        Some(_) if kind(item) == Kind::Answer => (Role::Answer, true),
        Some(_) => (Role::Assistant, true),
        None => message_role(item).map_or((Role::User, false), |role| (role, true)),
    }
}

/// What an item is.
pub(super) fn kind(item: &Value) -> Kind {
    match text(item, "type") {
        Some(
            "function_call_output"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "shell_call_output"
            | "apply_patch_call_output"
            | "computer_call_output"
            | "tool_search_output",
        ) => Kind::Answer,
        Some(
            "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call"
            | "apply_patch_call" | "computer_call",
        ) => Kind::Call,
        Some("tool_search_call") if text(item, "call_id").is_some() => Kind::Call,
        Some("reasoning") => Kind::Reasoning,
        Some("message") | None => Kind::Text,
        Some(_) => Kind::Other,
    }
}

/// The type of the call that an item is, or answers.
pub(super) fn family(item: &Value) -> &str {
    match text(item, "type") {
        Some("tool_search_output") => "tool_search_call",
        Some(kind) => kind.strip_suffix("_output").unwrap_or(kind),
        None => "",
    }
}

/// The id that joins a call and its answer.
pub(super) fn call_id(item: &Value) -> Option<&str> {
    let local = family(item) == "local_shell_call";
    id(item, "call_id").or_else(|| if local { id(item, "id") } else { None })
}

fn message_role(item: &Value) -> Option<Role> {
    match field(item, "role")?.as_str()? {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "system" | "developer" => Some(Role::System),
        _ => None,
    }
}
