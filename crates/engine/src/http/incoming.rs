//! The body of a reply, as it comes.

mod scripted;
mod told;

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::http::{
    HttpError, Kind, Reached, Stage,
    connection::{Connection, Sending},
    decode::{Decoder, Fault},
    head::After,
    pool::Shelf,
};

use scripted::Scripted;
use told::Told;
pub(crate) use told::{PING, Piece};

/// Pieces up to this size are copied when a body is read whole, so that they do not keep a larger
/// block of memory.
const COPIED: usize = 16 << 10;

/// The body of a reply. Dropping it before its end closes the connection; at its end the
/// connection goes back to rest.
pub struct Incoming(Source);

#[expect(clippy::large_enum_variant, reason = "nearly every body comes from the network")]
enum Source {
    Network(Flow),
    Scripted(Box<Scripted>),
    Told(Box<Told>),
    Ended,
}

impl Incoming {
    /// A reply of the built-in model: its pieces, each after its time.
    pub fn scripted(play: foxwedge_scripted::Play) -> Incoming {
        Incoming(Source::Scripted(Box::new(Scripted::new(play))))
    }

    /// A reply that somebody here tells.
    pub(crate) fn told(first: Piece, rest: tokio::sync::mpsc::Receiver<Piece>) -> Incoming {
        Incoming(Source::Told(Box::new(Told::new(first, rest))))
    }

    /// A reply that is there already.
    pub(crate) fn ready(bytes: Bytes) -> Incoming {
        let (_, nothing) = tokio::sync::mpsc::channel(1);
        Incoming::told(Piece::Last(bytes), nothing)
    }

    /// The same, but broken off when nothing comes for so long.
    #[must_use]
    pub fn with_idle(mut self, idle: Duration) -> Incoming {
        match &mut self.0 {
            Source::Network(flow) => flow.idle = idle,
            Source::Scripted(scripted) => scripted.idle = idle,
            // Whoever tells it looks at the time.
            Source::Told(_) | Source::Ended => {}
        }
        self
    }

    pub(super) fn network(flow: Flow) -> Incoming {
        // A body without a byte needs nothing more from its connection.
        if flow.decoder == Decoder::Ended {
            flow.rest();
            return Incoming(Source::Ended);
        }
        Incoming(Source::Network(flow))
    }

    /// The next bytes, never empty; `None` at the end, and after an error.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, HttpError>>> {
        let next = match &mut self.0 {
            Source::Network(flow) => flow.poll_next(context),
            Source::Scripted(scripted) => scripted.poll_next(context),
            Source::Told(told) => told.poll_next(context),
            Source::Ended => return Poll::Ready(None),
        };
        let over = match (&next, &self.0) {
            (Poll::Pending, _) => false,
            (Poll::Ready(None | Some(Err(_))), _) => true,
            // With the last bytes the connection is free; nobody needs to ask again for that.
            (Poll::Ready(Some(Ok(_))), Source::Network(flow)) => flow.decoder == Decoder::Ended,
            (Poll::Ready(Some(Ok(_))), Source::Scripted(_) | Source::Told(_) | Source::Ended) => {
                false
            }
        };
        if over && let Source::Network(flow) = std::mem::replace(&mut self.0, Source::Ended) {
            flow.rest();
        }
        next
    }

    /// The next bytes, never empty; `None` at the end, and after an error.
    pub async fn next(&mut self) -> Option<Result<Bytes, HttpError>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// How many bytes are still to come, if the head said so.
    pub fn length(&self) -> Option<u64> {
        match &self.0 {
            Source::Network(Flow { decoder: Decoder::Length(length), .. }) => Some(*length),
            Source::Network(_) | Source::Scripted(_) | Source::Told(_) => None,
            Source::Ended => Some(0),
        }
    }

    /// All of it.
    ///
    /// # Errors
    /// If it breaks off, or is longer than `most` bytes.
    pub async fn whole(mut self, most: usize) -> Result<Bytes, HttpError> {
        let too_large = || HttpError::after(Stage::Body, Kind::TooLarge, "it is too long");
        let length = self.length().unwrap_or(0);
        if length > most as u64 {
            return Err(too_large());
        }
        let Some(first) = self.next().await.transpose()? else { return Ok(Bytes::new()) };
        if first.len() > most {
            return Err(too_large());
        }
        let mut all = match self.next().await.transpose()? {
            None if first.len() > COPIED => return Ok(first),
            None => return Ok(Bytes::copy_from_slice(&first)),
            Some(second) => {
                // What a head promises is believed up to a point.
                let expected = usize::try_from(length).unwrap_or(0).min(1 << 20);
                let mut all = BytesMut::with_capacity(expected.max(first.len() + second.len()));
                all.extend_from_slice(&first);
                all.extend_from_slice(&second);
                all
            }
        };
        drop(first);
        while all.len() <= most {
            match self.next().await.transpose()? {
                Some(more) => all.extend_from_slice(&more),
                None => return Ok(all.freeze()),
            }
        }
        Err(too_large())
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Source::Network(_) => "Incoming::Network",
            Source::Scripted(_) => "Incoming::Scripted",
            Source::Told(_) => "Incoming::Told",
            Source::Ended => "Incoming::Ended",
        })
    }
}

