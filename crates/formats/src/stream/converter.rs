//! Converts a stream of one format into a stream of another, chunk by chunk.

use foxwedge_core::Format;

use super::{
    StreamLimitSettings, StreamLimits,
    collect::{CollectedReply, StreamCollector},
    free_text::FreeTextCalls,
    read::StreamReader,
    reply_events::emit_outcome,
    sequencer::EventSequencer,
    write::StreamWriter,
};
use crate::{
    conversation::{
        IdentifierReplacement, LossKind, ModelResponse, ProviderError, ProviderErrorKind,
    },
    event::{
        EventSink, ReplyHead, StreamEvent, StreamLoss, StreamWriterOptions, loss_notes::LossNotes,
    },
    frame::{StreamError, StreamFrame, StreamFramer},
};

/// Converts one stream. The output does not depend on how the bytes are cut into chunks.
pub struct StreamConverter {
    framer: StreamFramer,
    reader: StreamReader,
    output: ConverterOutput,
    /// Why the stream cannot be read any further.
    error: Option<StreamError>,
    limit_settings: Option<StreamLimitSettings>,
}

/// Options of a stream conversion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamOptions {
    /// Makes generated ids unique: they are computed from this seed.
    pub seed: String,
    /// Chat: write the token usage in its own chunk before the end.
    pub usage: bool,
    /// Memory limits.
    pub limits: StreamLimits,
    /// The settings that an error names if a memory limit is exceeded.
    pub limit_settings: Option<StreamLimitSettings>,
    /// Defaults for a reply without id, model or time. There is no clock here, and some formats do
    /// not name the model.
    pub head: ReplyHead<'static>,
    /// The model name to write, whatever the provider sends.
    pub model: Option<String>,
    /// The id of the reply to write, whatever the provider sends.
    pub reply_id: Option<String>,
    /// Tool names that were replaced in the request. Calls get the old names back.
    pub renamed_tools: Vec<IdentifierReplacement>,
    /// Tools with free text whose calls have it as the field `input` of an object.
    pub free_text_tools: Vec<String>,
}

impl Default for StreamOptions {
    fn default() -> StreamOptions {
        StreamOptions {
            seed: String::new(),
            usage: true,
            limits: StreamLimits::default(),
            limit_settings: None,
            head: ReplyHead::default(),
            model: None,
            reply_id: None,
            renamed_tools: Vec::new(),
            free_text_tools: Vec::new(),
        }
    }
}

/// How a stream ended. If it is neither complete nor failed, the bytes ended before the reply did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamEnding {
    /// The provider marked the reply as complete.
    pub complete: bool,
    /// The provider failed.
    pub failed: bool,
    /// The losses, without duplicates.
    pub skipped: Vec<StreamLoss>,
    /// The call ids that the target format does not accept, and their replacements.
    pub renamed: Vec<IdentifierReplacement>,
}

impl StreamConverter {
    /// Converts from one format into another. Both may be the same.
    pub fn new(from: Format, to: Format, options: StreamOptions) -> StreamConverter {
        StreamConverter {
            framer: StreamFramer::new(from, options.limits.frame),
            reader: StreamReader::new(from),
            limit_settings: options.limit_settings,
            output: ConverterOutput::new(Some(from), to, options),
            error: None,
        }
    }

    /// Like [`StreamConverter::new`], and also collects the reply for
    /// [`StreamConverter::take_collection`]: with the ids and names that the client gets and will
    /// send back. Collects up to the limits.
    pub fn with_collection(from: Format, to: Format, options: StreamOptions) -> StreamConverter {
        let collected = StreamCollector::within(Some(to), options.limits.held);
        let mut converter = StreamConverter::new(from, to, options);
        converter.output.collected = Some(collected);
        converter
    }

