//! Why a model stopped, in the words of every format.
//!
//! One table says what each word means. A word that says more than its meaning stays what it is
//! ([`Stop::Other`]): its own format gets it back, every other format gets the plain word.

use foxwedge_core::Format::{self, Anthropic, Bedrock, Gemini, OpenaiChat, OpenaiResponses};

use super::{JsonText, StopReason};

/// What a format's word means. For Responses the word is the reason of an incomplete answer, or
/// `completed`.
pub(crate) fn read<'a>(wire: Format, word: JsonText<'a>) -> StopReason<'a> {
    let own = STOP_WORDS.iter().find(|row| row.0 == wire && word == row.1);
    // Servers that speak a format by hearsay use the words of others.
    match own.or_else(|| STOP_WORDS.iter().find(|row| word == row.1)) {
        Some((_, _, StopWordUse::Plain | StopWordUse::Alias, sense)) => sense.stop_reason(),
        Some((_, _, StopWordUse::Specific, _)) | None => StopReason::Other(word),
    }
}

/// A format's word. For Responses the reason of an incomplete answer; `completed` if it is whole.
pub(crate) fn stop_word(wire: Format, stop: &StopReason<'_>) -> &'static str {
    if let StopReason::Other(word) = stop
        && let Some(own) = STOP_WORDS.iter().find(|row| row.0 == wire && *word == row.1)
    {
        return own.1;
    }
    let sense = meaning_of(stop);
    let plain = |row: &&StopWordRow| row.0 == wire && row.2 == StopWordUse::Plain && row.3 == sense;
    match STOP_WORDS.iter().find(plain) {
        Some(row) => row.1,
        None => fallback_word(wire, sense),
    }
}

/// Whether the format's word says less than the model's reason. What calls say is said by the
/// calls themselves.
pub(crate) fn loses_meaning(wire: Format, stop: &StopReason<'_>) -> bool {
    match stop {
        StopReason::ToolCalls => false,
        StopReason::Sequence(text) => text.is_some() && wire != Anthropic,
        stop => read(wire, stop_word(wire, stop).into()) != *stop,
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
        // Whatever it was, it is over.
        StopReason::Other(word) => {
            STOP_WORDS.iter().find(|row| *word == row.1).map_or(StopMeaning::End, |row| row.3)
        }
    }
}

/// What is said where a format has no word.
fn fallback_word(wire: Format, sense: StopMeaning) -> &'static str {
    let nearest = match sense {
        StopMeaning::ContextFull => StopMeaning::Length,
        _ => StopMeaning::End,
    };
    let plain =
        |row: &&StopWordRow| row.0 == wire && row.2 == StopWordUse::Plain && row.3 == nearest;
    STOP_WORDS.iter().find(plain).map_or("", |row| row.1)
}

/// How a word is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopWordUse {
    /// Read and written.
    Plain,
    /// Read only.
    Alias,
    /// It says more than its meaning, and is kept.
    Specific,
}

type StopWordRow = (Format, &'static str, StopWordUse, StopMeaning);

const STOP_WORDS: [StopWordRow; 47] = [
    (OpenaiChat, "stop", StopWordUse::Plain, StopMeaning::End),
    (OpenaiChat, "tool_calls", StopWordUse::Plain, StopMeaning::ToolCalls),
    (OpenaiChat, "function_call", StopWordUse::Alias, StopMeaning::ToolCalls),
    (OpenaiChat, "length", StopWordUse::Plain, StopMeaning::Length),
    (OpenaiChat, "content_filter", StopWordUse::Plain, StopMeaning::Refusal),
    // Mistral's.
    (OpenaiChat, "model_length", StopWordUse::Alias, StopMeaning::ContextFull),
    (OpenaiResponses, "completed", StopWordUse::Plain, StopMeaning::End),
    (OpenaiResponses, "max_output_tokens", StopWordUse::Plain, StopMeaning::Length),
    (OpenaiResponses, "content_filter", StopWordUse::Plain, StopMeaning::Refusal),
    // Where the reason is missing.
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
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_is_written() {
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
    fn reasons_are_told_in_every_formats_words() {
        let wires = [OpenaiChat, OpenaiResponses, Anthropic, Gemini, Bedrock];
        // A star marks what the word does not say any more.
        let table: [(StopReason<'_>, [&str; 5]); 12] = [
            (StopReason::End, ["stop", "completed", "end_turn", "STOP", "end_turn"]),
            (StopReason::ToolCalls, ["tool_calls", "completed", "tool_use", "STOP", "tool_use"]),
            (
                StopReason::Length,
                ["length", "max_output_tokens", "max_tokens", "MAX_TOKENS", "max_tokens"],
            ),
            (
                StopReason::ContextFull,
                [
                    "length*",
                    "max_output_tokens*",
                    "model_context_window_exceeded",
                    "MAX_TOKENS*",
                    "model_context_window_exceeded",
                ],
            ),
            (
                StopReason::Sequence(None),
                ["stop", "completed", "stop_sequence", "STOP", "stop_sequence"],
            ),
            (
                StopReason::Sequence(Some("END".into())),
                ["stop*", "completed*", "stop_sequence", "STOP*", "stop_sequence*"],
            ),
            (
                StopReason::Refusal,
                ["content_filter", "content_filter", "refusal", "SAFETY", "content_filtered"],
            ),
            (StopReason::Pause, ["stop*", "completed*", "pause_turn", "STOP*", "end_turn*"]),
            (
                StopReason::MalformedCall,
                [
                    "stop*",
                    "completed*",
                    "end_turn*",
                    "MALFORMED_FUNCTION_CALL",
                    "malformed_tool_use",
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
                ],
            ),
            (
                StopReason::Other("insufficient_system_resource".into()),
                ["stop*", "completed*", "end_turn*", "STOP*", "end_turn*"],
            ),
        ];
        for (stop, expected) in table {
            let told = wires.map(|wire| {
                let lost = if loses_meaning(wire, &stop) { "*" } else { "" };
                format!("{}{lost}", stop_word(wire, &stop))
            });
            assert_eq!(told, expected, "{stop:?}");
        }
    }

    #[test]
    fn words_of_other_formats_are_understood() {
        assert_eq!(read(OpenaiChat, "end_turn".into()), StopReason::End);
        assert_eq!(read(OpenaiChat, "MAX_TOKENS".into()), StopReason::Length);
        assert_eq!(read(Bedrock, "refusal".into()), StopReason::Refusal);
        assert_eq!(read(Anthropic, "".into()), StopReason::Other("".into()));
    }
}
