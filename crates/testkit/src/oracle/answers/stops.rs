//! Why a model stopped, word by word.

use foxwedge_core::Wire;

use super::Stop;

/// What a format's word means. For Responses that is the reason of an incomplete answer, or
/// `completed`.
pub(super) fn meaning(wire: Wire, word: &str) -> Stop {
    match (wire, word) {
        (Wire::OpenaiChat, "stop")
        | (Wire::OpenaiResponses, "completed")
        | (Wire::Anthropic | Wire::Bedrock, "end_turn")
        | (Wire::Gemini, "STOP") => Stop::End,
        (Wire::OpenaiChat, "tool_calls") | (Wire::Anthropic | Wire::Bedrock, "tool_use") => {
            Stop::Calls
        }
        (Wire::OpenaiChat, "length")
        | (Wire::OpenaiResponses, "max_output_tokens")
        | (Wire::Anthropic | Wire::Bedrock, "max_tokens")
        | (Wire::Gemini, "MAX_TOKENS") => Stop::Length,
        (Wire::Anthropic | Wire::Bedrock, "model_context_window_exceeded") => Stop::ContextFull,
        (Wire::Anthropic | Wire::Bedrock, "stop_sequence") => Stop::Sequence(None),
        (Wire::OpenaiChat | Wire::OpenaiResponses, "content_filter")
        | (Wire::Anthropic, "refusal")
        | (Wire::Bedrock, "content_filtered")
        | (Wire::Gemini, "SAFETY") => Stop::Refusal,
        (Wire::Anthropic, "pause_turn") => Stop::Pause,
        (Wire::Gemini, "MALFORMED_FUNCTION_CALL") | (Wire::Bedrock, "malformed_tool_use") => {
            Stop::Malformed
        }
        (_, word) => Stop::Other(word.to_owned()),
    }
}

/// A format's word for a reason that it can tell.
pub(super) fn word(wire: Wire, stop: &Stop) -> String {
    let words: [&str; 5] = match stop {
        Stop::End => ["stop", "completed", "end_turn", "STOP", "end_turn"],
        Stop::Calls => ["tool_calls", "completed", "tool_use", "STOP", "tool_use"],
        Stop::Length => ["length", "max_output_tokens", "max_tokens", "MAX_TOKENS", "max_tokens"],
        Stop::ContextFull => {
            ["", "", "model_context_window_exceeded", "", "model_context_window_exceeded"]
        }
        Stop::Sequence(_) => ["", "", "stop_sequence", "", "stop_sequence"],
        Stop::Refusal => {
            ["content_filter", "content_filter", "refusal", "SAFETY", "content_filtered"]
        }
        Stop::Pause => ["", "", "pause_turn", "", ""],
        Stop::Malformed => ["", "", "", "MALFORMED_FUNCTION_CALL", "malformed_tool_use"],
        Stop::Other(word) => return word.clone(),
    };
    let [chat, responses, anthropic, gemini, bedrock] = words;
    let word = match wire {
        Wire::OpenaiChat => chat,
        Wire::OpenaiResponses => responses,
        Wire::Anthropic => anthropic,
        Wire::Gemini => gemini,
        Wire::Bedrock => bedrock,
    };
    assert!(!word.is_empty(), "{} cannot say {stop:?}", wire.name());
    word.to_owned()
}

/// The words of a format that say more than a reason that others have, too.
pub(crate) fn shades(wire: Wire) -> &'static [&'static str] {
    match wire {
        Wire::OpenaiChat => &["insufficient_system_resource"],
        Wire::OpenaiResponses | Wire::Anthropic => &[],
        Wire::Gemini => &["RECITATION", "OTHER", "PROHIBITED_CONTENT"],
        Wire::Bedrock => &["guardrail_intervened"],
    }
}

/// Whether a format's own word is told as it is. A word that nobody knows is told as the end.
pub(super) fn is_kept(wire: Wire, word: &str) -> bool {
    wire != Wire::OpenaiChat && shades(wire).contains(&word)
}

/// The reason that others would give for such a word.
pub(super) fn plain(word: &str) -> Stop {
    match word {
        "RECITATION" | "PROHIBITED_CONTENT" | "guardrail_intervened" => Stop::Refusal,
        _ => Stop::End,
    }
}
