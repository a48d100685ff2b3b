//! Frames into what happens in them.
//!
//! One reader for each format. A reader tells what its format says, in its order; it never waits for
//! what the format does not make it wait for. What it does not know it leaves out, and says so once.

mod emitter;
mod frame_template;
mod fields;
mod indexed_blocks;
mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use foxwedge_core::Format;

use super::{StreamError, StreamFrame, event::EventSink};
use crate::json::{JsonObject, JsonTape, ScanError, ScanResult};
use emitter::{EmitterState, EventEmitter};
use frame_template::{FrameContent, FrameContentSink, FrameTemplate};

/// Reads the frames of one stream.
#[derive(Debug)]
pub(crate) struct StreamReader {
    /// Filled again with every frame.
    tape: JsonTape,
    emitter_state: EmitterState,
    template: FrameTemplate,
    format: StreamReaderFormat,
}

#[derive(Debug)]
enum StreamReaderFormat {
    Chat(chat::ChatEventReader),
    Responses(responses::ResponsesEventReader),
    Anthropic(anthropic::AnthropicEventReader),
    Gemini(gemini::GeminiEventReader),
    Bedrock(bedrock::BedrockEventReader),
}

impl StreamReader {
    pub(crate) fn new(wire: Format) -> StreamReader {
        let format = match wire {
            Format::OpenaiChat => StreamReaderFormat::Chat(Default::default()),
            Format::OpenaiResponses => StreamReaderFormat::Responses(Default::default()),
            Format::Anthropic => StreamReaderFormat::Anthropic(Default::default()),
            Format::Gemini => StreamReaderFormat::Gemini(Default::default()),
            Format::Bedrock => StreamReaderFormat::Bedrock(Default::default()),
        };
        StreamReader {
            tape: JsonTape::default(),
            emitter_state: EmitterState::default(),
            template: FrameTemplate::new(wire),
            format,
        }
    }

    /// Reads a frame. Behind the end of the answer there is nothing to read.
    ///
    /// # Errors
    /// If it is not what the format says.
    pub(crate) fn read_frame(
        &mut self,
        frame: StreamFrame<'_>,
        sink: &mut dyn EventSink,
    ) -> Result<(), StreamError> {
        if self.emitter_state.ended {
            return Ok(());
        }
        if let Some((block, words)) = self.template.match_text(&frame) {
            EventEmitter { sink, state: &mut self.emitter_state }.text(block, words);
            return Ok(());
        }
        let mut listener =
            FrameContentSink { sink, data: frame.data, content: FrameContent::Nothing };
        let mut tell = EventEmitter { sink: &mut listener, state: &mut self.emitter_state };
        if frame.data.trim_ascii() == "[DONE]" {
            // Chat's own end. Servers and proxies put it behind other formats, too, where it says
            // nothing that they do not say themselves.
            if let StreamReaderFormat::Chat(chat) = &mut self.format {
                chat.finish(&mut tell);
            }
            return Ok(());
        }
        let read = read_object(&mut self.tape, frame, |root| {
            let name = frame.name;
            match &mut self.format {
                StreamReaderFormat::Chat(chat) => chat.read_frame(name, root, &mut tell),
                StreamReaderFormat::Responses(responses) => {
                    responses.read_frame(name, root, &mut tell)
                }
                StreamReaderFormat::Anthropic(anthropic) => {
                    anthropic.read_frame(name, root, &mut tell)
                }
                StreamReaderFormat::Gemini(gemini) => gemini.read_frame(root, &mut tell),
                StreamReaderFormat::Bedrock(bedrock) => bedrock.read_frame(name, root, &mut tell),
            }
        });
        self.template.remember(&frame, listener.content);
        read.map_err(|trouble| StreamError::Malformed {
            at: frame.at + trouble.at() as u64,
            what: trouble.message().to_owned(),
        })
    }

    /// The bytes have ended. If the model had stopped, that was all; otherwise something is missing.
    pub(crate) fn finish(&mut self, sink: &mut dyn EventSink) {
        if self.emitter_state.ended {
            return;
        }
        let mut tell = EventEmitter { sink, state: &mut self.emitter_state };
        match &mut self.format {
            // It says again and again why it stopped, so that only the end of the bytes is one.
            StreamReaderFormat::Gemini(gemini) => gemini.finish(&mut tell),
            StreamReaderFormat::Chat(_)
            | StreamReaderFormat::Responses(_)
            | StreamReaderFormat::Anthropic(_)
            | StreamReaderFormat::Bedrock(_) => {}
        }
        tell.finish_bytes();
    }
}

/// Reads what is in a frame.
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
