//! Encodes stream events in one format.
//!
//! A writer takes events in the order of [`EventSequencer`] and appends bytes. Text is copied delta
//! by delta, JSON-escaped. A writer buffers nothing that grows with the reply unless its format
//! repeats it. A reply that is cut off ends with the error event of the format, never with its end
//! event, and an open block stays open.
//!
//! [`EventSequencer`]: super::sequencer::EventSequencer

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

/// Options of a stream writer.
#[derive(Clone, Debug)]
pub(crate) struct StreamWriterOptions {
    /// The source format of the reply, if known.
    pub(crate) from: Option<Format>,
    /// Seed for generated ids.
    pub(crate) seed: String,
    /// Chat: write the token usage in its own chunk.
    pub(crate) usage: bool,
}

/// Writes one reply.
pub(crate) enum StreamWriter {
    Chat(chat::ChatStreamWriter),
    Responses(responses::ResponsesStreamWriter),
    Anthropic(anthropic::AnthropicStreamWriter),
    Gemini(gemini::GeminiStreamWriter),
    Bedrock(bedrock::BedrockStreamWriter),
}

impl StreamWriter {
    pub(crate) fn new(to: Format, options: StreamWriterOptions) -> StreamWriter {
        match to {
            Format::OpenaiChat => StreamWriter::Chat(chat::ChatStreamWriter::new(options)),
            Format::OpenaiResponses => {
                StreamWriter::Responses(responses::ResponsesStreamWriter::new(options))
            }
            Format::Anthropic => {
                StreamWriter::Anthropic(anthropic::AnthropicStreamWriter::new(options))
            }
            Format::Gemini => StreamWriter::Gemini(gemini::GeminiStreamWriter::new(options)),
            Format::Bedrock => StreamWriter::Bedrock(bedrock::BedrockStreamWriter::new(options)),
        }
    }

    /// Writes an event and notes what the format cannot express.
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

    /// Ends a source frame: nothing waits for more of it.
    pub(crate) fn end_frame(&mut self, out: &mut Vec<u8>) {
        if let StreamWriter::Anthropic(writer) = self {
            writer.end_frame(out);
        }
    }

    /// Number of buffered bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            StreamWriter::Responses(writer) => writer.held_bytes(),
            StreamWriter::Gemini(writer) => writer.held_bytes(),
            StreamWriter::Chat(_) | StreamWriter::Anthropic(_) | StreamWriter::Bedrock(_) => 0,
        }
    }

    /// Memory in use, in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            StreamWriter::Chat(writer) => writer.memory_bytes(),
            StreamWriter::Anthropic(writer) => writer.memory_bytes(),
            StreamWriter::Bedrock(writer) => writer.memory_bytes(),
            StreamWriter::Responses(_) | StreamWriter::Gemini(_) => self.held_bytes(),
        }
    }
}

/// The error for a reply whose bytes ended too early.
fn truncation_error() -> ProviderError<'static> {
    let message = "the stream ended before the response was complete".into();
    ProviderError { kind: ProviderErrorKind::Server, message, code: None }
}

/// The format's stop reason. Notes a loss of meaning.
fn stop_word(format: Format, stop: &StopReason<'_>, notes: &mut LossNotes) -> &'static str {
    let name = stop_reasons::stop_word(format, stop);
    if stop_reasons::loses_meaning(format, stop) {
        let note = match stop {
            // Bedrock has the text in a separate field.
            StopReason::Sequence(_) if format == Format::Bedrock => return name,
            StopReason::Sequence(Some(text)) => {
                format!("the stop sequence `{text}` is not supported in this format")
            }
            StopReason::Other(reason) => {
                format!("the stop reason `{reason}` becomes `{name}`")
            }
            _ => format!("the stop reason becomes `{name}`"),
        };
        notes.add(LossKind::StopReason, &note);
    }
    name
}

/// Appends the token usage.
fn write_usage(format: Format, usage: &TokenUsage, line: &mut String, notes: &mut LossNotes) {
    if let Some(figure) = token_usage::unsupported_figure(format, usage) {
        notes.add(LossKind::Usage, &format!("{figure} is not supported in this format"));
    }
    token_usage::write(format, usage, line);
}

/// Appends the body of an error.
fn write_error(
    format: Format,
    error: &ProviderError<'_>,
    line: &mut String,
    notes: &mut LossNotes,
) {
    let code = error.code.as_deref().filter(|_| provider_errors::loses_name(format, error));
    if let Some(code) = code {
        let name = provider_errors::error_name(format, error);
        let note = format!("the error `{code}` becomes `{name}` in this format");
        notes.add(LossKind::Unknown, &note);
    }
    provider_errors::write(format, error, line);
}

/// Loss notes shared by several formats.
const UNREADABLE: &str = "redacted reasoning is not supported in this format";
const UNSIGNED: &str = "the signature of reasoning is only valid at its own provider";
const ENCRYPTED: &str = "encrypted reasoning is not supported in this format";
const UNSIGNED_CALL: &str = "the signature of a call is not supported in this format";
const UNMARKED: &str = "a refusal becomes plain text";
const NAMELESS: &str = "a citation without a URL is not supported in this format";
const UNQUOTED: &str = "the cited text is not supported in this format";
const UNPLACED: &str = "the text range of a citation is not supported in this format";

#[cfg(test)]
mod tests;