/// A body that comes over a connection.
pub(super) struct Flow {
    connection: Connection,
    decoder: Decoder,
    after: After,
    home: Arc<Shelf>,
    /// What of the request is still to be sent.
    unsent: Option<Sending>,
    idle: Duration,
    /// When the last bytes came.
    heard: Instant,
    /// Set once nothing is there to read; it is not moved with every read.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Flow {
    pub(super) fn new(
        connection: Connection,
        decoder: Decoder,
        after: After,
        home: Arc<Shelf>,
        unsent: Option<Sending>,
        idle: Duration,
    ) -> Flow {
        let heard = Instant::now();
        Flow { connection, decoder, after, home, unsent, idle, heard, timer: None }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        self.send_on(context);
        loop {
            match self.decoded() {
                Ok(None) if self.decoder == Decoder::Ended => return Poll::Ready(None),
                Ok(None) => {}
                Ok(Some(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                Err(fault) => return Poll::Ready(Some(Err(broken(fault)))),
            }
            match self.connection.poll_fill(context) {
                Poll::Ready(Ok(0)) => {
                    let end = self.decoder.close().map_err(broken).err();
                    return Poll::Ready(end.map(Err));
                }
                Poll::Ready(Ok(_)) => self.heard = Instant::now(),
                Poll::Ready(Err(error)) => {
                    let error = HttpError::system(Stage::Body, Reached::Maybe, error);
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Pending if self.is_late(context) => return Poll::Ready(Some(Err(late()))),
                Poll::Pending => {
                    self.connection.shrink();
                    return Poll::Pending;
                }
            }
        }
    }

    /// What is in the buffer, without its framing.
    fn decoded(&mut self) -> Result<Option<Bytes>, Fault> {
        let buffer = &mut self.connection.buffer;
        if buffer.is_empty() {
            return Ok(None);
        }
        let found = self.decoder.decode(buffer)?;
        buffer.advance(found.start);
        let bytes =
            (found.start < found.end).then(|| buffer.split_to(found.end - found.start).freeze());
        buffer.advance(found.used - found.end);
        Ok(bytes)
    }

    /// Goes on sending the request, if the reply began before it was sent.
    fn send_on(&mut self, context: &mut Context<'_>) {
        let Some(sending) = &mut self.unsent else { return };
        match self.connection.poll_send(context, sending) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.unsent = None,
            // The reply tells why, and ends the connection.
            Poll::Ready(Err(_)) => (self.unsent, self.after) = (None, After::Close),
        }
    }

    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        // Some settings mean forever.
        let Some(deadline) = self.heard.checked_add(self.idle) else { return false };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        loop {
            if timer.as_mut().poll(context).is_pending() {
                return false;
            }
            if timer.deadline() >= deadline {
                return true;
            }
            timer.as_mut().reset(deadline);
        }
    }

    /// Lets the connection rest, if it can carry another request; else closes it.
    fn rest(mut self) {
        let whole = self.decoder == Decoder::Ended && self.unsent.is_none();
        if whole && self.after == After::Rest && self.connection.buffer.is_empty() {
            self.connection.renew();
            self.home.put(self.connection);
        }
    }
}

fn broken(fault: Fault) -> HttpError {
    HttpError::after(Stage::Body, fault.kind, fault.detail)
}

fn late() -> HttpError {
    HttpError::after(Stage::Body, Kind::Late, "nothing more came in time")
}
