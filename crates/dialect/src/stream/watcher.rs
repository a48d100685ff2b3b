//! Reads a stream as it passes by, and changes nothing.

use foxwedge_core::Format;

use super::{
    StreamError, StreamFrame, StreamLimits,
    collect::{CollectedReply, StreamCollector},
    event::{EventSink, StreamEvent, StreamLoss},
    frame::StreamFramer,
    read::StreamReader,
    sequencer::EventSequencer,
};
use crate::model::ModelPart;

/// Watches one stream that somebody else passes on. Nothing that is wrong with the stream is the
/// caller's trouble: it is remembered, and what comes behind it is not read. What is seen never
/// depends on how the bytes were cut into chunks.
pub struct StreamWatcher {
    framer: StreamFramer,
    reader: StreamReader,
    order: EventSequencer,
    collected: StreamCollector,
    limits: StreamLimits,
    error: Option<StreamError>,
}

/// What was seen of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamObservation {
    /// What was said, as far as it was read and kept.
    pub collection: CollectedReply,
    /// Why the stream could not be read to its end.
    pub error: Option<StreamError>,
}

impl StreamWatcher {
    /// Watches a stream of that format. A frame may be as large as the limits say. Of what is said
    /// so many bytes are kept as they say, too: what is beyond is told, but not collected.
    pub fn new(wire: Format, limits: StreamLimits) -> StreamWatcher {
        StreamWatcher {
            framer: StreamFramer::new(wire, limits.frame),
            reader: StreamReader::new(wire),
            order: EventSequencer::keeping_ids(),
            collected: StreamCollector::within(Some(wire), limits.held),
            limits,
            error: None,
        }
    }

    /// Takes more bytes, and tells what happens in them.
    pub fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(&StreamEvent<'_>)) {
        self.read(each, |framer, each| framer.push(bytes, each));
    }

    /// The bytes have ended: tells what is left to tell, and what was said in all.
    pub fn finish(mut self, each: &mut dyn FnMut(&StreamEvent<'_>)) -> StreamObservation {
        self.read(each, |framer, each| framer.finish(each));
        let StreamWatcher { mut reader, mut order, mut collected, error: trouble, .. } = self;
        let mut seen =
            WatcherSequencerSink { order: &mut order, collected: &mut collected, observer: each };
        if trouble.is_none() {
            reader.finish(&mut seen);
        }
        // Nothing, if the answer is over.
        seen.event(StreamEvent::Truncated);
        StreamObservation { collection: collected.finish(), error: trouble }
    }

    /// What was said so far, in parts that are whole.
    pub fn parts(&self) -> &[ModelPart<'static>] {
        self.collected.parts()
    }

    /// Why the stream cannot be read on.
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
        let StreamWatcher { framer, reader, order, collected, limits, error: trouble } = self;
        let read = bytes(framer, &mut |frame| {
            let at = frame.at;
            reader.read_frame(
                frame,
                &mut WatcherSequencerSink { order, collected, observer: each },
            )?;
            match order.held_bytes() > limits.held {
                true => Err(StreamError::TooLarge { at, most: limits.held }),
                false => Ok(()),
            }
        });
        *trouble = read.err();
        if trouble.is_some() {
            // Nobody asks for what waits behind it.
            (*framer, *reader) =
                (StreamFramer::new(framer.wire(), 0), StreamReader::new(framer.wire()));
        }
    }
}

/// What a reader says: in order, to the caller and to the pile.
struct WatcherSequencerSink<'s, 'e> {
    order: &'s mut EventSequencer,
    collected: &'s mut StreamCollector,
    observer: &'s mut (dyn FnMut(&StreamEvent<'_>) + 'e),
}

impl EventSink for WatcherSequencerSink<'_, '_> {
    fn event(&mut self, event: StreamEvent<'_>) {
        let mut told = WatcherOutputSink { collected: self.collected, observer: self.observer };
        self.order.accept(event, &mut told);
    }

    fn skip(&mut self, note: StreamLoss) {
        self.collected.skip(note);
    }
}

/// What is in order, to the caller and to the pile.
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
