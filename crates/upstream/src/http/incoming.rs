//! The body of a response, read incrementally.

mod scripted;

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
    HttpError, HttpErrorKind, HttpStage, RequestDelivery,
    connection::{UnsentRequest, UpstreamConnection},
    decode::{BodyDecoder, ResponseReadError},
    head::ConnectionReuse,
    pool::TargetConnections,
};

use scripted::ScriptedResponseBody;

/// Chunks up to this size are copied when a body is read whole, so that they do not retain a larger
/// block of memory.
const MAX_COPIED: usize = 16 << 10;

/// The body of a response. Dropping it before its end closes the connection; at its end the
/// connection returns to the pool.
pub struct IncomingBody(BodySource);

#[expect(clippy::large_enum_variant, reason = "nearly every body comes from the network")]
enum BodySource {
    Network(NetworkBody),
    Scripted(Box<ScriptedResponseBody>),
    Local(Box<dyn LocalBody>),
    Ended,
}

/// The body of a response that this process produces itself.
pub trait LocalBody: Send {
    /// The next bytes, never empty; `None` at the end, and after an error.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>>;
}

/// A body whose bytes are all there.
impl LocalBody for Option<Bytes> {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        Poll::Ready(self.take().filter(|bytes| !bytes.is_empty()).map(Ok))
    }
}

/// A body whose start was read already.
struct StartedBody {
    start: Option<Bytes>,
    /// The error after the start.
    end: Option<HttpError>,
    rest: IncomingBody,
}

impl LocalBody for StartedBody {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        if let Some(start) = self.start.take().filter(|start| !start.is_empty()) {
            return Poll::Ready(Some(Ok(start)));
        }
        match self.end.take() {
            Some(error) => Poll::Ready(Some(Err(error))),
            None => self.rest.poll_next(context),
        }
    }
}

impl IncomingBody {
    /// A reply of the built-in model: its chunks, each after its delay.
    pub fn from_script(response: foxwedge_scripted::ScriptedResponse) -> IncomingBody {
        IncomingBody(BodySource::Scripted(Box::new(ScriptedResponseBody::new(response))))
    }

    /// A reply that this process produces itself.
    pub fn from_local(body: impl LocalBody + 'static) -> IncomingBody {
        IncomingBody(BodySource::Local(Box::new(body)))
    }

    /// A complete reply.
    pub fn from_bytes(bytes: Bytes) -> IncomingBody {
        IncomingBody::from_local(Some(bytes))
    }

    /// Reads a body that has at most `max_bytes` bytes. Any other body is returned, with all of its
    /// bytes still to be read.
    pub async fn read_short(mut self, max_bytes: usize) -> Result<Bytes, IncomingBody> {
        let mut start = BytesMut::new();
        let end = loop {
            match self.next().await {
                None => return Ok(start.freeze()),
                Some(Err(error)) => break Some(error),
                Some(Ok(more)) => start.extend_from_slice(&more),
            }
            if start.len() > max_bytes {
                break None;
            }
        };
        Err(IncomingBody::from_local(StartedBody { start: Some(start.freeze()), end, rest: self }))
    }

    /// Reads bytes until `decide` knows something about them, or there are more than `max_bytes`.
    /// Returns that, and the body with all of its bytes still to be read.
    pub async fn read_start<T>(
        mut self,
        max_bytes: usize,
        decide: impl Fn(&[u8]) -> Option<T>,
    ) -> (Option<T>, IncomingBody) {
        let mut start = BytesMut::new();
        let mut decision = None;
        let end = loop {
            match self.next().await {
                None => break None,
                Some(Err(error)) => break Some(error),
                Some(Ok(more)) => start.extend_from_slice(&more),
            }
            decision = decide(&start);
            if decision.is_some() || start.len() > max_bytes {
                break None;
            }
        };
        let body = StartedBody { start: Some(start.freeze()), end, rest: self };
        (decision, IncomingBody::from_local(body))
    }

    /// A body that breaks off at once.
    pub fn from_error(error: HttpError) -> IncomingBody {
        let rest = IncomingBody(BodySource::Ended);
        IncomingBody::from_local(StartedBody { start: None, end: Some(error), rest })
    }

    /// Fails the body if no bytes arrive for `idle`.
    #[must_use]
    pub fn with_idle(mut self, idle: Duration) -> IncomingBody {
        match &mut self.0 {
            BodySource::Network(flow) => flow.idle = idle,
            BodySource::Scripted(scripted) => scripted.idle = idle,
            // The sender has its own timeout.
            BodySource::Local(_) | BodySource::Ended => {}
        }
        self
    }

    pub(super) fn from_network(flow: NetworkBody) -> IncomingBody {
        // An empty body releases its connection at once.
        if flow.decoder == BodyDecoder::Ended {
            flow.release_connection();
            return IncomingBody(BodySource::Ended);
        }
        IncomingBody(BodySource::Network(flow))
    }

