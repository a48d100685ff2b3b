//! Spells what happens for one format.
//!
//! A writer takes events in the order that [`Order`] promises and adds bytes. Text goes over in its
//! JSON spelling, piece by piece; a writer keeps nothing that grows with the answer unless its format
//! says the same thing twice. An answer that breaks off ends with what the format has for failures
//! and never with what it has for ends: a block that was open stays open.
//!
//! [`Order`]: super::order::Order

mod loss_notes;
mod json_writer;
mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use foxwedge_core::Format;

use super::event::StreamEvent;
use crate::model::{
    LossKind, ProviderError, ProviderErrorKind, StopReason, TokenUsage, provider_errors,
    stop_reasons, token_usage,
};

pub(crate) use loss_notes::LossNotes;

/// What a writer has to know beforehand.
#[derive(Clone, Debug)]
pub(crate) struct StreamWriterOptions {
    /// The format that the answer comes from, where anybody knows.
    pub(crate) from: Option<Format>,
    /// Tells answers without ids apart.
    pub(crate) seed: String,
    /// Chat: the figures are told in a chunk of their own.
    pub(crate) usage: bool,
}

/// Writes one answer.
pub(crate) enum StreamWriter {
    Chat(chat::ChatStreamWriter),
    Responses(responses::ResponsesStreamWriter),
    Anthropic(anthropic::AnthropicStreamWriter),
    Gemini(gemini::GeminiStreamWriter),
    Bedrock(bedrock::BedrockStreamWriter),
}

impl StreamWriter {
    pub(crate) fn new(to: Format, brief: StreamWriterOptions) -> StreamWriter {
        match to {
            Format::OpenaiChat => StreamWriter::Chat(chat::ChatStreamWriter::new(brief)),
            Format::OpenaiResponses => {
                StreamWriter::Responses(responses::ResponsesStreamWriter::new(brief))
            }
            Format::Anthropic => {
                StreamWriter::Anthropic(anthropic::AnthropicStreamWriter::new(brief))
            }
            Format::Gemini => StreamWriter::Gemini(gemini::GeminiStreamWriter::new(brief)),
            Format::Bedrock => StreamWriter::Bedrock(bedrock::BedrockStreamWriter::new(brief)),
        }
    }

    /// Writes what happens, and notes what cannot be written.
    pub(crate) fn write_event(
        &mut self,
        event: &StreamEvent<'_>,
        out: &mut Vec<u8>,
        notes: &mut LossNotes,
    ) {
        match self {
            StreamWriter::Chat(writer) => writer.write_event(event, out, notes),
            StreamWriter::Responses(writer) => writer.write_event(event, out, notes),
            StreamWriter::Anthropic(writer) => writer.write_event(event, out, notes),
            StreamWriter::Gemini(writer) => writer.write_event(event, out, notes),
            StreamWriter::Bedrock(writer) => writer.write_event(event, out, notes),
        }
    }

    /// All that one frame said was written: nothing waits for more of it.
    pub(crate) fn end_frame(&mut self, out: &mut Vec<u8>) {
        if let StreamWriter::Anthropic(writer) = self {
            writer.end_frame(out);
        }
    }

    /// How many bytes of the answer it keeps.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            StreamWriter::Responses(writer) => writer.held_bytes(),
            StreamWriter::Gemini(writer) => writer.held_bytes(),
            StreamWriter::Chat(_) | StreamWriter::Anthropic(_) | StreamWriter::Bedrock(_) => 0,
        }
    }

    /// What it keeps in all, in bytes.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        match self {
            StreamWriter::Chat(writer) => writer.kept(),
            StreamWriter::Anthropic(writer) => writer.kept(),
            StreamWriter::Bedrock(writer) => writer.kept(),
            StreamWriter::Responses(_) | StreamWriter::Gemini(_) => self.held_bytes(),
        }
    }
}

/// What is said of an answer whose bytes ended before it did.
fn truncation_error() -> ProviderError<'static> {
    let message = "the stream ended before the answer did".into();
    ProviderError { kind: ProviderErrorKind::Server, message, code: None }
}

/// The format's word for why the model stopped.
fn stop_word(wire: Format, stop: &StopReason<'_>, notes: &mut LossNotes) -> &'static str {
    let word = stop_reasons::stop_word(wire, stop);
    if stop_reasons::loses_meaning(wire, stop) {
        let note = match stop {
            // Told beside the word.
            StopReason::Sequence(_) if wire == Format::Bedrock => return word,
            StopReason::Sequence(Some(text)) => {
                format!("the text that stopped the model, `{text}`, has no place in this format")
            }
            StopReason::Other(reason) => {
                format!("the model stopped for `{reason}`, which is told as `{word}`")
            }
            _ => format!("why the model stopped is told as `{word}`"),
        };
        notes.add(LossKind::StopReason, &note);
    }
    word
}

/// Adds the format's figures.
fn write_usage(wire: Format, usage: &TokenUsage, line: &mut String, notes: &mut LossNotes) {
    if let Some(figure) = token_usage::unsupported_figure(wire, usage) {
        notes.add(LossKind::Usage, &format!("{figure} has no figure in this format"));
    }
    token_usage::write(wire, usage, line);
}

/// Adds the format's body of a failure.
fn write_error(
    wire: Format,
    failure: &ProviderError<'_>,
    line: &mut String,
    notes: &mut LossNotes,
) {
    let code = failure.code.as_deref().filter(|_| provider_errors::loses_name(wire, failure));
    if let Some(code) = code {
        let name = provider_errors::error_name(wire, failure);
        let note = format!("the failure `{code}` is called `{name}` in this format");
        notes.add(LossKind::Unknown, &note);
    }
    provider_errors::write(wire, failure, line);
}

/// Sentences about what several formats cannot hold.
const UNREADABLE: &str = "redacted reasoning has no place in this format";
const UNSIGNED: &str = "the signature of reasoning means nothing to another maker";
const ENCRYPTED: &str = "encrypted reasoning has no place in this format";
const UNSIGNED_CALL: &str = "the signature of a call means nothing in this format";
const UNMARKED: &str = "that a text is a refusal cannot be said in this format";
const NAMELESS: &str = "a source without an address has no place in this format";
const UNQUOTED: &str = "what a source says has no place in this format";
const UNPLACED: &str = "which characters rest on a source cannot be said in this format";

#[cfg(test)]
mod tests;
