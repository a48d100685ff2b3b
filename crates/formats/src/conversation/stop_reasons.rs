//! Stop reasons in every format.
//!
//! One table maps each format's stop reason to its meaning. A stop reason that is more specific
//! than its meaning is kept as [`StopReason::Other`]: its own format gets it back, every other
//! format gets the general one.

use foxwedge_core::Format::{
    self, Anthropic, Bedrock, Gemini, GeminiInteractions, OpenaiChat, OpenaiResponses,
};

use super::{JsonText, StopReason};

/// Parses a format's stop reason. For Responses that is the reason of an incomplete response, or
/// `completed`.
pub(crate) fn read<'a>(format: Format, reason: JsonText<'a>) -> StopReason<'a> {
    let own = STOP_WORDS.iter().find(|row| row.0 == format && reason == row.1);
    // Compatible servers sometimes use the stop reasons of other formats.
    match own.or_else(|| STOP_WORDS.iter().find(|row| reason == row.1)) {
        Some((_, _, StopWordUse::Plain | StopWordUse::Alias, meaning)) => meaning.stop_reason(),
        Some((_, _, StopWordUse::Specific, _)) | None => StopReason::Other(reason),
    }
}

/// The stop reason in a format. For Responses that is the reason of an incomplete response, or
/// `completed` for a complete one.
pub(crate) fn stop_word(format: Format, stop: &StopReason<'_>) -> &'static str {
    if let StopReason::Other(reason) = stop
        && let Some(row_of_format) =
            STOP_WORDS.iter().find(|row| row.0 == format && *reason == row.1)
    {
        return row_of_format.1;
    }
    let meaning = meaning_of(stop);
    let plain =
        |row: &&StopWordRow| row.0 == format && row.2 == StopWordUse::Plain && row.3 == meaning;
    match STOP_WORDS.iter().find(plain) {
        Some(row) => row.1,
        None => fallback_word(format, meaning),
    }
}

/// Whether the format's stop reason is less specific than the model's. Tool calls never count as a
/// loss, because the calls themselves are in the message.
fn loses_meaning(format: Format, stop: &StopReason<'_>) -> bool {
    match stop {
        StopReason::ToolCalls => false,
        StopReason::Sequence(text) => text.is_some() && format != Anthropic,
        stop => read(format, stop_word(format, stop).into()) != *stop,
    }
}

/// What the format's stop reason loses of the model's.
pub(crate) fn loss_note(format: Format, stop: &StopReason<'_>) -> Option<String> {
    if !loses_meaning(format, stop) {
        return None;
    }
    let word = stop_word(format, stop);
    match stop {
        // A separate field holds the sequence.
        StopReason::Sequence(_) if format == Bedrock => None,
        StopReason::Sequence(Some(text)) => {
            Some(format!("the stop sequence `{text}` is not supported in this format"))
        }
        StopReason::Other(reason) => Some(format!("the stop reason `{reason}` becomes `{word}`")),
        _ => Some(format!("the stop reason becomes `{word}`")),
    }
}

impl StopReason<'_> {
    /// Whether the reply was cut short, so that its last call may have lost arguments.
    pub fn is_cut_short(&self) -> bool {
        match meaning_of(self) {
            StopMeaning::Length
            | StopMeaning::ContextFull
            | StopMeaning::Refusal
            | StopMeaning::MalformedCall => true,
            StopMeaning::End
            | StopMeaning::ToolCalls
            | StopMeaning::Sequence
            | StopMeaning::Pause => false,
        }
    }
}