    /// Converts more bytes and appends the output to `out`.
    ///
    /// # Errors
    /// If the bytes are not a stream of the format, or a limit is exceeded. The output then ends
    /// with a failure, and later calls return the same error.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), StreamError> {
        self.push_observed(bytes, out, &mut |_| {})
    }

    /// Like [`StreamConverter::push`], and also passes each event to `each`, in output order.
    ///
    /// # Errors
    /// As [`StreamConverter::push`].
    pub fn push_observed(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(&StreamEvent<'_>),
    ) -> Result<(), StreamError> {
        self.read(&mut OutputTargets { out, observer: each }, |framer, each| {
            framer.push(bytes, each)
        })
    }

    /// Ends the stream and appends the rest of the output to `out`.
    ///
    /// # Errors
    /// As [`StreamConverter::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<StreamEnding, StreamError> {
        self.finish_observed(out, &mut |_| {})
    }

    /// Like [`StreamConverter::finish`], and also passes each event to `each`.
    ///
    /// # Errors
    /// As [`StreamConverter::push`].
    pub fn finish_observed(
        &mut self,
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(&StreamEvent<'_>),
    ) -> Result<StreamEnding, StreamError> {
        let targets = &mut OutputTargets { out, observer: each };
        self.read(targets, |framer, each| framer.finish(each))?;
        self.reader.finish(&mut SequencerSink { output: &mut self.output, targets });
        self.output.accept_event(StreamEvent::Truncated, targets);
        Ok(self.output.ending())
    }

    /// Takes the collected reply. `None` if it was not collected or already taken.
    pub fn take_collection(&mut self) -> Option<CollectedReply> {
        self.output.collected.take().map(StreamCollector::finish)
    }

    fn read(
        &mut self,
        targets: &mut OutputTargets<'_, '_>,
        bytes: impl FnOnce(
            &mut StreamFramer,
            &mut dyn FnMut(StreamFrame<'_>) -> Result<(), StreamError>,
        ) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let StreamConverter { framer, reader, output, error, limit_settings } = self;
        let read = bytes(framer, &mut |frame| {
            let at = frame.at;
            reader.read_frame(frame, &mut SequencerSink { output, targets })?;
            output.end_frame(at, targets.out)
        });
        read.inspect_err(|read_error| {
            *error = Some(read_error.clone());
            let message = match (read_error, limit_settings) {
                (StreamError::TooLarge { most, .. }, Some(settings)) => {
                    let is_frame = *most == output.limits.frame;
                    let setting = if is_frame { settings.frame } else { settings.held };
                    format!("{read_error}: raise `{setting}`")
                }
                (StreamError::TooLarge { .. } | StreamError::Malformed { .. }, _) => {
                    read_error.to_string()
                }
            };
            let message = message.into();
            let failure = ProviderError { kind: ProviderErrorKind::Server, message, code: None };
            output.accept_event(StreamEvent::Failed(failure), targets);
        })
    }
}

/// Writes a whole response as a stream.
pub fn write_stream(
    outcome: &ModelResponse<'_>,
    to: Format,
    options: StreamOptions,
) -> (Vec<u8>, StreamEnding) {
    let from = match outcome {
        ModelResponse::Reply(reply) => reply.wire,
        ModelResponse::Error(_) => None,
    };
    let mut output = ConverterOutput::new(from, to, options);
    let mut out = Vec::new();
    let targets = &mut OutputTargets { out: &mut out, observer: &mut |_| {} };
    emit_outcome(outcome, &mut SequencerSink { output: &mut output, targets });
    (out, output.ending())
}

/// Sequences events and writes them.
struct ConverterOutput {
    free_text: FreeTextCalls,
    sequencer: EventSequencer,
    writer: StreamWriter,
    notes: LossNotes,
    /// Collects the reply, if requested.
    collected: Option<StreamCollector>,
    limits: StreamLimits,
    complete: bool,
    failed: bool,
}

/// Where the output goes: the bytes for the client, and an observer of the events.
struct OutputTargets<'w, 'e> {
    out: &'w mut Vec<u8>,
    observer: &'w mut (dyn FnMut(&StreamEvent<'_>) + 'e),
}

