//! Results that are written as in another format.

use serde_json::Value;

use super::reading::{OracleBlockKind, OracleRole, id, text};
use crate::dialect::TestFormat;

/// The id of the call of a message that is as a whole a result of another format.
pub(super) fn whole(format: TestFormat, value: &Value) -> Option<&str> {
    let is_role = |roles: &[&str]| text(value, "role").is_some_and(|role| roles.contains(&role));
    if is_role(&["user", "assistant", "system", "model", "ai"]) {
        return None;
    }
    let kind = text(value, "type");
    match format {
        TestFormat::Chat => {
            let is_output =
                matches!(kind, Some("function_call_output" | "custom_tool_call_output"));
            let other = is_role(&["tool", "developer", "function"]);
            id(value, "call_id").filter(|_| is_output && !other && value.get("content").is_none())
        }
        TestFormat::Responses => {
            let is_message = matches!(kind, Some("message") | None) && !is_role(&["developer"]);
            id(value, "tool_call_id").filter(|_| is_message)
        }
        TestFormat::Anthropic => {
            let blocks = super::blocks::of_message(format, value, OracleRole::User);
            let is_content = blocks.iter().all(|block| match block.kind {
                OracleBlockKind::Text | OracleBlockKind::Unknown => true,
                _ => matches!(text(block.value, "type"), Some("image" | "document")),
            });
            id(value, "tool_call_id").filter(|_| is_content)
        }
        TestFormat::Gemini | TestFormat::Bedrock | TestFormat::Interactions => None,
    }
}

/// The id of the call of a block of an Anthropic message among the parts of a chat message.
pub(super) fn block(value: &Value) -> Option<&str> {
    id(value, "tool_use_id").filter(|_| text(value, "type") == Some("tool_result"))
}

/// The id of the call of a result, and the field with its content, if it is written as in another
/// format.
pub(super) fn result(format: TestFormat, body: &Value) -> Option<(&str, &'static str)> {
    match (whole(format, body), format) {
        (Some(id), TestFormat::Chat) => Some((id, "output")),
        (Some(id), _) => Some((id, "content")),
        (None, TestFormat::Chat) if text(body, "role").is_none() => Some((block(body)?, "content")),
        (None, _) => None,
    }
}
