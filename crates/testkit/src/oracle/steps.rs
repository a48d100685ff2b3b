//! The steps of Gemini Interactions: their sides, kinds and ids.

use serde_json::Value;

use super::reading::{OracleBlockKind, OracleMessage, OracleRole, field, id, text};

/// Content that the user may send outside a step.
const CONTENT: [&str; 5] = ["text", "image", "audio", "document", "video"];

/// The side of a step. Steps state no role, so none is missing or unknown.
pub(super) fn role(step: &Value) -> (OracleRole, bool) {
    let role = match text(step, "type") {
        Some("user_input") => OracleRole::User,
        Some("function_result") => OracleRole::Answer,
        Some(kind) if CONTENT.contains(&kind) => OracleRole::User,
        _ => OracleRole::Assistant,
    };
    (role, true)
}

/// The kind of a step.
pub(super) fn kind(step: &Value) -> OracleBlockKind {
    let Some(name) = text(step, "type") else { return OracleBlockKind::Unknown };
    match name {
        "user_input" | "model_output" if holds_unknown(step) => OracleBlockKind::Unknown,
        "user_input" | "model_output" | "text" => OracleBlockKind::Text,
        "image" | "audio" | "document" | "video" => OracleBlockKind::Other,
        "thought" => OracleBlockKind::Reasoning,
        "function_call" => OracleBlockKind::Call,
        "function_result" => OracleBlockKind::Answer,
        "code_execution_call"
        | "google_search_call"
        | "google_maps_call"
        | "url_context_call"
        | "file_search_call"
        | "mcp_server_tool_call"
        | "retrieval_call"
        | "processing_call" => OracleBlockKind::ServerCall,
        "code_execution_result"
        | "google_search_result"
        | "google_maps_result"
        | "url_context_result"
        | "file_search_result"
        | "mcp_server_tool_result"
        | "retrieval_result"
        | "processing_result" => OracleBlockKind::ServerAnswer,
        _ => OracleBlockKind::Unknown,
    }
}

/// Whether the content of a step has something of another type than content may have.
fn holds_unknown(step: &Value) -> bool {
    let strange = |part: &Value| !text(part, "type").is_some_and(|kind| CONTENT.contains(&kind));
    field(step, "content").and_then(Value::as_array).is_some_and(|it| it.iter().any(strange))
}

/// Whether a step is one with content, and has none.
pub(super) fn says_nothing(step: &Value) -> bool {
    matches!(text(step, "type"), Some("user_input" | "model_output"))
        && field(step, "content").is_none()
}

/// The id that joins a call and its result: calls have one of their own, results name it.
pub(super) fn call_id(step: &Value) -> Option<&str> {
    let is_result = text(step, "type").is_some_and(|kind| kind.ends_with("_result"));
    id(step, if is_result { "call_id" } else { "id" })
}

/// Excludes results for calls that the provider ran.
pub(super) fn set_hosted_apart(messages: &mut [OracleMessage<'_>]) {
    let ids = |wanted: OracleBlockKind| -> Vec<String> {
        let steps = messages.iter().filter(|step| step.has(wanted));
        steps.filter_map(|step| call_id(step.value)).map(str::to_owned).collect()
    };
    let (hosted, clients) = (ids(OracleBlockKind::ServerCall), ids(OracleBlockKind::Call));
    for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
        let own = call_id(block.value).map(str::to_owned);
        let is_hosted = own.is_some_and(|id| hosted.contains(&id) && !clients.contains(&id));
        if block.kind == OracleBlockKind::Answer && is_hosted {
            block.kind = OracleBlockKind::Other;
        }
    }
}
