//! Reads frames into events.
//!
//! There is one reader per format. A reader emits events in the order of its format and delays none
//! unless the format requires it. It leaves out what it does not know, and reports that once.

mod frame_template;

use foxwedge_core::Format;

use crate::{
    anthropic::stream_reader::AnthropicEventReader,
    bedrock::stream_reader::BedrockEventReader,
    event::{
        EventSink,
        emitter::{EmitterState, EventEmitter},
    },
    frame::{StreamError, StreamFrame},
    gemini::stream_reader::GeminiEventReader,
    gemini_interactions::stream_reader::InteractionEventReader,
    openai_chat::stream_reader::ChatEventReader,
    openai_responses::stream_reader::ResponsesEventReader,
};
use foxwedge_json::{JsonObject, JsonTape, ScanError, ScanResult};
use frame_template::{FrameContent, FrameContentSink, FrameTemplate};

/// Reads the frames of one stream.
#[derive(Debug)]
pub(crate) struct StreamReader {
    /// Refilled for every frame.
    tape: JsonTape,
    emitter_state: EmitterState,
    template: FrameTemplate,
    format: StreamReaderFormat,
}

#[derive(Debug)]
enum StreamReaderFormat {
    Chat(ChatEventReader),
    Responses(ResponsesEventReader),
    Anthropic(AnthropicEventReader),
    Gemini(GeminiEventReader),
    Bedrock(BedrockEventReader),
    Interactions(InteractionEventReader),
}

impl StreamReader {
    pub(crate) fn new(format: Format) -> StreamReader {
        let reader_format = match format {
            Format::OpenaiChat => StreamReaderFormat::Chat(Default::default()),
            Format::OpenaiResponses => StreamReaderFormat::Responses(Default::default()),
            Format::Anthropic => StreamReaderFormat::Anthropic(Default::default()),
            Format::Gemini => StreamReaderFormat::Gemini(Default::default()),
            Format::Bedrock => StreamReaderFormat::Bedrock(Default::default()),
            Format::GeminiInteractions => StreamReaderFormat::Interactions(Default::default()),
        };
        StreamReader {
            tape: JsonTape::default(),
            emitter_state: EmitterState::default(),
            template: FrameTemplate::new(format),
            format: reader_format,
        }
    }

    /// Reads a frame. Ignores frames after the end of the reply.
    ///
    /// # Errors
    /// If the frame does not follow the format.
    pub(crate) fn read_frame(
        &mut self,
        frame: StreamFrame<'_>,
        sink: &mut dyn EventSink,
    ) -> Result<(), StreamError> {
        if self.emitter_state.ended {
            return Ok(());
        }
        if let Some((block, text)) = self.template.match_text(&frame) {
            EventEmitter { sink, state: &mut self.emitter_state }.text(block, text);
            return Ok(());
        }
        let mut content_sink =
            FrameContentSink { sink, data: frame.data, content: FrameContent::Nothing };
        let mut emitter = EventEmitter { sink: &mut content_sink, state: &mut self.emitter_state };
        if frame.data.trim_ascii() == "[DONE]" {
            // The end marker of chat. Servers and proxies also send it after other formats, where
            // it adds nothing.
            if let StreamReaderFormat::Chat(chat) = &mut self.format {
                chat.finish(&mut emitter);
            }
            return Ok(());
        }
        let read = read_object(&mut self.tape, frame, |root| {
            let name = frame.name;
            match &mut self.format {
                StreamReaderFormat::Chat(chat) => chat.read_frame(name, root, &mut emitter),
                StreamReaderFormat::Responses(responses) => {
                    responses.read_frame(name, root, &mut emitter)
                }
                StreamReaderFormat::Anthropic(anthropic) => {
                    anthropic.read_frame(name, root, &mut emitter)
                }
                StreamReaderFormat::Gemini(gemini) => gemini.read_frame(root, &mut emitter),
                StreamReaderFormat::Bedrock(bedrock) => {
                    bedrock.read_frame(name, root, &mut emitter)
                }
                StreamReaderFormat::Interactions(interactions) => {
                    interactions.read_frame(name, root, &mut emitter)
                }
            }
        });
        self.template.remember(&frame, content_sink.content);
        read.map_err(|error| StreamError::Malformed {
            at: frame.at + error.at() as u64,
            what: error.message().to_owned(),
        })
    }

    /// Ends the stream. The reply is complete if the model had stopped, else truncated.
    pub(crate) fn finish(&mut self, sink: &mut dyn EventSink) {
        if self.emitter_state.ended {
            return;
        }
        let mut emitter = EventEmitter { sink, state: &mut self.emitter_state };
        match &mut self.format {
            // Gemini may repeat the stop reason in every chunk, so only the end of the bytes ends
            // the reply.
            StreamReaderFormat::Gemini(gemini) => gemini.finish(&mut emitter),
            StreamReaderFormat::Chat(_)
            | StreamReaderFormat::Responses(_)
            | StreamReaderFormat::Anthropic(_)
            | StreamReaderFormat::Bedrock(_)
            | StreamReaderFormat::Interactions(_) => {}
        }
        emitter.finish_bytes();
    }
}

/// Parses the object of a frame and passes it to `each`.
fn read_object(
    tape: &mut JsonTape,
    frame: StreamFrame<'_>,
    each: impl FnOnce(&JsonObject<'_, '_>) -> ScanResult<()>,
) -> ScanResult<()> {
    tape.fill(frame.data)?;
    match tape.root(frame.data).object() {
        Some(root) => each(&root),
        None => {
            let blank = frame.data.len() - frame.data.trim_ascii_start().len();
            Err(ScanError::new(blank, "the data of an event is not an object"))
        }
    }
}

#[cfg(test)]
mod tests;
