//! Why a model stopped, in the words of every format.
//!
//! One table says what each word means. A word that says more than its meaning stays what it is
//! ([`Stop::Other`]): its own format gets it back, every other format gets the plain word.

use foxwedge_core::Wire::{self, Anthropic, Bedrock, Gemini, OpenaiChat, OpenaiResponses};

use super::{Stop, Words};

/// What a format's word means. For Responses the word is the reason of an incomplete answer, or
/// `completed`.
pub(crate) fn read<'a>(wire: Wire, word: Words<'a>) -> Stop<'a> {
    let own = WORDS.iter().find(|row| row.0 == wire && word == row.1);
    // Servers that speak a format by hearsay use the words of others.
    match own.or_else(|| WORDS.iter().find(|row| word == row.1)) {
        Some((_, _, Use::Plain | Use::Alias, sense)) => sense.stop(),
        Some((_, _, Use::Shade, _)) | None => Stop::Other(word),
    }
}

/// A format's word. For Responses the reason of an incomplete answer; `completed` if it is whole.
pub(crate) fn spelled(wire: Wire, stop: &Stop<'_>) -> &'static str {
    if let Stop::Other(word) = stop
        && let Some(own) = WORDS.iter().find(|row| row.0 == wire && *word == row.1)
    {
        return own.1;
    }
    let sense = sense(stop);
    let plain = |row: &&Row| row.0 == wire && row.2 == Use::Plain && row.3 == sense;
    match WORDS.iter().find(plain) {
        Some(row) => row.1,
        None => instead(wire, sense),
    }
}

/// Whether the format's word says less than the model's reason. What calls say is said by the
/// calls themselves.
pub(crate) fn loses(wire: Wire, stop: &Stop<'_>) -> bool {
    match stop {
        Stop::Calls => false,
        Stop::Sequence(text) => text.is_some() && wire != Anthropic,
        stop => read(wire, spelled(wire, stop).into()) != *stop,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sense {
    End,
    Calls,
    Length,
    ContextFull,
    Sequence,
    Refusal,
    Pause,
    Malformed,
}

impl Sense {
    fn stop(self) -> Stop<'static> {
        match self {
            Sense::End => Stop::End,
            Sense::Calls => Stop::Calls,
            Sense::Length => Stop::Length,
            Sense::ContextFull => Stop::ContextFull,
            Sense::Sequence => Stop::Sequence(None),
            Sense::Refusal => Stop::Refusal,
            Sense::Pause => Stop::Pause,
            Sense::Malformed => Stop::Malformed,
        }
    }
}

fn sense(stop: &Stop<'_>) -> Sense {
    match stop {
        Stop::End => Sense::End,
        Stop::Calls => Sense::Calls,
        Stop::Length => Sense::Length,
        Stop::ContextFull => Sense::ContextFull,
        Stop::Sequence(_) => Sense::Sequence,
        Stop::Refusal => Sense::Refusal,
        Stop::Pause => Sense::Pause,
        Stop::Malformed => Sense::Malformed,
        // Whatever it was, it is over.
        Stop::Other(word) => {
            WORDS.iter().find(|row| *word == row.1).map_or(Sense::End, |row| row.3)
        }
    }
}

/// What is said where a format has no word.
fn instead(wire: Wire, sense: Sense) -> &'static str {
    let nearest = match sense {
        Sense::ContextFull => Sense::Length,
        _ => Sense::End,
    };
    let plain = |row: &&Row| row.0 == wire && row.2 == Use::Plain && row.3 == nearest;
    WORDS.iter().find(plain).map_or("", |row| row.1)
}

/// How a word is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Read and written.
    Plain,
    /// Read only.
    Alias,
    /// It says more than its meaning, and is kept.
    Shade,
}

