//! A stream of one format into a stream of another, chunk by chunk.

use foxwedge_core::Format;

use super::{
    StreamError, StreamFrame, StreamLimits,
    collect::{CollectedReply, StreamCollector},
    event::{EventSink, ReplyHead, StreamEvent, StreamLoss},
    frame::StreamFramer,
    read::StreamReader,
    reply_events::emit_outcome,
    sequencer::EventSequencer,
    write::{LossNotes, StreamWriter, StreamWriterOptions},
};
use crate::model::{
    IdentifierReplacement, LossKind, ModelResponse, ProviderError, ProviderErrorKind,
};

/// Converts one stream. What comes out never depends on how the bytes were cut into chunks.
pub struct StreamConverter {
    framer: StreamFramer,
    reader: StreamReader,
    output: ConverterOutput,
    /// Why the stream cannot be read on.
    error: Option<StreamError>,
}

/// What to know before an answer begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamOptions {
    /// Tells answers apart that have no ids: everything that has to be made up is computed from it.
    pub seed: String,
    /// Chat: the figures are told in a chunk of their own, before the end.
    pub usage: bool,
    /// What may be kept.
    pub limits: StreamLimits,
    /// What is said of an answer where its provider does not say it. No clock is asked here, and
    /// some formats do not name the model.
    pub head: ReplyHead<'static>,
    /// The model that is named, whatever the provider says.
    pub model: Option<String>,
    /// Names of tools that were replaced in the request: calls get the old ones back.
    pub renamed_tools: Vec<IdentifierReplacement>,
}

impl Default for StreamOptions {
    fn default() -> StreamOptions {
        StreamOptions {
            seed: String::new(),
            usage: true,
            limits: StreamLimits::default(),
            head: ReplyHead::default(),
            model: None,
            renamed_tools: Vec::new(),
        }
    }
}

/// How a stream ended. If it is neither complete nor failed, the bytes ended before the answer did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamEnding {
    /// The provider said that this is all.
    pub complete: bool,
    /// The provider failed.
    pub failed: bool,
    /// What was left out, every sentence once.
    pub skipped: Vec<StreamLoss>,
    /// The ids of calls that the format does not take, and what stands for them.
    pub renamed: Vec<IdentifierReplacement>,
}

impl StreamConverter {
    /// Converts from one format into another. The two may be the same.
    pub fn new(from: Format, to: Format, options: StreamOptions) -> StreamConverter {
        StreamConverter {
            framer: StreamFramer::new(from, options.limits.frame),
            reader: StreamReader::new(from),
            output: ConverterOutput::new(Some(from), to, options),
            error: None,
        }
    }

    /// The same, and keeps what the client is told for [`Converter::collection`]: with its ids and
    /// names, as the client will repeat them. As much of it as the limits say.
    pub fn with_collection(from: Format, to: Format, options: StreamOptions) -> StreamConverter {
        let collected = StreamCollector::within(Some(to), options.limits.held);
        let mut converter = StreamConverter::new(from, to, options);
        converter.output.collected = Some(collected);
        converter
    }

