//! A stream of one format into a stream of another, chunk by chunk.

use foxwedge_core::Wire;

use super::{
    Frame, Limits, StreamError,
    collect::{Collected, Collection},
    event::{Event, Head, Sink, Skipped},
    frame::Framer,
    order::Order,
    read::Reader,
    tell::tell,
    write::{Brief, Notes, Writer},
};
use crate::canon::{Failure, Lost, Outcome, Renamed, Trouble};

/// Converts one stream. What comes out never depends on how the bytes were cut into chunks.
pub struct Converter {
    framer: Framer,
    reader: Reader,
    desk: Desk,
    /// Why the stream cannot be read on.
    error: Option<StreamError>,
}

/// What to know before an answer begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Tells answers apart that have no ids: everything that has to be made up is computed from it.
    pub seed: String,
    /// Chat: the figures are told in a chunk of their own, before the end.
    pub usage: bool,
    /// What may be kept.
    pub limits: Limits,
    /// What is said of an answer where its provider does not say it. No clock is asked here, and
    /// some formats do not name the model.
    pub head: Head<'static>,
    /// The model that is named, whatever the provider says.
    pub model: Option<String>,
    /// Names of tools that were replaced in the request: calls get the old ones back.
    pub names: Vec<Renamed>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: String::new(),
            usage: true,
            limits: Limits::default(),
            head: Head::default(),
            model: None,
            names: Vec::new(),
        }
    }
}

/// How a stream ended. If it is neither complete nor failed, the bytes ended before the answer did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finished {
    /// The provider said that this is all.
    pub complete: bool,
    /// The provider failed.
    pub failed: bool,
    /// What was left out, every sentence once.
    pub skipped: Vec<Skipped>,
    /// The ids of calls that the format does not take, and what stands for them.
    pub renamed: Vec<Renamed>,
}

impl Converter {
    /// Converts from one format into another. The two may be the same.
    pub fn new(from: Wire, to: Wire, options: Options) -> Converter {
        Converter {
            framer: Framer::new(from, options.limits.frame),
            reader: Reader::new(from),
            desk: Desk::new(Some(from), to, options),
            error: None,
        }
    }

    /// The same, and keeps what the client is told for [`Converter::collection`]: with its ids and
    /// names, as the client will repeat them. As much of it as the limits say.
    pub fn watched(from: Wire, to: Wire, options: Options) -> Converter {
        let collected = Collected::within(Some(to), options.limits.held);
        let mut converter = Converter::new(from, to, options);
        converter.desk.collected = Some(collected);
        converter
    }

    /// Takes more bytes and adds what comes of them.
    ///
    /// # Errors
    /// If the bytes are no stream of the format, or more would have to be kept than is allowed. The
    /// client was told then that the answer failed, and there is nothing more to convert.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), StreamError> {
        self.push_seen(bytes, out, &mut |_| {})
    }

    /// The same, and tells what happens, in the order in which the client is told.
    ///
    /// # Errors
    /// As [`Converter::push`].
    pub fn push_seen(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(), StreamError> {
        self.read(&mut Way { out, each }, |framer, each| framer.push(bytes, each))
    }

    /// The bytes have ended: adds what is left to say.
    ///
    /// # Errors
    /// As [`Converter::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<Finished, StreamError> {
        self.finish_seen(out, &mut |_| {})
    }

    /// The same, and tells what happens.
    ///
    /// # Errors
    /// As [`Converter::push`].
    pub fn finish_seen(
        &mut self,
        out: &mut Vec<u8>,
        each: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Finished, StreamError> {
        let way = &mut Way { out, each };
        self.read(way, |framer, each| framer.finish(each))?;
        self.reader.finish(&mut Ordered { desk: &mut self.desk, way });
        self.desk.take(Event::Cut, way);
        Ok(self.desk.finished())
    }

    /// What the client was told, if that was kept; nobody gets it twice.
    pub fn collection(&mut self) -> Option<Collection> {
        self.desk.collected.take().map(Collected::done)
    }

    fn read(
        &mut self,
        way: &mut Way<'_, '_>,
        bytes: impl FnOnce(
            &mut Framer,
            &mut dyn FnMut(Frame<'_>) -> Result<(), StreamError>,
        ) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let Converter { framer, reader, desk, error } = self;
        let read = bytes(framer, &mut |frame| {
            let at = frame.at;
            reader.frame(frame, &mut Ordered { desk, way })?;
            desk.settle(at, way.out)
        });
        read.inspect_err(|trouble| {
            *error = Some(trouble.clone());
            let message = trouble.to_string().into();
            let failure = Failure { kind: Trouble::Server, message, code: None };
            desk.take(Event::Failed(failure), way);
        })
    }
}

/// Reads a whole stream that was recorded: what it would be in one piece.
///
/// # Errors
/// If the bytes are no stream of the format.
pub fn collect(wire: Wire, bytes: &[u8]) -> Result<Collection, StreamError> {
    let mut framer = Framer::new(wire, usize::MAX);
    let mut reader = Reader::new(wire);
    let mut pile = Pile { order: Order::plain(), collected: Collected::new(Some(wire)) };
    framer.push(bytes, &mut |frame| reader.frame(frame, &mut pile))?;
    framer.finish(&mut |frame| reader.frame(frame, &mut pile))?;
    reader.finish(&mut pile);
    Ok(pile.collected.done())
}

/// Writes a whole answer as a stream.
pub fn write_stream(outcome: &Outcome<'_>, to: Wire, options: Options) -> (Vec<u8>, Finished) {
    let from = match outcome {
        Outcome::Reply(reply) => reply.wire,
        Outcome::Failure(_) => None,
    };
    let mut desk = Desk::new(from, to, options);
    let mut out = Vec::new();
    let way = &mut Way { out: &mut out, each: &mut |_| {} };
    tell(outcome, &mut Ordered { desk: &mut desk, way });
    (out, desk.finished())
}

/// Where events are put in order and written.
struct Desk {
    order: Order,
    writer: Writer,
    notes: Notes,
    /// What the client was told, if anybody wants to know.
    collected: Option<Collected>,
    limits: Limits,
    complete: bool,
    failed: bool,
}

/// Where it goes: the bytes for the client, and whoever looks on.
struct Way<'w, 'e> {
    out: &'w mut Vec<u8>,
    each: &'w mut (dyn FnMut(&Event<'_>) + 'e),
}