type Row = (Wire, &'static str, Use, Sense);

const WORDS: [Row; 47] = [
    (OpenaiChat, "stop", Use::Plain, Sense::End),
    (OpenaiChat, "tool_calls", Use::Plain, Sense::Calls),
    (OpenaiChat, "function_call", Use::Alias, Sense::Calls),
    (OpenaiChat, "length", Use::Plain, Sense::Length),
    (OpenaiChat, "content_filter", Use::Plain, Sense::Refusal),
    // Mistral's.
    (OpenaiChat, "model_length", Use::Alias, Sense::ContextFull),
    (OpenaiResponses, "completed", Use::Plain, Sense::End),
    (OpenaiResponses, "max_output_tokens", Use::Plain, Sense::Length),
    (OpenaiResponses, "content_filter", Use::Plain, Sense::Refusal),
    // Where the reason is missing.
    (OpenaiResponses, "incomplete", Use::Alias, Sense::Length),
    (OpenaiResponses, "max_messages", Use::Shade, Sense::Length),
    (OpenaiResponses, "steered", Use::Shade, Sense::End),
    (Anthropic, "end_turn", Use::Plain, Sense::End),
    (Anthropic, "tool_use", Use::Plain, Sense::Calls),
    (Anthropic, "max_tokens", Use::Plain, Sense::Length),
    (Anthropic, "model_context_window_exceeded", Use::Plain, Sense::ContextFull),
    (Anthropic, "stop_sequence", Use::Plain, Sense::Sequence),
    (Anthropic, "refusal", Use::Plain, Sense::Refusal),
    (Anthropic, "pause_turn", Use::Plain, Sense::Pause),
    (Bedrock, "end_turn", Use::Plain, Sense::End),
    (Bedrock, "tool_use", Use::Plain, Sense::Calls),
    (Bedrock, "max_tokens", Use::Plain, Sense::Length),
    (Bedrock, "model_context_window_exceeded", Use::Plain, Sense::ContextFull),
    (Bedrock, "stop_sequence", Use::Plain, Sense::Sequence),
    (Bedrock, "content_filtered", Use::Plain, Sense::Refusal),
    (Bedrock, "guardrail_intervened", Use::Shade, Sense::Refusal),
    (Bedrock, "malformed_tool_use", Use::Plain, Sense::Malformed),
    (Bedrock, "malformed_model_output", Use::Shade, Sense::Malformed),
    (Gemini, "STOP", Use::Plain, Sense::End),
    (Gemini, "MAX_TOKENS", Use::Plain, Sense::Length),
    (Gemini, "SAFETY", Use::Plain, Sense::Refusal),
    (Gemini, "MALFORMED_FUNCTION_CALL", Use::Plain, Sense::Malformed),
    (Gemini, "RECITATION", Use::Shade, Sense::Refusal),
    (Gemini, "LANGUAGE", Use::Shade, Sense::Refusal),
    (Gemini, "BLOCKLIST", Use::Shade, Sense::Refusal),
    (Gemini, "PROHIBITED_CONTENT", Use::Shade, Sense::Refusal),
    (Gemini, "SPII", Use::Shade, Sense::Refusal),
    (Gemini, "IMAGE_SAFETY", Use::Shade, Sense::Refusal),
    (Gemini, "IMAGE_PROHIBITED_CONTENT", Use::Shade, Sense::Refusal),
    (Gemini, "IMAGE_RECITATION", Use::Shade, Sense::Refusal),
    (Gemini, "UNEXPECTED_TOOL_CALL", Use::Shade, Sense::Malformed),
    (Gemini, "TOO_MANY_TOOL_CALLS", Use::Shade, Sense::Malformed),
    (Gemini, "MALFORMED_RESPONSE", Use::Shade, Sense::Malformed),
    (Gemini, "CONTINUATION", Use::Shade, Sense::Length),
    (Gemini, "NO_IMAGE", Use::Shade, Sense::End),
    (Gemini, "IMAGE_OTHER", Use::Shade, Sense::End),
    (Gemini, "OTHER", Use::Shade, Sense::End),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_is_written() {
        for (wire, word, used, _) in WORDS {
            let stop = read(wire, word.into());
            match used {
                Use::Plain => assert_eq!(spelled(wire, &stop), word, "{wire:?}"),
                Use::Alias => assert_ne!(stop, Stop::Other(word.into()), "{wire:?}"),
                Use::Shade => {
                    assert_eq!((&stop, spelled(wire, &stop)), (&Stop::Other(word.into()), word));
                }
            }
            assert!(used == Use::Alias || !loses(wire, &stop), "{wire:?} {word}");
        }
    }

    #[test]
    fn reasons_are_told_in_every_formats_words() {
        let wires = [OpenaiChat, OpenaiResponses, Anthropic, Gemini, Bedrock];
        // A star marks what the word does not say any more.
        let table: [(Stop<'_>, [&str; 5]); 12] = [
            (Stop::End, ["stop", "completed", "end_turn", "STOP", "end_turn"]),
            (Stop::Calls, ["tool_calls", "completed", "tool_use", "STOP", "tool_use"]),
            (
                Stop::Length,
                ["length", "max_output_tokens", "max_tokens", "MAX_TOKENS", "max_tokens"],
            ),
            (
                Stop::ContextFull,
                [
                    "length*",
                    "max_output_tokens*",
                    "model_context_window_exceeded",
                    "MAX_TOKENS*",
                    "model_context_window_exceeded",
                ],
            ),
            (Stop::Sequence(None), ["stop", "completed", "stop_sequence", "STOP", "stop_sequence"]),
            (
                Stop::Sequence(Some("END".into())),
                ["stop*", "completed*", "stop_sequence", "STOP*", "stop_sequence*"],
            ),
            (
                Stop::Refusal,
                ["content_filter", "content_filter", "refusal", "SAFETY", "content_filtered"],
            ),
            (Stop::Pause, ["stop*", "completed*", "pause_turn", "STOP*", "end_turn*"]),
            (
                Stop::Malformed,
                [
                    "stop*",
                    "completed*",
                    "end_turn*",
                    "MALFORMED_FUNCTION_CALL",
                    "malformed_tool_use",
                ],
            ),
            (
                Stop::Other("RECITATION".into()),
                [
                    "content_filter*",
                    "content_filter*",
                    "refusal*",
                    "RECITATION",
                    "content_filtered*",
                ],
            ),
            (
                Stop::Other("guardrail_intervened".into()),
                [
                    "content_filter*",
                    "content_filter*",
                    "refusal*",
                    "SAFETY*",
                    "guardrail_intervened",
                ],
            ),
            (
                Stop::Other("insufficient_system_resource".into()),
                ["stop*", "completed*", "end_turn*", "STOP*", "end_turn*"],
            ),
        ];
        for (stop, expected) in table {
            let told = wires.map(|wire| {
                let lost = if loses(wire, &stop) { "*" } else { "" };
                format!("{}{lost}", spelled(wire, &stop))
            });
            assert_eq!(told, expected, "{stop:?}");
        }
    }

    #[test]
    fn words_of_other_formats_are_understood() {
        assert_eq!(read(OpenaiChat, "end_turn".into()), Stop::End);
        assert_eq!(read(OpenaiChat, "MAX_TOKENS".into()), Stop::Length);
        assert_eq!(read(Bedrock, "refusal".into()), Stop::Refusal);
        assert_eq!(read(Anthropic, "".into()), Stop::Other("".into()));
    }
}
