//! Gemini Interactions: a flat list of steps. Each tool call and each tool result is a step.

mod outline;
mod patch;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod stream_reader;
pub(crate) mod stream_writer;

use foxwedge_core::Format;

use crate::conversation::encode::json_writer::write_string;

pub(crate) use outline::read_step;
pub(crate) use patch::{rewrite_step, write_new_step};

/// The format of this folder.
const WIRE: Format = Format::GeminiInteractions;

/// The tools that the provider runs. Their steps are `…_call` and `…_result`.
const SERVER_TOOLS: [&str; 8] = [
    "code_execution",
    "google_search",
    "google_maps",
    "url_context",
    "file_search",
    "mcp_server_tool",
    "retrieval",
    "processing",
];

/// What a step is, by its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    UserInput,
    ModelOutput,
    Thought,
    FunctionCall,
    FunctionResult,
    /// A call of a tool that the provider runs.
    ServerCall,
    /// The result of such a call.
    ServerResult,
    /// Text outside a step: the user's input.
    Text,
    /// Media outside a step: the user's input.
    Media,
    Unknown,
}

impl StepKind {
    pub(crate) fn of(name: &str) -> StepKind {
        let is_server_tool =
            |suffix| name.strip_suffix(suffix).is_some_and(|tool| SERVER_TOOLS.contains(&tool));
        match name {
            "user_input" => StepKind::UserInput,
            "model_output" => StepKind::ModelOutput,
            "thought" => StepKind::Thought,
            "function_call" => StepKind::FunctionCall,
            "function_result" => StepKind::FunctionResult,
            "text" => StepKind::Text,
            "image" | "audio" | "document" | "video" => StepKind::Media,
            _ if is_server_tool("_call") => StepKind::ServerCall,
            _ if is_server_tool("_result") => StepKind::ServerResult,
            _ => StepKind::Unknown,
        }
    }
}

/// Writes a tool call up to its arguments.
fn open_call(out: &mut String, id: Option<&str>, name: &str) {
    out.push_str("{\"type\":\"function_call\",\"id\":");
    write_string(out, id.unwrap_or_default());
    out.push_str(",\"name\":");
    write_string(out, name);
    out.push_str(",\"arguments\":");
}

/// Writes a tool result up to its content.
fn open_result(out: &mut String, id: Option<&str>, name: &str, error: bool) {
    out.push_str("{\"type\":\"function_result\",\"call_id\":");
    write_string(out, id.unwrap_or_default());
    // Optional in the documentation, but the endpoint was seen to refuse a result without it.
    if !name.is_empty() {
        out.push_str(",\"name\":");
        write_string(out, name);
    }
    out.push_str(if error { ",\"is_error\":true,\"result\":" } else { ",\"result\":" });
}