/// The stop reason of a reply whose last call is incomplete, and what it loses. An unknown reason,
/// such as `abort`, would become that of a complete reply, and the client would run half a call.
pub(crate) fn of_incomplete_call(stop: StopReason<'_>) -> (StopReason<'_>, Option<String>) {
    match &stop {
        StopReason::Other(reason) if !stop.is_cut_short() => {
            let note = format!(
                "the stop reason `{reason}` becomes that of the token limit, because a call is \
                 incomplete"
            );
            (StopReason::Length, Some(note))
        }
        _ => (stop, None),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StopMeaning {
    End,
    ToolCalls,
    Length,
    ContextFull,
    Sequence,
    Refusal,
    Pause,
    MalformedCall,
}

impl StopMeaning {
    fn stop_reason(self) -> StopReason<'static> {
        match self {
            StopMeaning::End => StopReason::End,
            StopMeaning::ToolCalls => StopReason::ToolCalls,
            StopMeaning::Length => StopReason::Length,
            StopMeaning::ContextFull => StopReason::ContextFull,
            StopMeaning::Sequence => StopReason::Sequence(None),
            StopMeaning::Refusal => StopReason::Refusal,
            StopMeaning::Pause => StopReason::Pause,
            StopMeaning::MalformedCall => StopReason::MalformedCall,
        }
    }
}

fn meaning_of(stop: &StopReason<'_>) -> StopMeaning {
    match stop {
        StopReason::End => StopMeaning::End,
        StopReason::ToolCalls => StopMeaning::ToolCalls,
        StopReason::Length => StopMeaning::Length,
        StopReason::ContextFull => StopMeaning::ContextFull,
        StopReason::Sequence(_) => StopMeaning::Sequence,
        StopReason::Refusal => StopMeaning::Refusal,
        StopReason::Pause => StopMeaning::Pause,
        StopReason::MalformedCall => StopMeaning::MalformedCall,
        // An unknown reason still ends the response.
        StopReason::Other(reason) => {
            STOP_WORDS.iter().find(|row| *reason == row.1).map_or(StopMeaning::End, |row| row.3)
        }
    }
}

/// The stop reason for a meaning that the format cannot express.
fn fallback_word(format: Format, meaning: StopMeaning) -> &'static str {
    let nearest = match meaning {
        // A reply whose call cannot be read is not complete: an agent must not take it for its last one.
        StopMeaning::ContextFull | StopMeaning::MalformedCall => StopMeaning::Length,
        _ => StopMeaning::End,
    };
    let plain =
        |row: &&StopWordRow| row.0 == format && row.2 == StopWordUse::Plain && row.3 == nearest;
    STOP_WORDS.iter().find(plain).map_or("", |row| row.1)
}

/// How a table row is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopWordUse {
    /// Read and written.
    Plain,
    /// Read only.
    Alias,
    /// More specific than its meaning; kept as is.
    Specific,
}