impl Desk {
    fn new(from: Option<Wire>, to: Wire, options: Options) -> Desk {
        let Options { seed, usage, limits, head, model, names } = options;
        let order = Order::new(to, &seed, head).with_names(names);
        Desk {
            order: match model {
                Some(model) => order.named(model),
                None => order,
            },
            writer: Writer::new(to, Brief { from, seed, usage }),
            notes: Notes::default(),
            collected: None,
            limits,
            complete: false,
            failed: false,
        }
    }

    /// Takes what the reader says.
    fn take(&mut self, event: Event<'_>, way: &mut Way<'_, '_>) {
        if self.order.is_over() {
            if matches!(event, Event::Open { .. } | Event::More { .. } | Event::Failed(_)) {
                self.notes.add(Lost::Unknown, "what follows the end of the answer is left out");
            }
            return;
        }
        match event {
            Event::End => self.complete = !self.order.is_torn(),
            Event::Failed(_) => self.failed = true,
            _ => {}
        }
        let Desk { writer, notes, collected, .. } = self;
        let mut written = Written { writer, notes, collected, way };
        self.order.event(event, &mut written);
    }

    /// A frame is read. It began at that byte.
    fn settle(&mut self, at: u64, out: &mut Vec<u8>) -> Result<(), StreamError> {
        self.writer.settle(out);
        let most = self.limits.held;
        if !self.order.is_over() && self.order.held() + self.writer.held() > most {
            return Err(StreamError::TooLarge { at, most });
        }
        Ok(())
    }

    fn finished(&self) -> Finished {
        Finished {
            complete: self.complete,
            failed: self.failed,
            skipped: self.notes.list(),
            renamed: self.order.renamed().to_vec(),
        }
    }
}

/// What a reader speaks to: on to the desk.
struct Ordered<'d, 'w, 'e> {
    desk: &'d mut Desk,
    way: &'d mut Way<'w, 'e>,
}

impl Sink for Ordered<'_, '_, '_> {
    fn event(&mut self, event: Event<'_>) {
        self.desk.take(event, self.way);
    }

    fn skip(&mut self, note: Skipped) {
        self.desk.notes.add(note.what, &note.note);
    }
}

/// What is in order, on to the writer and to whoever looks on.
struct Written<'d, 'w, 'e> {
    writer: &'d mut Writer,
    notes: &'d mut Notes,
    collected: &'d mut Option<Collected>,
    way: &'d mut Way<'w, 'e>,
}

impl Sink for Written<'_, '_, '_> {
    fn event(&mut self, event: Event<'_>) {
        self.writer.event(&event, self.way.out, self.notes);
        (self.way.each)(&event);
        if let Some(collected) = self.collected {
            collected.event(event);
        }
    }

    fn skip(&mut self, note: Skipped) {
        self.notes.add(note.what, &note.note);
    }
}

/// What a reader says, in order and on one pile.
struct Pile {
    order: Order,
    collected: Collected,
}

impl Sink for Pile {
    fn event(&mut self, event: Event<'_>) {
        self.order.event(event, &mut self.collected);
    }

    fn skip(&mut self, note: Skipped) {
        self.collected.skip(note);
    }
}

#[cfg(test)]
mod tests;
