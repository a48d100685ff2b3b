//! A connection: bytes out, bytes in, and the buffer they come into.

use std::{
    io::{self, IoSlice},
    pin::{Pin, pin},
    task::{Context, Poll, Waker, ready},
};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// Room for the first read of a reply: its head, and most bodies that come with it.
const FIRST_READ: usize = 16 << 10;
/// What a stream that waits may hold; there are thousands of them.
const IDLE_READ: usize = 4 << 10;
/// What one read may take.
const MAX_READ: usize = 64 << 10;

/// A connection to an upstream.
#[derive(Debug)]
pub(super) struct UpstreamConnection {
    stream: ConnectionStream,
    /// What was read and not yet taken.
    pub(super) buffer: BytesMut,
    /// How much room the next block gets.
    read_size: usize,
}

/// How the bytes go.
#[derive(Debug)]
pub(super) enum ConnectionStream {
    /// As they are.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A request that is being sent. Copying it copies no bytes.
#[derive(Clone, Debug)]
pub(super) struct UnsentRequest {
    head: Bytes,
    body: Bytes,
    /// Whether the other side may have seen a byte of it.
    pub(super) begun: bool,
}

impl UnsentRequest {
    pub(super) fn new(head: Bytes, body: Bytes) -> UnsentRequest {
        UnsentRequest { head, body, begun: false }
    }

    fn is_done(&self) -> bool {
        self.head.is_empty() && self.body.is_empty()
    }

    fn advance(&mut self, count: usize) {
        self.begun = true;
        let head = count.min(self.head.len());
        self.head.advance(head);
        self.body.advance((count - head).min(self.body.len()));
        if self.is_done() {
            // A stream may last an hour; the request need not stay as long.
            (self.head, self.body) = (Bytes::new(), Bytes::new());
        }
    }
}

impl UpstreamConnection {
    pub(super) fn new(link: ConnectionStream) -> UpstreamConnection {
        UpstreamConnection { stream: link, buffer: BytesMut::new(), read_size: FIRST_READ }
    }

    /// Sends what can be sent. Head and body go out together, and the body is not copied.
    pub(super) fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        sending: &mut UnsentRequest,
    ) -> Poll<io::Result<()>> {
        while !sending.is_done() {
            let both = [IoSlice::new(&sending.head), IoSlice::new(&sending.body)];
            let slices = if sending.head.is_empty() { &both[1..] } else { &both[..] };
            let sent = match &mut self.stream {
                ConnectionStream::Plain(stream) => {
                    Pin::new(stream).poll_write_vectored(context, slices)
                }
                ConnectionStream::Tls(stream) => {
                    Pin::new(stream).poll_write_vectored(context, slices)
                }
            };
            match ready!(sent)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => sending.advance(count),
            }
        }
        match &mut self.stream {
            ConnectionStream::Plain(_) => Poll::Ready(Ok(())),
            ConnectionStream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    /// Reads once, behind what is in the buffer. Zero bytes: the other side has closed.
    pub(super) fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // Nothing is there to read: no need for room, then.
        if let ConnectionStream::Plain(stream) = &self.stream {
            ready!(stream.poll_read_ready(context))?;
        }
        // A block that nobody holds any more is used again, from its beginning.
        if self.buffer.capacity() - self.buffer.len() < self.read_size / 2 {
            self.buffer.reserve(self.read_size);
        }
        let room = self.buffer.capacity() - self.buffer.len();
        let read = match &mut self.stream {
            ConnectionStream::Plain(stream) => {
                pin!(stream.read_buf(&mut self.buffer)).poll(context)
            }
            ConnectionStream::Tls(stream) => pin!(stream.read_buf(&mut self.buffer)).poll(context),
        };
        if let Poll::Ready(Ok(count)) = &read
            && *count == room
        {
            self.read_size = (self.read_size * 4).min(MAX_READ);
        }
        read
    }

    /// Whether it can carry another request: open, and the other side says nothing unasked.
    pub(super) fn is_reusable(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let mut byte = [0];
        let mut room = ReadBuf::new(&mut byte);
        let read = match &mut self.stream {
            ConnectionStream::Plain(stream) => Pin::new(stream).poll_read(&mut context, &mut room),
            ConnectionStream::Tls(stream) => Pin::new(stream).poll_read(&mut context, &mut room),
        };
        self.buffer.is_empty() && read.is_pending()
    }

    /// Lets go of a large block while a stream waits.
    pub(super) fn shrink(&mut self) {
        if self.read_size > IDLE_READ && self.buffer.is_empty() {
            self.buffer = BytesMut::new();
            self.read_size = IDLE_READ;
        }
    }

    /// Ready for the next reply.
    pub(super) fn reset_buffer(&mut self) {
        if self.read_size > FIRST_READ {
            self.buffer = BytesMut::new();
        }
        self.read_size = FIRST_READ;
    }

    #[cfg(test)]
    pub(super) fn stream(&self) -> &ConnectionStream {
        &self.stream
    }
}
