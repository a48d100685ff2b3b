//! What the scripted model sees of a request: the last words, the answers, the tools.

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

/// A request, as far as it decides the reply.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RequestOutline {
    /// Whether it comes in pieces.
    pub(crate) stream: bool,
    /// Whether the figures are told in a chunk of their own (Chat).
    pub(crate) usage: bool,
    /// What came since the model last spoke.
    pub(crate) tail: ConversationTail,
    /// The tools that may be called.
    pub(crate) tools: Vec<ScriptedTool>,
    /// Whether they are to be called.
    pub(crate) choice: ScriptedToolChoice,
    /// Whether several may be called at once.
    pub(crate) parallel: bool,
    /// How many tokens the reply may have.
    pub(crate) max_tokens: Option<u64>,
    /// Whether thinking was asked for in the settings.
    pub(crate) thinking: bool,
}

impl RequestOutline {
    /// Looks at a request.
    pub(crate) fn new(ask: &ScriptedRequest<'_>, request: &Value) -> RequestOutline {
        let wire = ask.format;
        let flag = |key: &str| request.get(key) == Some(&Value::Bool(true));
        let mode = request.get("thinking").and_then(|thinking| text(thinking, "type"));
        let (tools, choice) = tools::read_tools(wire, request);
        RequestOutline {
            stream: if wire == Format::Gemini { ask.streams_by_path() } else { flag("stream") },
            usage: request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)),
            tail: tail::read_tail(wire, request),
            tools,
            choice,
            parallel: parallel(wire, request),
            max_tokens: max_output_tokens(wire, request),
            thinking: wire == Format::Anthropic && matches!(mode, Some("enabled" | "adaptive")),
        }
    }
}

fn parallel(wire: Format, request: &Value) -> bool {
    let forbidden = match wire {
        Format::Anthropic => {
            request.pointer("/tool_choice/disable_parallel_tool_use") == Some(&Value::Bool(true))
        }
        Format::OpenaiChat | Format::OpenaiResponses => {
            request.get("parallel_tool_calls") == Some(&Value::Bool(false))
        }
        Format::Gemini | Format::Bedrock => false,
    };
    !forbidden
}

fn max_output_tokens(wire: Format, request: &Value) -> Option<u64> {
    let count = |key: &str| non_null(request, key).and_then(Value::as_u64);
    match wire {
        Format::OpenaiChat => count("max_completion_tokens").or_else(|| count("max_tokens")),
        Format::OpenaiResponses => count("max_output_tokens"),
        Format::Anthropic | Format::Bedrock => count("max_tokens"),
        Format::Gemini => {
            let config =
                request.get("generationConfig").or_else(|| request.get("generation_config"))?;
            let most = non_null(config, "maxOutputTokens")
                .or_else(|| non_null(config, "max_output_tokens"));
            most.and_then(Value::as_u64)
        }
    }
}
