//! The parts of a request that decide the reply: the last user text, the tool results, the tools.

mod tail;
mod tools;

use foxwedge_core::Format;
use serde_json::Value;

use crate::{
    http_request::ScriptedRequest,
    json_fields::{non_null, text},
};
pub(crate) use tail::ConversationTail;
pub(crate) use tools::{ScriptedTool, ScriptedToolChoice, ToolInputKind};

/// The parts of a request that decide the reply.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RequestOutline {
    /// Whether the reply is streamed.
    pub(crate) stream: bool,
    /// Whether the usage is sent in a chunk of its own (Chat).
    pub(crate) usage: bool,
    /// The messages since the last model turn.
    pub(crate) tail: ConversationTail,
    /// The available tools.
    pub(crate) tools: Vec<ScriptedTool>,
    /// The tool choice.
    pub(crate) choice: ScriptedToolChoice,
    /// Whether parallel calls are allowed.
    pub(crate) parallel: bool,
    /// Maximum number of tokens of the reply.
    pub(crate) max_tokens: Option<u64>,
    /// Whether thinking is enabled in the settings.
    pub(crate) thinking: bool,
}

impl RequestOutline {
    /// Reads a request.
    pub(crate) fn new(http_request: &ScriptedRequest<'_>, request: &Value) -> RequestOutline {
        let format = http_request.format;
        let flag = |key: &str| request.get(key) == Some(&Value::Bool(true));
        let mode = request.get("thinking").and_then(|thinking| text(thinking, "type"));
        let (tools, choice) = tools::read_tools(format, request);
        RequestOutline {
            stream: if format == Format::Gemini {
                http_request.streams_by_path()
            } else {
                flag("stream")
            },
            usage: request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)),
            tail: tail::read_tail(format, request),
            tools,
            choice,
            parallel: parallel(format, request),
            max_tokens: max_output_tokens(format, request),
            thinking: format == Format::Anthropic && matches!(mode, Some("enabled" | "adaptive")),
        }
    }
}

fn parallel(format: Format, request: &Value) -> bool {
    let forbidden = match format {
        Format::Anthropic => {
            request.pointer("/tool_choice/disable_parallel_tool_use") == Some(&Value::Bool(true))
        }
        Format::OpenaiChat | Format::OpenaiResponses => {
            request.get("parallel_tool_calls") == Some(&Value::Bool(false))
        }
        Format::Gemini | Format::Bedrock | Format::GeminiInteractions => false,
    };
    !forbidden
}

fn max_output_tokens(format: Format, request: &Value) -> Option<u64> {
    let count = |key: &str| non_null(request, key).and_then(Value::as_u64);
    match format {
        Format::OpenaiChat => count("max_completion_tokens").or_else(|| count("max_tokens")),
        Format::OpenaiResponses => count("max_output_tokens"),
        Format::Anthropic | Format::Bedrock => count("max_tokens"),
        Format::Gemini | Format::GeminiInteractions => {
            let config =
                request.get("generationConfig").or_else(|| request.get("generation_config"))?;
            let max = non_null(config, "maxOutputTokens")
                .or_else(|| non_null(config, "max_output_tokens"));
            max.and_then(Value::as_u64)
        }
    }
}