    /// Takes more bytes and adds what comes of them.
    ///
    /// # Errors
    /// If the bytes are no stream of the format, or more would have to be kept than is allowed. The
    /// client was told then that the answer failed, and there is nothing more to convert.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), StreamError> {
        self.push_observed(bytes, out, &mut |_| {})
    }

    /// The same, and tells what happens, in the order in which the client is told.
    ///
    /// # Errors
    /// As [`Converter::push`].
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

    /// The bytes have ended: adds what is left to say.
    ///
    /// # Errors
    /// As [`Converter::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<StreamEnding, StreamError> {
        self.finish_observed(out, &mut |_| {})
    }

    /// The same, and tells what happens.
    ///
    /// # Errors
    /// As [`Converter::push`].
    pub fn finish_observed(
        &mut self,
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(&StreamEvent<'_>),
    ) -> Result<StreamEnding, StreamError> {
        let way = &mut OutputTargets { out, observer: each };
        self.read(way, |framer, each| framer.finish(each))?;
        self.reader.finish(&mut SequencerSink { output: &mut self.output, targets: way });
        self.output.accept_event(StreamEvent::Truncated, way);
        Ok(self.output.ending())
    }

    /// What the client was told, if that was kept; nobody gets it twice.
    pub fn take_collection(&mut self) -> Option<CollectedReply> {
        self.output.collected.take().map(StreamCollector::finish)
    }

    fn read(
        &mut self,
        way: &mut OutputTargets<'_, '_>,
        bytes: impl FnOnce(
            &mut StreamFramer,
            &mut dyn FnMut(StreamFrame<'_>) -> Result<(), StreamError>,
        ) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let StreamConverter { framer, reader, output: desk, error } = self;
        let read = bytes(framer, &mut |frame| {
            let at = frame.at;
            reader.read_frame(frame, &mut SequencerSink { output: desk, targets: way })?;
            desk.end_frame(at, way.out)
        });
        read.inspect_err(|trouble| {
            *error = Some(trouble.clone());
            let message = trouble.to_string().into();
            let failure = ProviderError { kind: ProviderErrorKind::Server, message, code: None };
            desk.accept_event(StreamEvent::Failed(failure), way);
        })
    }
}

/// Reads a whole stream that was recorded: what it would be in one piece.
///
/// # Errors
/// If the bytes are no stream of the format.
pub fn collect(wire: Format, bytes: &[u8]) -> Result<CollectedReply, StreamError> {
    let mut framer = StreamFramer::new(wire, usize::MAX);
    let mut reader = StreamReader::new(wire);
    let mut pile = CollectorSink {
        order: EventSequencer::keeping_ids(),
        collected: StreamCollector::new(Some(wire)),
    };
    framer.push(bytes, &mut |frame| reader.read_frame(frame, &mut pile))?;
    framer.finish(&mut |frame| reader.read_frame(frame, &mut pile))?;
    reader.finish(&mut pile);
    Ok(pile.collected.finish())
}

/// Writes a whole answer as a stream.
pub fn write_stream(
    outcome: &ModelResponse<'_>,
    to: Format,
    options: StreamOptions,
) -> (Vec<u8>, StreamEnding) {
    let from = match outcome {
        ModelResponse::Reply(reply) => reply.wire,
        ModelResponse::Error(_) => None,
    };
    let mut desk = ConverterOutput::new(from, to, options);
    let mut out = Vec::new();
    let way = &mut OutputTargets { out: &mut out, observer: &mut |_| {} };
    emit_outcome(outcome, &mut SequencerSink { output: &mut desk, targets: way });
    (out, desk.ending())
}

/// Where events are put in order and written.
struct ConverterOutput {
    order: EventSequencer,
    writer: StreamWriter,
    notes: LossNotes,
    /// What the client was told, if anybody wants to know.
    collected: Option<StreamCollector>,
    limits: StreamLimits,
    complete: bool,
    failed: bool,
}

/// Where it goes: the bytes for the client, and whoever looks on.
struct OutputTargets<'w, 'e> {
    out: &'w mut Vec<u8>,
    observer: &'w mut (dyn FnMut(&StreamEvent<'_>) + 'e),
}

impl ConverterOutput {
    fn new(from: Option<Format>, to: Format, options: StreamOptions) -> ConverterOutput {
        let StreamOptions { seed, usage, limits, head, model, renamed_tools: names } = options;
        let order = EventSequencer::new(to, &seed, head).with_names(names);
        ConverterOutput {
            order: match model {
                Some(model) => order.with_model(model),
                None => order,
            },
            writer: StreamWriter::new(to, StreamWriterOptions { from, seed, usage }),
            notes: LossNotes::default(),
            collected: None,
            limits,
            complete: false,
            failed: false,
        }
    }

    /// Takes what the reader says.
    fn accept_event(&mut self, event: StreamEvent<'_>, way: &mut OutputTargets<'_, '_>) {
        if self.order.is_over() {
            if matches!(
                event,
                StreamEvent::Open { .. } | StreamEvent::Delta { .. } | StreamEvent::Failed(_)
            ) {
                self.notes.add(LossKind::Unknown, "what follows the end of the answer is left out");
            }
            return;
        }
        match event {
            StreamEvent::End => self.complete = !self.order.is_incomplete(),
            StreamEvent::Failed(_) => self.failed = true,
            _ => {}
        }
        let ConverterOutput { writer, notes, collected, .. } = self;
        let mut written = WriterSink { writer, notes, collected, targets: way };
        self.order.accept(event, &mut written);
    }

    /// A frame is read. It began at that byte.
    fn end_frame(&mut self, at: u64, out: &mut Vec<u8>) -> Result<(), StreamError> {
        self.writer.end_frame(out);
        let most = self.limits.held;
        if !self.order.is_over() && self.order.held_bytes() + self.writer.held_bytes() > most {
            return Err(StreamError::TooLarge { at, most });
        }
        Ok(())
    }

    fn ending(&self) -> StreamEnding {
        StreamEnding {
            complete: self.complete,
            failed: self.failed,
            skipped: self.notes.list(),
            renamed: self.order.renamed().to_vec(),
        }
    }
}

/// What a reader speaks to: on to the desk.
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

/// What is in order, on to the writer and to whoever looks on.
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

/// What a reader says, in order and on one pile.
struct CollectorSink {
    order: EventSequencer,
    collected: StreamCollector,
}

impl EventSink for CollectorSink {
    fn event(&mut self, event: StreamEvent<'_>) {
        self.order.accept(event, &mut self.collected);
    }

    fn skip(&mut self, note: StreamLoss) {
        self.collected.skip(note);
    }
}

#[cfg(test)]
mod tests;
