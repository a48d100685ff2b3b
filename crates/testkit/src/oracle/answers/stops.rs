//! Why a model stopped, word by word.

use foxwedge_core::Format;

use super::Stop;

/// What a format's word means. For Responses that is the reason of an incomplete answer, or
/// `completed`.
pub(super) fn meaning(wire: Format, word: &str) -> Stop {
    match (wire, word) {
        (Format::OpenaiChat, "stop")
        | (Format::OpenaiResponses, "completed")
        | (Format::Anthropic | Format::Bedrock, "end_turn")
        | (Format::Gemini, "STOP") => Stop::End,
        (Format::OpenaiChat, "tool_calls") | (Format::Anthropic | Format::Bedrock, "tool_use") => {
            Stop::Calls
        }
        (Format::OpenaiChat, "length")
        | (Format::OpenaiResponses, "max_output_tokens")
        | (Format::Anthropic | Format::Bedrock, "max_tokens")
        | (Format::Gemini, "MAX_TOKENS") => Stop::Length,
        (Format::Anthropic | Format::Bedrock, "model_context_window_exceeded") => Stop::ContextFull,
        (Format::Anthropic | Format::Bedrock, "stop_sequence") => Stop::Sequence(None),
        (Format::OpenaiChat | Format::OpenaiResponses, "content_filter")
        | (Format::Anthropic, "refusal")
        | (Format::Bedrock, "content_filtered")
        | (Format::Gemini, "SAFETY") => Stop::Refusal,
        (Format::Anthropic, "pause_turn") => Stop::Pause,
        (Format::Gemini, "MALFORMED_FUNCTION_CALL") | (Format::Bedrock, "malformed_tool_use") => {
            Stop::Malformed
        }
        (_, word) => Stop::Other(word.to_owned()),
    }
}

/// A format's word for a reason that it can tell.
pub(super) fn word(wire: Format, stop: &Stop) -> String {
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
        Format::OpenaiChat => chat,
        Format::OpenaiResponses => responses,
        Format::Anthropic => anthropic,
        Format::Gemini => gemini,
        Format::Bedrock => bedrock,
    };
    assert!(!word.is_empty(), "{} cannot say {stop:?}", wire.name());
    word.to_owned()
}

/// The words of a format that say more than a reason that others have, too.
pub(crate) fn shades(wire: Format) -> &'static [&'static str] {
    match wire {
        Format::OpenaiChat => &["insufficient_system_resource"],
        Format::OpenaiResponses | Format::Anthropic => &[],
        Format::Gemini => &["RECITATION", "OTHER", "PROHIBITED_CONTENT"],
        Format::Bedrock => &["guardrail_intervened"],
    }
}

/// Whether a format's own word is told as it is. A word that nobody knows is told as the end.
pub(super) fn is_kept(wire: Format, word: &str) -> bool {
    wire != Format::OpenaiChat && shades(wire).contains(&word)
}

/// The reason that others would give for such a word.
pub(super) fn plain(word: &str) -> Stop {
    match word {
        "RECITATION" | "PROHIBITED_CONTENT" | "guardrail_intervened" => Stop::Refusal,
        _ => Stop::End,
    }
}
