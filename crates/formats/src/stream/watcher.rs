//! Observes a stream without changing it.

use foxwedge_core::Format;

use super::{
    StreamLimits,
    collect::{CollectedReply, StreamCollector},
    read::StreamReader,
    reply_events::emit_outcome,
    sequencer::EventSequencer,
};
use crate::{
    conversation::{ModelPart, ModelResponse},
    event::{EventSink, StreamEvent, StreamLoss},
    frame::{StreamError, StreamFrame, StreamFramer},
};

/// Observes one stream that the caller forwards. A malformed stream is not an error for the caller:
/// the watcher keeps the error and stops reading. The result does not depend on how the bytes are
/// cut into chunks.
pub struct StreamWatcher {
    framer: StreamFramer,
    reader: StreamReader,
    sequencer: EventSequencer,
    collected: StreamCollector,
    limits: StreamLimits,
    error: Option<StreamError>,
}

/// The observed content of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamObservation {
    /// The reply, as far as it was read and kept.
    pub collection: CollectedReply,
    /// Why the stream could not be read to its end.
    pub error: Option<StreamError>,
}

impl StreamWatcher {
    /// Observes a stream of that format. The limits bound the size of a frame and of the collected
    /// reply. Events beyond the second limit are passed on but not collected.
    pub fn new(format: Format, limits: StreamLimits) -> StreamWatcher {
        StreamWatcher {
            framer: StreamFramer::new(format, limits.frame),
            reader: StreamReader::new(format),
            sequencer: EventSequencer::keeping_ids(),
            collected: StreamCollector::within(Some(format), limits.held),
            limits,
            error: None,
        }
    }

    /// Reads more bytes and passes their events to `each`.
    pub fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(&StreamEvent<'_>)) {
        self.read(each, |framer, each| framer.push(bytes, each));
    }

    /// Ends the stream, passes the last events to `each` and returns the observation.
    pub fn finish(mut self, each: &mut dyn FnMut(&StreamEvent<'_>)) -> StreamObservation {
        self.read(each, |framer, each| framer.finish(each));
        let StreamWatcher { mut reader, mut sequencer, mut collected, error, .. } = self;
        let mut sink = WatcherSequencerSink {
            sequencer: &mut sequencer,
            collected: &mut collected,
            observer: each,
        };
        if error.is_none() {
            reader.finish(&mut sink);
        }
        // Ignored if the reply is over.
        sink.event(StreamEvent::Truncated);
        StreamObservation { collection: collected.finish(), error }
    }

    /// Reads a whole response as the events of a stream.
    pub fn push_outcome(
        &mut self,
        outcome: &ModelResponse<'_>,
        each: &mut dyn FnMut(&StreamEvent<'_>),
    ) {
        let StreamWatcher { sequencer, collected, .. } = self;
        emit_outcome(outcome, &mut WatcherSequencerSink { sequencer, collected, observer: each });
    }

    /// The complete parts so far.
    pub fn parts(&self) -> &[ModelPart<'static>] {
        self.collected.parts()
    }

    /// Why the stream cannot be read any further.
    pub fn error(&self) -> Option<&StreamError> {
        self.error.as_ref()
    }

    fn read(
        &mut self,
        each: &mut dyn FnMut(&StreamEvent<'_>),
        bytes: impl FnOnce(
            &mut StreamFramer,
            &mut dyn FnMut(StreamFrame<'_>) -> Result<(), StreamError>,
        ) -> Result<(), StreamError>,
    ) {
        if self.error.is_some() {
            return;
        }
        let StreamWatcher { framer, reader, sequencer, collected, limits, error } = self;
        let read = bytes(framer, &mut |frame| {
            let at = frame.at;
            reader.read_frame(
                frame,
                &mut WatcherSequencerSink { sequencer, collected, observer: each },
            )?;
            match sequencer.held_bytes() > limits.held {
                true => Err(StreamError::TooLarge { at, most: limits.held }),
                false => Ok(()),
            }
        });
        *error = read.err();
        if error.is_some() {
            // Free the buffers: nothing more is read.
            (*framer, *reader) =
                (StreamFramer::new(framer.format(), 0), StreamReader::new(framer.format()));
        }
    }
}

/// Collects a recorded stream into one reply.
///
/// # Errors
/// If the bytes are not a stream of the format.
pub fn collect(format: Format, bytes: &[u8]) -> Result<CollectedReply, StreamError> {
    let unlimited = StreamLimits { frame: usize::MAX, held: usize::MAX };
    let mut watcher = StreamWatcher::new(format, unlimited);
    watcher.push(bytes, &mut |_| {});
    let observation = watcher.finish(&mut |_| {});
    observation.error.map_or(Ok(observation.collection), Err)
}

/// Sequences the events of a reader for the observer and the collector.
struct WatcherSequencerSink<'s, 'e> {
    sequencer: &'s mut EventSequencer,
    collected: &'s mut StreamCollector,
    observer: &'s mut (dyn FnMut(&StreamEvent<'_>) + 'e),
}

impl EventSink for WatcherSequencerSink<'_, '_> {
    fn event(&mut self, event: StreamEvent<'_>) {
        let mut sink = WatcherOutputSink { collected: self.collected, observer: self.observer };
        self.sequencer.accept(event, &mut sink);
    }

    fn skip(&mut self, note: StreamLoss) {
        self.collected.skip(note);
    }
}

/// Passes sequenced events to the observer and the collector.
struct WatcherOutputSink<'s, 'e> {
    collected: &'s mut StreamCollector,
    observer: &'s mut (dyn FnMut(&StreamEvent<'_>) + 'e),
}

impl EventSink for WatcherOutputSink<'_, '_> {
    fn event(&mut self, event: StreamEvent<'_>) {
        (self.observer)(&event);
        self.collected.event(event);
    }

    fn skip(&mut self, note: StreamLoss) {
        self.collected.skip(note);
    }
}

#[cfg(test)]
mod tests;