impl ConverterOutput {
    fn new(from: Option<Format>, to: Format, options: StreamOptions) -> ConverterOutput {
        let StreamOptions {
            seed,
            usage,
            limits,
            limit_settings: _,
            head,
            model,
            reply_id,
            renamed_tools: names,
            free_text_tools,
        } = options;
        let sequencer = EventSequencer::new(to, &seed, head).with_names(names);
        let sequencer = match reply_id {
            Some(id) => sequencer.with_reply_id(id),
            None => sequencer,
        };
        ConverterOutput {
            sequencer: match model {
                Some(model) => sequencer.with_model(model),
                None => sequencer,
            },
            writer: StreamWriter::new(to, StreamWriterOptions { from, seed, usage }),
            free_text: FreeTextCalls::new(free_text_tools),
            notes: LossNotes::default(),
            collected: None,
            limits,
            complete: false,
            failed: false,
        }
    }

    /// Accepts an event from the reader.
    fn accept_event(&mut self, event: StreamEvent<'_>, targets: &mut OutputTargets<'_, '_>) {
        if self.sequencer.is_over() {
            if matches!(
                event,
                StreamEvent::Open { .. } | StreamEvent::Delta { .. } | StreamEvent::Failed(_)
            ) {
                self.notes
                    .add(LossKind::Unknown, "content after the end of the response is left out");
            }
            return;
        }
        match event {
            StreamEvent::End => self.complete = !self.sequencer.is_incomplete(),
            StreamEvent::Failed(_) => self.failed = true,
            _ => {}
        }
        let ConverterOutput { free_text, sequencer, writer, notes, collected, .. } = self;
        let mut sink = WriterSink { writer, notes, collected, targets };
        free_text.accept(event, |event| sequencer.accept(event, &mut sink));
    }

    /// Ends a frame, which began at byte `at`.
    fn end_frame(&mut self, at: u64, out: &mut Vec<u8>) -> Result<(), StreamError> {
        self.writer.end_frame(out);
        let limit = self.limits.held;
        if !self.sequencer.is_over()
            && self.sequencer.held_bytes() + self.writer.held_bytes() + self.free_text.held_bytes()
                > limit
        {
            return Err(StreamError::TooLarge { at, most: limit });
        }
        Ok(())
    }

    fn ending(&self) -> StreamEnding {
        StreamEnding {
            complete: self.complete,
            failed: self.failed,
            skipped: self.notes.list(),
            renamed: self.sequencer.renamed().to_vec(),
        }
    }
}

/// Passes the events of a reader to the converter output.
struct SequencerSink<'d, 'w, 'e> {
    output: &'d mut ConverterOutput,
    targets: &'d mut OutputTargets<'w, 'e>,
}

impl EventSink for SequencerSink<'_, '_, '_> {
    fn event(&mut self, event: StreamEvent<'_>) {
        self.output.accept_event(event, self.targets);
    }

    fn skip(&mut self, note: StreamLoss) {
        self.output.notes.add(note.kind, &note.note);
    }
}

/// Passes sequenced events to the writer, the observer and the collector.
struct WriterSink<'d, 'w, 'e> {
    writer: &'d mut StreamWriter,
    notes: &'d mut LossNotes,
    collected: &'d mut Option<StreamCollector>,
    targets: &'d mut OutputTargets<'w, 'e>,
}

impl EventSink for WriterSink<'_, '_, '_> {
    fn event(&mut self, event: StreamEvent<'_>) {
        self.writer.write_event(&event, self.targets.out, self.notes);
        (self.targets.observer)(&event);
        if let Some(collected) = self.collected {
            collected.event(event);
        }
    }

    fn skip(&mut self, note: StreamLoss) {
        self.notes.add(note.kind, &note.note);
    }
}

#[cfg(test)]
mod tests;
