//! Server-sent events of an HTTP response, in the types of rmcp. The length of an event is limited,
//! so a server that never ends one cannot fill our memory.

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

/// Reads the events of a body. An event longer than `max_length` ends the stream with an error.
pub(super) fn read_events(body: IncomingBody, max_length: usize) -> SseEvents {
    let chunks = LimitedBody {
        body,
        event_length: EventLength::new(max_length),
        state: LimitedBodyState::Open,
    };
    Box::pin(SseStream::from_bytes_stream(chunks))
}

/// The chunks of a body, up to the first event that is too long.
struct LimitedBody {
    body: IncomingBody,
    event_length: EventLength,
    state: LimitedBodyState,
}

/// Whether more chunks may follow.
#[derive(Clone, Copy)]
enum LimitedBodyState {
    Open,
    /// The events before one that is too long were returned; the error was not yet.
    TooLong,
    Finished,
}

/// Why an event stream ended early.
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
            // Complete events before it are returned first.
            Err(complete) if complete > 0 => {
                self.state = LimitedBodyState::TooLong;
                bytes.truncate(complete);
                Poll::Ready(Some(Ok(bytes)))
            }
            Err(_) => {
                self.state = LimitedBodyState::Finished;
                Poll::Ready(Some(Err(EventStreamError::TooLong)))
            }
        }
    }
}

/// Counts the bytes of the open event. Comment lines do not count.
#[derive(Debug)]
struct EventLength {
    event: usize,
    line: usize,
    comment: bool,
    after_return: bool,
    max_length: usize,
}

impl EventLength {
    fn new(max_length: usize) -> EventLength {
        EventLength { event: 0, line: 0, comment: false, after_return: false, max_length }
    }

    /// Counts more bytes. If an event is too long, returns how many of these bytes precede it.
    fn count_bytes(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut complete = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let after_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    match (self.line, self.comment) {
                        (0, _) => (self.event, complete) = (0, at + 1),
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
                return Err(complete);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_over_the_limit_are_rejected() {
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
        for (chunks, expected) in table {
            let mut length = EventLength::new(12);
            let fits = chunks.iter().all(|chunk| length.count_bytes(chunk.as_bytes()).is_ok());
            assert_eq!(fits, expected, "{chunks:?}");
        }
    }

    #[test]
    fn bytes_before_a_too_long_event_are_counted() {
        let table = [
            ("data: 123456789", 0),
            ("data: 1\n\ndata: 123456789", 9),
            ("data: 1\r\n\r\ndata: 2\r\n\r\ndata: 123456789", 21),
            ("data: 1\n\n: ping\n\ndata: 123456789", 17),
        ];
        for (text, complete) in table {
            assert_eq!(
                EventLength::new(12).count_bytes(text.as_bytes()),
                Err(complete),
                "{text:?}"
            );
        }
    }

    #[tokio::test]
    async fn events_before_a_too_long_one_are_returned_in_order() {
        use foxwedge_scripted::{ResponseEnding, ScriptedChunk, ScriptedResponse};
        for count in [0, 1, 2, 63, 64, 65, 200] {
            let events: String = (0..count).map(|at| format!("data: {at}\n\n")).collect();
            let bytes = format!("{events}data: {}\n\n", "x".repeat(100)).into_bytes();
            let chunks = vec![ScriptedChunk { delay: std::time::Duration::ZERO, bytes }];
            let script = ScriptedResponse {
                status: 200,
                headers: Vec::new(),
                chunks,
                end: ResponseEnding::Complete,
            };
            let mut events = super::read_events(IncomingBody::from_script(script), 50);
            let (mut received, mut errors) = (Vec::new(), 0);
            while let Some(event) =
                std::future::poll_fn(|context| events.as_mut().poll_next(context)).await
            {
                match event {
                    Ok(event) => received.extend(event.data),
                    Err(_) => errors += 1,
                }
            }
            let expected: Vec<String> = (0..count).map(|at| at.to_string()).collect();
            assert_eq!((received, errors), (expected, 1), "{count} events");
        }
    }
}
