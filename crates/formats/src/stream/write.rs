//! Encodes stream events in one format.
//!
//! A writer takes events in the order of [`EventSequencer`] and appends bytes. Text is copied delta
//! by delta, JSON-escaped. A writer buffers nothing that grows with the reply unless its format
//! repeats it. A reply that is cut off ends with the error event of the format, never with its end
//! event, and an open block stays open.
//!
//! [`EventSequencer`]: super::sequencer::EventSequencer

use foxwedge_core::Format;

use crate::{
    anthropic::stream_writer::AnthropicStreamWriter,
    bedrock::stream_writer::BedrockStreamWriter,
    event::{StreamEvent, StreamWriterOptions, loss_notes::LossNotes},
    gemini::stream_writer::GeminiStreamWriter,
    gemini_interactions::stream_writer::InteractionStreamWriter,
    openai_chat::stream_writer::ChatStreamWriter,
    openai_responses::stream_writer::ResponsesStreamWriter,
};

/// Writes one reply.
pub(crate) enum StreamWriter {
    Chat(ChatStreamWriter),
    Responses(ResponsesStreamWriter),
    Anthropic(AnthropicStreamWriter),
    Gemini(GeminiStreamWriter),
    Bedrock(BedrockStreamWriter),
    Interactions(InteractionStreamWriter),
}

impl StreamWriter {
    pub(crate) fn new(to: Format, options: StreamWriterOptions) -> StreamWriter {
        match to {
            Format::OpenaiChat => StreamWriter::Chat(ChatStreamWriter::new(options)),
            Format::OpenaiResponses => StreamWriter::Responses(ResponsesStreamWriter::new(options)),
            Format::Anthropic => StreamWriter::Anthropic(AnthropicStreamWriter::new(options)),
            Format::Gemini => StreamWriter::Gemini(GeminiStreamWriter::new(options)),
            Format::Bedrock => StreamWriter::Bedrock(BedrockStreamWriter::new(options)),
            Format::GeminiInteractions => {
                StreamWriter::Interactions(InteractionStreamWriter::new(options))
            }
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
            StreamWriter::Interactions(writer) => writer.write_event(event, out, notes),
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
            StreamWriter::Chat(writer) => writer.held_bytes(),
            StreamWriter::Anthropic(_)
            | StreamWriter::Bedrock(_)
            | StreamWriter::Interactions(_) => 0,
        }
    }

    /// Memory in use, in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            StreamWriter::Chat(writer) => writer.memory_bytes(),
            StreamWriter::Anthropic(writer) => writer.memory_bytes(),
            StreamWriter::Bedrock(writer) => writer.memory_bytes(),
            StreamWriter::Interactions(writer) => writer.memory_bytes(),
            StreamWriter::Responses(_) | StreamWriter::Gemini(_) => self.held_bytes(),
        }
    }
}

#[cfg(test)]
mod tests;