    /// The next bytes, never empty; `None` at the end, and after an error.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, HttpError>>> {
        let next = match &mut self.0 {
            BodySource::Network(flow) => flow.poll_next(context),
            BodySource::Scripted(scripted) => scripted.poll_next(context),
            BodySource::Local(body) => body.poll_next(context),
            BodySource::Ended => return Poll::Ready(None),
        };
        let over = match (&next, &self.0) {
            (Poll::Pending, _) => false,
            (Poll::Ready(None | Some(Err(_))), _) => true,
            // Release the connection with the last bytes, without another poll.
            (Poll::Ready(Some(Ok(_))), BodySource::Network(flow)) => {
                flow.decoder == BodyDecoder::Ended
            }
            (
                Poll::Ready(Some(Ok(_))),
                BodySource::Scripted(_) | BodySource::Local(_) | BodySource::Ended,
            ) => false,
        };
        if over && let BodySource::Network(flow) = std::mem::replace(&mut self.0, BodySource::Ended)
        {
            flow.release_connection();
        }
        next
    }

    /// The next bytes, never empty; `None` at the end, and after an error.
    pub async fn next(&mut self) -> Option<Result<Bytes, HttpError>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Remaining bytes, if the head declared a length.
    pub fn remaining_length(&self) -> Option<u64> {
        match &self.0 {
            BodySource::Network(NetworkBody { decoder: BodyDecoder::Length(length), .. }) => {
                Some(*length)
            }
            BodySource::Network(_) | BodySource::Scripted(_) | BodySource::Local(_) => None,
            BodySource::Ended => Some(0),
        }
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// If it breaks off, or is longer than `max_bytes` bytes.
    pub async fn read_all(mut self, max_bytes: usize) -> Result<Bytes, HttpError> {
        let too_large =
            || HttpError::after_send(HttpStage::Body, HttpErrorKind::TooLarge, "it is too long");
        let length = self.remaining_length().unwrap_or(0);
        if length > max_bytes as u64 {
            return Err(too_large());
        }
        let Some(first) = self.next().await.transpose()? else { return Ok(Bytes::new()) };
        if first.len() > max_bytes {
            return Err(too_large());
        }
        let mut all = match self.next().await.transpose()? {
            None if first.len() > MAX_COPIED => return Ok(first),
            None => return Ok(Bytes::copy_from_slice(&first)),
            Some(second) => {
                // Preallocate for the declared length, up to a limit.
                let expected = usize::try_from(length).unwrap_or(0).min(1 << 20);
                let mut all = BytesMut::with_capacity(expected.max(first.len() + second.len()));
                all.extend_from_slice(&first);
                all.extend_from_slice(&second);
                all
            }
        };
        drop(first);
        while all.len() <= max_bytes {
            match self.next().await.transpose()? {
                Some(more) => all.extend_from_slice(&more),
                None => return Ok(all.freeze()),
            }
        }
        Err(too_large())
    }
}

impl fmt::Debug for IncomingBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            BodySource::Network(_) => "Incoming::Network",
            BodySource::Scripted(_) => "Incoming::Scripted",
            BodySource::Local(_) => "Incoming::Told",
            BodySource::Ended => "Incoming::Ended",
        })
    }
}

/// A body that is read from a connection.
pub(super) struct NetworkBody {
    connection: UpstreamConnection,
    decoder: BodyDecoder,
    reuse: ConnectionReuse,
    connections: Arc<TargetConnections>,
    /// The unsent rest of the request.
    unsent: Option<UnsentRequest>,
    idle: Duration,
    /// Time of the last read.
    last_read: Instant,
    /// Set when a read has to wait; not moved with every read.
    timer: Option<Pin<Box<Sleep>>>,
}

impl NetworkBody {
    pub(super) fn new(
        connection: UpstreamConnection,
        decoder: BodyDecoder,
        after: ConnectionReuse,
        home: Arc<TargetConnections>,
        unsent: Option<UnsentRequest>,
        idle: Duration,
    ) -> NetworkBody {
        let last_read = Instant::now();
        NetworkBody {
            connection,
            decoder,
            reuse: after,
            connections: home,
            unsent,
            idle,
            last_read,
            timer: None,
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        self.continue_sending(context);
        loop {
            match self.decode_buffer() {
                Ok(None) if self.decoder == BodyDecoder::Ended => return Poll::Ready(None),
                Ok(None) => {}
                Ok(Some(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                Err(fault) => return Poll::Ready(Some(Err(body_error(fault)))),
            }
            match self.connection.poll_fill(context) {
                Poll::Ready(Ok(0)) => {
                    let end = self.decoder.close().map_err(body_error).err();
                    return Poll::Ready(end.map(Err));
                }
                Poll::Ready(Ok(_)) => self.last_read = Instant::now(),
                Poll::Ready(Err(error)) => {
                    let error =
                        HttpError::from_io(HttpStage::Body, RequestDelivery::MaybeSent, error);
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Pending if self.is_timed_out(context) => {
                    return Poll::Ready(Some(Err(idle_timeout_error())));
                }
                Poll::Pending => {
                    self.connection.shrink();
                    return Poll::Pending;
                }
            }
        }
    }

    /// Decodes the buffer.
    fn decode_buffer(&mut self) -> Result<Option<Bytes>, ResponseReadError> {
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

    /// Continues sending the request, if the response began before it was sent.
    fn continue_sending(&mut self, context: &mut Context<'_>) {
        let Some(sending) = &mut self.unsent else { return };
        match self.connection.poll_send(context, sending) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.unsent = None,
            // The response has the reason, and ends the connection.
            Poll::Ready(Err(_)) => (self.unsent, self.reuse) = (None, ConnectionReuse::Close),
        }
    }

    fn is_timed_out(&mut self, context: &mut Context<'_>) -> bool {
        // Some settings mean no timeout.
        let Some(deadline) = self.last_read.checked_add(self.idle) else { return false };
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

    /// Returns the connection to the pool if it can be reused; else closes it.
    fn release_connection(mut self) {
        let complete = self.decoder == BodyDecoder::Ended && self.unsent.is_none();
        if complete && self.reuse == ConnectionReuse::Reuse && self.connection.buffer.is_empty() {
            self.connection.reset_buffer();
            self.connections.put(self.connection);
        }
    }
}

fn body_error(fault: ResponseReadError) -> HttpError {
    HttpError::after_send(HttpStage::Body, fault.kind, fault.detail)
}

fn idle_timeout_error() -> HttpError {
    HttpError::after_send(HttpStage::Body, HttpErrorKind::Timeout, "nothing more came in time")
}
