//! What the scripted model sees of a request: the last words, the answers, the tools.

mod tail;
mod tools;

use foxwedge_core::Wire;
use serde_json::Value;

use crate::{
    ask::Ask,
    tree::{given, text},
};
pub(crate) use tail::Tail;
pub(crate) use tools::{Choice, Sort, Tool};

/// A request, as far as it decides the reply.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Seen {
    /// Whether it comes in pieces.
    pub(crate) stream: bool,
    /// Whether the figures are told in a chunk of their own (Chat).
    pub(crate) usage: bool,
    /// What came since the model last spoke.
    pub(crate) tail: Tail,
    /// The tools that may be called.
    pub(crate) tools: Vec<Tool>,
    /// Whether they are to be called.
    pub(crate) choice: Choice,
    /// Whether several may be called at once.
    pub(crate) parallel: bool,
    /// How many tokens the reply may have.
    pub(crate) most: Option<u64>,
    /// Whether thinking was asked for in the settings.
    pub(crate) thinks: bool,
}

impl Seen {
    /// Looks at a request.
    pub(crate) fn new(ask: &Ask<'_>, request: &Value) -> Seen {
        let wire = ask.wire;
        let flag = |key: &str| request.get(key) == Some(&Value::Bool(true));
        let mode = request.get("thinking").and_then(|thinking| text(thinking, "type"));
        let (tools, choice) = tools::read(wire, request);
        Seen {
            stream: if wire == Wire::Gemini { ask.streams_by_path() } else { flag("stream") },
            usage: request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true)),
            tail: tail::read(wire, request),
            tools,
            choice,
            parallel: parallel(wire, request),
            most: most(wire, request),
            thinks: wire == Wire::Anthropic && matches!(mode, Some("enabled" | "adaptive")),
        }
    }
}

fn parallel(wire: Wire, request: &Value) -> bool {
    let forbidden = match wire {
        Wire::Anthropic => {
            request.pointer("/tool_choice/disable_parallel_tool_use") == Some(&Value::Bool(true))
        }
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            request.get("parallel_tool_calls") == Some(&Value::Bool(false))
        }
        Wire::Gemini | Wire::Bedrock => false,
    };
    !forbidden
}

fn most(wire: Wire, request: &Value) -> Option<u64> {
    let count = |key: &str| given(request, key).and_then(Value::as_u64);
    match wire {
        Wire::OpenaiChat => count("max_completion_tokens").or_else(|| count("max_tokens")),
        Wire::OpenaiResponses => count("max_output_tokens"),
        Wire::Anthropic | Wire::Bedrock => count("max_tokens"),
        Wire::Gemini => {
            let config =
                request.get("generationConfig").or_else(|| request.get("generation_config"))?;
            let most =
                given(config, "maxOutputTokens").or_else(|| given(config, "max_output_tokens"));
            most.and_then(Value::as_u64)
        }
    }
}
