//! The events of a reply over HTTP, as rmcp wants them. An event has an end: whoever never ends one
//! cannot fill our memory.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use sse_stream::{Error as SseError, Sse, SseStream};

use foxwedge_upstream::http::{HttpError, IncomingBody};

/// A stream of events.
pub(super) type SseEvents = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;

/// The events of a body. None may be longer than that.
pub(super) fn read_events(body: IncomingBody, most: usize) -> SseEvents {
    let pieces =
        LimitedBody { body, event_length: EventLength::new(most), state: LimitedBodyState::Open };
    Box::pin(SseStream::from_bytes_stream(pieces))
}

/// The pieces of a body, for as long as no event in them is too long.
struct LimitedBody {
    body: IncomingBody,
    event_length: EventLength,
    state: LimitedBodyState,
}

/// Whether pieces may follow.
#[derive(Clone, Copy)]
enum LimitedBodyState {
    Open,
    /// What came before an event that is too long was told, and this is not yet.
    TooLong,
    Finished,
}

/// A stream of events broke off.
#[derive(Debug, thiserror::Error)]
enum EventStreamError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("an event is too long")]
    TooLong,
}

impl Stream for LimitedBody {
    type Item = Result<Bytes, EventStreamError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.state {
            LimitedBodyState::Open => {}
            LimitedBodyState::TooLong => {
                self.state = LimitedBodyState::Finished;
                return Poll::Ready(Some(Err(EventStreamError::TooLong)));
            }
            LimitedBodyState::Finished => return Poll::Ready(None),
        }
        let mut bytes = match ready!(self.body.poll_next(context)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => {
                self.state = LimitedBodyState::Finished;
                return Poll::Ready(Some(Err(error.into())));
            }
            Some(Ok(bytes)) => bytes,
        };
        match self.event_length.count_bytes(&bytes) {
            Ok(()) => Poll::Ready(Some(Ok(bytes))),
            // Events that ended before it are told first.
            Err(whole) if whole > 0 => {
                self.state = LimitedBodyState::TooLong;
                bytes.truncate(whole);
                Poll::Ready(Some(Ok(bytes)))
            }
            Err(_) => {
                self.state = LimitedBodyState::Finished;
                Poll::Ready(Some(Err(EventStreamError::TooLong)))
            }
        }
    }
}

/// How long the event is that has not ended yet. Comments do not count: they are no part of it.
#[derive(Debug)]
struct EventLength {
    event: usize,
    line: usize,
    comment: bool,
    after_return: bool,
    max_length: usize,
}

impl EventLength {
    fn new(most: usize) -> EventLength {
        EventLength { event: 0, line: 0, comment: false, after_return: false, max_length: most }
    }

    /// Counts on. If an event is too long: how many of these bytes stand before it.
    fn count_bytes(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut whole = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let returned = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if returned => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    match (self.line, self.comment) {
                        (0, _) => (self.event, whole) = (0, at + 1),
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
            if self.event + self.line > self.max_length {
                return Err(whole);
            }
        }
        Ok(())
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
            let mut count = EventLength::new(12);
            let fits = pieces.iter().all(|piece| count.count_bytes(piece.as_bytes()).is_ok());
            assert_eq!(fits, expected, "{pieces:?}");
        }
    }

    #[test]
    fn what_stands_before_an_event_that_is_too_long_is_known() {
        let table = [
            ("data: 123456789", 0),
            ("data: 1\n\ndata: 123456789", 9),
            ("data: 1\r\n\r\ndata: 2\r\n\r\ndata: 123456789", 21),
            ("data: 1\n\n: ping\n\ndata: 123456789", 17),
        ];
        for (text, whole) in table {
            assert_eq!(EventLength::new(12).count_bytes(text.as_bytes()), Err(whole), "{text:?}");
        }
    }

    #[tokio::test]
    async fn events_before_one_that_is_too_long_are_told_in_order() {
        use foxwedge_scripted::{ResponseEnding, ScriptedChunk, ScriptedResponse};
        for number in [0, 1, 2, 63, 64, 65, 200] {
            let events: String = (0..number).map(|at| format!("data: {at}\n\n")).collect();
            let bytes = format!("{events}data: {}\n\n", "x".repeat(100)).into_bytes();
            let pieces = vec![ScriptedChunk { delay: std::time::Duration::ZERO, bytes }];
            let play = ScriptedResponse {
                status: 200,
                headers: Vec::new(),
                chunks: pieces,
                end: ResponseEnding::Complete,
            };
            let mut events = super::read_events(IncomingBody::from_script(play), 50);
            let (mut told, mut failed) = (Vec::new(), 0);
            while let Some(event) =
                std::future::poll_fn(|context| events.as_mut().poll_next(context)).await
            {
                match event {
                    Ok(event) => told.extend(event.data),
                    Err(_) => failed += 1,
                }
            }
            let expected: Vec<String> = (0..number).map(|at| at.to_string()).collect();
            assert_eq!((told, failed), (expected, 1), "{number} events");
        }
    }
}
