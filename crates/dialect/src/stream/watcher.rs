//! Reads a stream as it passes by, and changes nothing.

use foxwedge_core::Wire;

use super::{
    Frame, Limits, StreamError,
    collect::{Collected, Collection},
    event::{Event, Sink, Skipped},
    frame::Framer,
    order::Order,
    read::Reader,
};
use crate::canon::Part;

/// Watches one stream that somebody else passes on. Nothing that is wrong with the stream is the
/// caller's trouble: it is remembered, and what comes behind it is not read. What is seen never
/// depends on how the bytes were cut into chunks.
pub struct Watcher {
    framer: Framer,
    reader: Reader,
    order: Order,
    collected: Collected,
    limits: Limits,
    trouble: Option<StreamError>,
}

/// What was seen of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watched {
    /// What was said, as far as it was read and kept.
    pub collection: Collection,
    /// Why the stream could not be read to its end.
    pub trouble: Option<StreamError>,
}

impl Watcher {
    /// Watches a stream of that format. A frame may be as large as the limits say. Of what is said
    /// so many bytes are kept as they say, too: what is beyond is told, but not collected.
    pub fn new(wire: Wire, limits: Limits) -> Watcher {
        Watcher {
            framer: Framer::new(wire, limits.frame),
            reader: Reader::new(wire),
            order: Order::plain(),
            collected: Collected::within(Some(wire), limits.held),
            limits,
            trouble: None,
        }
    }

    /// Takes more bytes, and tells what happens in them.
    pub fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(&Event<'_>)) {
        self.read(each, |framer, each| framer.push(bytes, each));
    }

    /// The bytes have ended: tells what is left to tell, and what was said in all.
    pub fn finish(mut self, each: &mut dyn FnMut(&Event<'_>)) -> Watched {
        self.read(each, |framer, each| framer.finish(each));
        let Watcher { mut reader, mut order, mut collected, trouble, .. } = self;
        let mut seen = Seen { order: &mut order, collected: &mut collected, each };
        if trouble.is_none() {
            reader.finish(&mut seen);
        }
        // Nothing, if the answer is over.
        seen.event(Event::Cut);
        Watched { collection: collected.done(), trouble }
    }

    /// What was said so far, in parts that are whole.
    pub fn said(&self) -> &[Part<'static>] {
        self.collected.parts()
    }

    /// Why the stream cannot be read on.
    pub fn trouble(&self) -> Option<&StreamError> {
        self.trouble.as_ref()
    }

    fn read(
        &mut self,
        each: &mut dyn FnMut(&Event<'_>),
        bytes: impl FnOnce(
            &mut Framer,
            &mut dyn FnMut(Frame<'_>) -> Result<(), StreamError>,
        ) -> Result<(), StreamError>,
    ) {
        if self.trouble.is_some() {
            return;
        }
        let Watcher { framer, reader, order, collected, limits, trouble } = self;
        let read = bytes(framer, &mut |frame| {
            let at = frame.at;
            reader.frame(frame, &mut Seen { order, collected, each })?;
            match order.held() > limits.held {
                true => Err(StreamError::TooLarge { at, most: limits.held }),
                false => Ok(()),
            }
        });
        *trouble = read.err();
        if trouble.is_some() {
            // Nobody asks for what waits behind it.
            (*framer, *reader) = (Framer::new(framer.wire(), 0), Reader::new(framer.wire()));
        }
    }
}

/// What a reader says: in order, to the caller and to the pile.
struct Seen<'s, 'e> {
    order: &'s mut Order,
    collected: &'s mut Collected,
    each: &'s mut (dyn FnMut(&Event<'_>) + 'e),
}

impl Sink for Seen<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        let mut told = Told { collected: self.collected, each: self.each };
        self.order.event(event, &mut told);
    }

    fn skip(&mut self, note: Skipped) {
        self.collected.skip(note);
    }
}

/// What is in order, to the caller and to the pile.
struct Told<'s, 'e> {
    collected: &'s mut Collected,
    each: &'s mut (dyn FnMut(&Event<'_>) + 'e),
}

impl Sink for Told<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        (self.each)(&event);
        self.collected.event(event);
    }

    fn skip(&mut self, note: Skipped) {
        self.collected.skip(note);
    }
}

#[cfg(test)]
mod tests;
