//! The events of a reply over HTTP, as rmcp wants them. An event has an end: whoever never ends one
//! cannot fill our memory.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use sse_stream::{Error as SseError, Sse, SseStream};

use crate::http::{HttpError, Incoming};

/// A stream of events.
pub(super) type Events = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

/// The events of a body. None may be longer than that.
pub(super) fn events(body: Incoming, most: usize) -> Events {
    let pieces = Pieces { body, count: Count::new(most), failed: false };
    Box::pin(SseStream::from_bytes_stream(pieces))
}

/// The pieces of a body, for as long as no event in them is too long.
struct Pieces {
    body: Incoming,
    count: Count,
    failed: bool,
}

/// A stream of events broke off.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("an event is too long")]
    TooLong,
}

impl Stream for Pieces {
    type Item = Result<Bytes, Broken>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.failed {
            return Poll::Ready(None);
        }
        let piece = match ready!(self.body.poll_next(context)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => Err(error.into()),
            Some(Ok(bytes)) if self.count.fits(&bytes) => Ok(bytes),
            Some(Ok(_)) => Err(Broken::TooLong),
        };
        self.failed = piece.is_err();
        Poll::Ready(Some(piece))
    }
}

/// How long the event is that has not ended yet. Comments do not count: they are no part of it.
#[derive(Debug)]
struct Count {
    event: usize,
    line: usize,
    comment: bool,
    returned: bool,
    most: usize,
}

impl Count {
    fn new(most: usize) -> Count {
        Count { event: 0, line: 0, comment: false, returned: false, most }
    }

    fn fits(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            let returned = std::mem::take(&mut self.returned);
            match byte {
                b'\n' if returned => {}
                b'\n' | b'\r' => {
                    self.returned = *byte == b'\r';
                    match (self.line, self.comment) {
                        (0, _) => self.event = 0,
                        (_, true) => {}
                        (line, false) => self.event += line,
                    }
                    (self.line, self.comment) = (0, false);
                }
                other => {
                    self.comment |= self.line == 0 && *other == b':';
                    self.line += 1;
                }
            }
            if self.event + self.line > self.most {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_never_ends_does_not_fit() {
        let table = [
            (&["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"][..], true),
            (&["data: 1\r\n\r\n", "data: 2\r\n\r", "\ndata: 3"], true),
            (&["data: 1\r\r", "data: 2\r\r"], true),
            (&[": ping\n", ": ping\n", ": ping\n"], true),
            (&["data: 123456789"], false),
            (&["data: 1\n", "data: 2\n"], false),
            (&["data: 1\n", ": ping\n", "data: 2\n"], false),
            (&[":", "123456789012"], false),
        ];
        for (pieces, expected) in table {
            let mut count = Count::new(12);
            let fits = pieces.iter().all(|piece| count.fits(piece.as_bytes()));
            assert_eq!(fits, expected, "{pieces:?}");
        }
    }
}
