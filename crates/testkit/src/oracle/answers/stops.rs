//! The stop reasons of each format.

use foxwedge_core::Format;

use super::ReplyStop;

/// The meaning of a format's value. For Responses that is the reason of an incomplete response, or
/// `completed`.
pub(super) fn meaning(format: Format, value: &str) -> ReplyStop {
    match (format, value) {
        (Format::OpenaiChat, "stop")
        | (Format::OpenaiResponses | Format::GeminiInteractions, "completed")
        | (Format::Anthropic | Format::Bedrock, "end_turn")
        | (Format::Gemini, "STOP") => ReplyStop::End,
        (Format::OpenaiChat, "tool_calls")
        | (Format::Anthropic | Format::Bedrock, "tool_use")
        | (Format::GeminiInteractions, "requires_action") => ReplyStop::Calls,
        (Format::OpenaiChat, "length")
        | (Format::OpenaiResponses, "max_output_tokens")
        | (Format::Anthropic | Format::Bedrock, "max_tokens")
        | (Format::Gemini, "MAX_TOKENS")
        | (Format::GeminiInteractions, "incomplete") => ReplyStop::Length,
        (Format::Anthropic | Format::Bedrock, "model_context_window_exceeded") => {
            ReplyStop::ContextFull
        }
        (Format::Anthropic | Format::Bedrock, "stop_sequence") => ReplyStop::Sequence(None),
        (Format::OpenaiChat | Format::OpenaiResponses, "content_filter")
        | (Format::Anthropic, "refusal")
        | (Format::Bedrock, "content_filtered")
        | (Format::Gemini, "SAFETY") => ReplyStop::Refusal,
        (Format::Anthropic, "pause_turn")
        | (Format::GeminiInteractions, "requires_continuation") => ReplyStop::Pause,
        (Format::Gemini, "MALFORMED_FUNCTION_CALL") | (Format::Bedrock, "malformed_tool_use") => {
            ReplyStop::Malformed
        }
        (_, value) => ReplyStop::Other(value.to_owned()),
    }
}

/// A format's value for a stop reason that it has.
pub(super) fn word(format: Format, stop: &ReplyStop) -> String {
    let values: [&str; 6] = match stop {
        ReplyStop::End => ["stop", "completed", "end_turn", "STOP", "end_turn", "completed"],
        ReplyStop::Calls => {
            ["tool_calls", "completed", "tool_use", "STOP", "tool_use", "requires_action"]
        }
        ReplyStop::Length => {
            ["length", "max_output_tokens", "max_tokens", "MAX_TOKENS", "max_tokens", "incomplete"]
        }
        ReplyStop::ContextFull => {
            ["", "", "model_context_window_exceeded", "", "model_context_window_exceeded", ""]
        }
        ReplyStop::Sequence(_) => ["", "", "stop_sequence", "", "stop_sequence", ""],
        ReplyStop::Refusal => {
            ["content_filter", "content_filter", "refusal", "SAFETY", "content_filtered", ""]
        }
        ReplyStop::Pause => ["", "", "pause_turn", "", "", "requires_continuation"],
        ReplyStop::Malformed => ["", "", "", "MALFORMED_FUNCTION_CALL", "malformed_tool_use", ""],
        ReplyStop::Other(value) => return value.clone(),
    };
    let [chat, responses, anthropic, gemini, bedrock, interactions] = values;
    let value = match format {
        Format::OpenaiChat => chat,
        Format::OpenaiResponses => responses,
        Format::Anthropic => anthropic,
        Format::Gemini => gemini,
        Format::Bedrock => bedrock,
        Format::GeminiInteractions => interactions,
    };
    assert!(!value.is_empty(), "{} cannot say {stop:?}", format.name());
    value.to_owned()
}

/// The values of a format that are more specific than a common stop reason.
pub(crate) fn shades(format: Format) -> &'static [&'static str] {
    match format {
        Format::OpenaiChat => &["insufficient_system_resource"],
        Format::OpenaiResponses | Format::Anthropic => &[],
        Format::Gemini => &["RECITATION", "OTHER", "PROHIBITED_CONTENT"],
        Format::Bedrock => &["guardrail_intervened"],
        Format::GeminiInteractions => &["budget_exceeded", "cancelled"],
    }
}

/// Whether a format keeps its own value. An unknown value becomes the end.
pub(super) fn is_kept(format: Format, value: &str) -> bool {
    format != Format::OpenaiChat && shades(format).contains(&value)
}

/// The common stop reason for such a value.
pub(super) fn plain(value: &str) -> ReplyStop {
    match value {
        "RECITATION" | "PROHIBITED_CONTENT" | "guardrail_intervened" => ReplyStop::Refusal,
        "budget_exceeded" => ReplyStop::Length,
        _ => ReplyStop::End,
    }
}
