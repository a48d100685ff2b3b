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

    /// Takes more bytes and adds what comes of them.
    ///
    /// # Errors
    /// If the bytes are no stream of the format, or more would have to be kept than is allowed. The
    /// client was told then that the answer failed, and there is nothing more to convert.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), StreamError> {
        self.read(out, |framer, each| framer.push(bytes, each))
    }

    /// The bytes have ended: adds what is left to say.
    ///
    /// # Errors
    /// As [`Converter::push`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<Finished, StreamError> {
        self.read(out, |framer, each| framer.finish(each))?;
        self.reader.finish(&mut Ordered { desk: &mut self.desk, out });
        self.desk.take(Event::Cut, out);
        Ok(self.desk.finished())
    }

    fn read(
        &mut self,
        out: &mut Vec<u8>,
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
            reader.frame(frame, &mut Ordered { desk, out })?;
            desk.settle(at, out)
        });
        read.inspect_err(|trouble| {
            *error = Some(trouble.clone());
            let message = trouble.to_string().into();
            let failure = Failure { kind: Trouble::Server, message, code: None };
            desk.take(Event::Failed(failure), out);
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
    tell(outcome, &mut Ordered { desk: &mut desk, out: &mut out });
    (out, desk.finished())
}

/// Where events are put in order and written.
struct Desk {
    order: Order,
    writer: Writer,
    notes: Notes,
    limits: Limits,
    complete: bool,
    failed: bool,
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
            limits,
            complete: false,
            failed: false,
        }
    }

    /// Takes what the reader says.
    fn take(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
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
        let mut written = Written { writer: &mut self.writer, notes: &mut self.notes, out };
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
struct Ordered<'d> {
    desk: &'d mut Desk,
    out: &'d mut Vec<u8>,
}

impl Sink for Ordered<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.desk.take(event, self.out);
    }

    fn skip(&mut self, note: Skipped) {
        self.desk.notes.add(note.what, &note.note);
    }
}

/// What is in order, on to the writer.
struct Written<'w> {
    writer: &'w mut Writer,
    notes: &'w mut Notes,
    out: &'w mut Vec<u8>,
}

impl Sink for Written<'_> {
    fn event(&mut self, event: Event<'_>) {
        self.writer.event(&event, self.out, self.notes);
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
