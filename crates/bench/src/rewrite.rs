//! A stream whose every event is parsed into a tree and written again: the least cost of a
//! relay that works on trees.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, Bytes, BytesMut};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use serde_json::Value;

/// JSON, parsed and written again; what is none stays as it is.
pub fn rewritten(json: &[u8]) -> Vec<u8> {
    let value = serde_json::from_slice::<Value>(json);
    value.and_then(|value| serde_json::to_vec(&value)).unwrap_or_else(|_| json.to_vec())
}

/// A stream, event by event.
pub struct RewrittenStream {
    from: Incoming,
    rest: BytesMut,
}

impl RewrittenStream {
    /// Of this one.
    pub fn new(from: Incoming) -> RewrittenStream {
        RewrittenStream { from, rest: BytesMut::new() }
    }

    /// Every event that is complete.
    fn events(&mut self) -> Vec<u8> {
        let mut written = Vec::with_capacity(self.rest.len() + 64);
        while let Some(end) = self.rest.windows(2).position(|two| two == b"\n\n") {
            let event = self.rest.get(..end).unwrap_or_default();
            for line in event.split(|byte| *byte == b'\n') {
                match line.strip_prefix(b"data: ") {
                    Some(json) => {
                        written.extend_from_slice(b"data: ");
                        written.extend_from_slice(&rewritten(json));
                    }
                    None => written.extend_from_slice(line),
                }
                written.push(b'\n');
            }
            written.push(b'\n');
            self.rest.advance(end + 2);
        }
        written
    }
}

impl Body for RewrittenStream {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        loop {
            match ready!(Pin::new(&mut self.from).poll_frame(context)) {
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    self.rest.extend_from_slice(&data);
                    let events = self.events();
                    if !events.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(events.into()))));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}