type StopWordRow = (Format, &'static str, StopWordUse, StopMeaning);

const STOP_WORDS: [StopWordRow; 55] = [
    (OpenaiChat, "stop", StopWordUse::Plain, StopMeaning::End),
    // Together AI, and TGI.
    (OpenaiChat, "eos", StopWordUse::Alias, StopMeaning::End),
    (OpenaiChat, "eos_token", StopWordUse::Alias, StopMeaning::End),
    (OpenaiChat, "tool_calls", StopWordUse::Plain, StopMeaning::ToolCalls),
    (OpenaiChat, "function_call", StopWordUse::Alias, StopMeaning::ToolCalls),
    (OpenaiChat, "length", StopWordUse::Plain, StopMeaning::Length),
    (OpenaiChat, "content_filter", StopWordUse::Plain, StopMeaning::Refusal),
    // Mistral.
    (OpenaiChat, "model_length", StopWordUse::Alias, StopMeaning::ContextFull),
    (OpenaiResponses, "completed", StopWordUse::Plain, StopMeaning::End),
    (OpenaiResponses, "max_output_tokens", StopWordUse::Plain, StopMeaning::Length),
    (OpenaiResponses, "content_filter", StopWordUse::Plain, StopMeaning::Refusal),
    // Used when the reason is missing.
    (OpenaiResponses, "incomplete", StopWordUse::Alias, StopMeaning::Length),
    (OpenaiResponses, "max_messages", StopWordUse::Specific, StopMeaning::Length),
    (OpenaiResponses, "steered", StopWordUse::Specific, StopMeaning::End),
    (Anthropic, "end_turn", StopWordUse::Plain, StopMeaning::End),
    (Anthropic, "tool_use", StopWordUse::Plain, StopMeaning::ToolCalls),
    (Anthropic, "max_tokens", StopWordUse::Plain, StopMeaning::Length),
    (Anthropic, "model_context_window_exceeded", StopWordUse::Plain, StopMeaning::ContextFull),
    (Anthropic, "stop_sequence", StopWordUse::Plain, StopMeaning::Sequence),
    (Anthropic, "refusal", StopWordUse::Plain, StopMeaning::Refusal),
    (Anthropic, "pause_turn", StopWordUse::Plain, StopMeaning::Pause),
    (Bedrock, "end_turn", StopWordUse::Plain, StopMeaning::End),
    (Bedrock, "tool_use", StopWordUse::Plain, StopMeaning::ToolCalls),
    (Bedrock, "max_tokens", StopWordUse::Plain, StopMeaning::Length),
    (Bedrock, "model_context_window_exceeded", StopWordUse::Plain, StopMeaning::ContextFull),
    (Bedrock, "stop_sequence", StopWordUse::Plain, StopMeaning::Sequence),
    (Bedrock, "content_filtered", StopWordUse::Plain, StopMeaning::Refusal),
    (Bedrock, "guardrail_intervened", StopWordUse::Specific, StopMeaning::Refusal),
    (Bedrock, "malformed_tool_use", StopWordUse::Plain, StopMeaning::MalformedCall),
    (Bedrock, "malformed_model_output", StopWordUse::Specific, StopMeaning::MalformedCall),
    (Gemini, "STOP", StopWordUse::Plain, StopMeaning::End),
    (Gemini, "MAX_TOKENS", StopWordUse::Plain, StopMeaning::Length),
    (Gemini, "SAFETY", StopWordUse::Plain, StopMeaning::Refusal),
    (Gemini, "MALFORMED_FUNCTION_CALL", StopWordUse::Plain, StopMeaning::MalformedCall),
    (Gemini, "RECITATION", StopWordUse::Specific, StopMeaning::Refusal),
    (Gemini, "LANGUAGE", StopWordUse::Specific, StopMeaning::Refusal),
    (Gemini, "BLOCKLIST", StopWordUse::Specific, StopMeaning::Refusal),
    (Gemini, "PROHIBITED_CONTENT", StopWordUse::Specific, StopMeaning::Refusal),
    (Gemini, "SPII", StopWordUse::Specific, StopMeaning::Refusal),
    (Gemini, "IMAGE_SAFETY", StopWordUse::Specific, StopMeaning::Refusal),
    (Gemini, "IMAGE_PROHIBITED_CONTENT", StopWordUse::Specific, StopMeaning::Refusal),
    (Gemini, "IMAGE_RECITATION", StopWordUse::Specific, StopMeaning::Refusal),
    (Gemini, "UNEXPECTED_TOOL_CALL", StopWordUse::Specific, StopMeaning::MalformedCall),
    (Gemini, "TOO_MANY_TOOL_CALLS", StopWordUse::Specific, StopMeaning::MalformedCall),
    (Gemini, "MALFORMED_RESPONSE", StopWordUse::Specific, StopMeaning::MalformedCall),
    (Gemini, "CONTINUATION", StopWordUse::Specific, StopMeaning::Length),
    (Gemini, "NO_IMAGE", StopWordUse::Specific, StopMeaning::End),
    (Gemini, "IMAGE_OTHER", StopWordUse::Specific, StopMeaning::End),
    (Gemini, "OTHER", StopWordUse::Specific, StopMeaning::End),
    // The status of an interaction.
    (GeminiInteractions, "completed", StopWordUse::Plain, StopMeaning::End),
    (GeminiInteractions, "requires_action", StopWordUse::Plain, StopMeaning::ToolCalls),
    (GeminiInteractions, "incomplete", StopWordUse::Plain, StopMeaning::Length),
    (GeminiInteractions, "requires_continuation", StopWordUse::Plain, StopMeaning::Pause),
    (GeminiInteractions, "budget_exceeded", StopWordUse::Specific, StopMeaning::Length),
    (GeminiInteractions, "cancelled", StopWordUse::Specific, StopMeaning::End),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stop_reason_round_trips() {
        for (wire, word, used, _) in STOP_WORDS {
            let stop = read(wire, word.into());
            match used {
                StopWordUse::Plain => assert_eq!(stop_word(wire, &stop), word, "{wire:?}"),
                StopWordUse::Alias => assert_ne!(stop, StopReason::Other(word.into()), "{wire:?}"),
                StopWordUse::Specific => {
                    assert_eq!(
                        (&stop, stop_word(wire, &stop)),
                        (&StopReason::Other(word.into()), word)
                    );
                }
            }
            assert!(used == StopWordUse::Alias || !loses_meaning(wire, &stop), "{wire:?} {word}");
        }
    }

    #[test]
    fn stop_reasons_are_converted_to_every_format() {
        let wires = [OpenaiChat, OpenaiResponses, Anthropic, Gemini, Bedrock, GeminiInteractions];
        // A star marks a stop reason that loses meaning.
        let table: [(StopReason<'_>, [&str; 6]); 13] = [
            (StopReason::End, ["stop", "completed", "end_turn", "STOP", "end_turn", "completed"]),
            (
                StopReason::ToolCalls,
                ["tool_calls", "completed", "tool_use", "STOP", "tool_use", "requires_action"],
            ),
            (
                StopReason::Length,
                [
                    "length",
                    "max_output_tokens",
                    "max_tokens",
                    "MAX_TOKENS",
                    "max_tokens",
                    "incomplete",
                ],
            ),
            (
                StopReason::ContextFull,
                [
                    "length*",
                    "max_output_tokens*",
                    "model_context_window_exceeded",
                    "MAX_TOKENS*",
                    "model_context_window_exceeded",
                    "incomplete*",
                ],
            ),
            (
                StopReason::Sequence(None),
                ["stop", "completed", "stop_sequence", "STOP", "stop_sequence", "completed"],
            ),
            (
                StopReason::Sequence(Some("END".into())),
                ["stop*", "completed*", "stop_sequence", "STOP*", "stop_sequence*", "completed*"],
            ),
            (
                StopReason::Refusal,
                [
                    "content_filter",
                    "content_filter",
                    "refusal",
                    "SAFETY",
                    "content_filtered",
                    "completed*",
                ],
            ),
            (
                StopReason::Pause,
                [
                    "stop*",
                    "completed*",
                    "pause_turn",
                    "STOP*",
                    "end_turn*",
                    "requires_continuation",
                ],
            ),
            (
                StopReason::MalformedCall,
                [
                    "length*",
                    "max_output_tokens*",
                    "max_tokens*",
                    "MALFORMED_FUNCTION_CALL",
                    "malformed_tool_use",
                    "incomplete*",
                ],
            ),
            (
                StopReason::Other("RECITATION".into()),
                [
                    "content_filter*",
                    "content_filter*",
                    "refusal*",
                    "RECITATION",
                    "content_filtered*",
                    "completed*",
                ],
            ),
            (
                StopReason::Other("guardrail_intervened".into()),
                [
                    "content_filter*",
                    "content_filter*",
                    "refusal*",
                    "SAFETY*",
                    "guardrail_intervened",
                    "completed*",
                ],
            ),
            (
                StopReason::Other("insufficient_system_resource".into()),
                ["stop*", "completed*", "end_turn*", "STOP*", "end_turn*", "completed*"],
            ),
            (
                StopReason::Other("budget_exceeded".into()),
                [
                    "length*",
                    "max_output_tokens*",
                    "max_tokens*",
                    "MAX_TOKENS*",
                    "max_tokens*",
                    "budget_exceeded",
                ],
            ),
        ];
        for (stop, expected) in table {
            let converted = wires.map(|format| {
                let lost = if loses_meaning(format, &stop) { "*" } else { "" };
                format!("{}{lost}", stop_word(format, &stop))
            });
            assert_eq!(converted, expected, "{stop:?}");
        }
    }

    #[test]
    fn stop_reasons_of_other_formats_are_parsed() {
        assert_eq!(read(OpenaiChat, "end_turn".into()), StopReason::End);
        assert_eq!(read(OpenaiChat, "MAX_TOKENS".into()), StopReason::Length);
        assert_eq!(read(Bedrock, "refusal".into()), StopReason::Refusal);
        assert_eq!(read(Anthropic, "".into()), StopReason::Other("".into()));
    }
}
