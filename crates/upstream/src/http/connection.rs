//! A connection and its read buffer.

use std::{
    io::{self, IoSlice},
    pin::{Pin, pin},
    task::{Context, Poll, Waker, ready},
};

use bytes::{Buf as _, Bytes, BytesMut};
use rustix::{io::Errno, net::RecvFlags};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::http::{HttpError, HttpErrorKind, HttpStage};

/// Buffer size for the first read of a response: its head, and most bodies.
const FIRST_READ: usize = 16 << 10;
/// Maximum buffer of a waiting stream; there are thousands of them.
const IDLE_READ: usize = 4 << 10;
/// Maximum bytes of one read.
const MAX_READ: usize = 64 << 10;

/// A connection to an upstream.
#[derive(Debug)]
pub(super) struct UpstreamConnection {
    stream: ConnectionStream,
    /// Bytes that were read and not yet consumed.
    pub(super) buffer: BytesMut,
    /// Size of the next block.
    read_size: usize,
}

/// The transport.
#[derive(Debug)]
pub(super) enum ConnectionStream {
    /// Plain TCP.
    Plain(TcpStream),
    /// TLS.
    Tls(Box<TlsStream<TcpStream>>),
    /// TLS in an encrypted connection to a proxy.
    Tunnel(Box<TlsStream<ConnectionStream>>),
}

/// A request that is being sent. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct UnsentRequest {
    head: Bytes,
    body: Bytes,
    /// Whether the upstream may have received a byte of it.
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
            // Free the request: a stream may last an hour.
            (self.head, self.body) = (Bytes::new(), Bytes::new());
        }
    }
}

impl UpstreamConnection {
    pub(super) fn new(link: ConnectionStream) -> UpstreamConnection {
        UpstreamConnection { stream: link, buffer: BytesMut::new(), read_size: FIRST_READ }
    }

    /// Sends as much as possible. Head and body are sent together, and the body is not copied.
    pub(super) fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        sending: &mut UnsentRequest,
    ) -> Poll<io::Result<()>> {
        while !sending.is_done() {
            let both = [IoSlice::new(&sending.head), IoSlice::new(&sending.body)];
            let slices = if sending.head.is_empty() { &both[1..] } else { &both[..] };
            let sent = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
            match ready!(sent)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => sending.advance(count),
            }
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Reads once, after the bytes in the buffer. Zero bytes: the upstream has closed.
    pub(super) fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        // Nothing to read yet: do not allocate.
        if let ConnectionStream::Plain(stream) = &self.stream {
            ready!(stream.poll_read_ready(context))?;
        }
        // Reuse an unreferenced block from its start.
        if self.buffer.capacity() - self.buffer.len() < self.read_size / 2 {
            self.buffer.reserve(self.read_size);
        }
        let room = self.buffer.capacity() - self.buffer.len();
        let read = pin!(self.stream.read_buf(&mut self.buffer)).poll(context);
        if let Poll::Ready(Ok(count)) = &read
            && *count == room
        {
            self.read_size = (self.read_size * 4).min(MAX_READ);
        }
        read
    }

    /// Whether it can be reused: open, and without unexpected bytes.
    pub(super) fn is_reusable(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let mut byte = [0];
        let mut room = ReadBuf::new(&mut byte);
        let read = Pin::new(&mut self.stream).poll_read(&mut context, &mut room);
        self.buffer.is_empty() && read.is_pending() && is_silent(self.stream.socket())
    }

    /// Frees a large block while a stream waits.
    pub(super) fn shrink(&mut self) {
        if self.read_size > IDLE_READ && self.buffer.is_empty() {
            self.buffer = BytesMut::new();
            self.read_size = IDLE_READ;
        }
    }

    /// Resets it for the next response.
    pub(super) fn reset_buffer(&mut self) {
        if self.read_size > FIRST_READ {
            self.buffer = BytesMut::new();
        }
        self.read_size = FIRST_READ;
    }

    /// The stream, for another protocol in it. Fails if there are bytes that belong to neither.
    pub(super) fn into_stream(self) -> Result<ConnectionStream, HttpError> {
        match self.buffer.is_empty() {
            true => Ok(self.stream),
            false => Err(HttpError::before_send(
                HttpStage::Head,
                HttpErrorKind::Malformed,
                "it goes on after its end",
            )),
        }
    }

    #[cfg(test)]
    pub(super) fn stream(&self) -> &ConnectionStream {
        &self.stream
    }
}

impl ConnectionStream {
    /// The socket below all encryption.
    fn socket(&self) -> &TcpStream {
        match self {
            ConnectionStream::Plain(stream) => stream,
            ConnectionStream::Tls(stream) => stream.get_ref().0,
            ConnectionStream::Tunnel(stream) => stream.get_ref().0.socket(),
        }
    }
}

/// Whether the system has neither bytes nor the end of the connection for us. The runtime may not
/// have noticed yet what has arrived, so this asks the system itself.
fn is_silent(socket: &TcpStream) -> bool {
    let peeked = rustix::net::recv(socket, &mut [0_u8; 1], RecvFlags::PEEK);
    peeked.is_err_and(|error| error == Errno::WOULDBLOCK)
}

/// Calls a method of the stream inside.
macro_rules! with_stream {
    ($stream:expr, $method:ident($($argument:expr),*)) => {
        match $stream {
            ConnectionStream::Plain(stream) => Pin::new(stream).$method($($argument),*),
            ConnectionStream::Tls(stream) => Pin::new(stream).$method($($argument),*),
            ConnectionStream::Tunnel(stream) => Pin::new(stream).$method($($argument),*),
        }
    };
}

impl AsyncRead for ConnectionStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        with_stream!(self.get_mut(), poll_read(context, room))
    }
}

impl AsyncWrite for ConnectionStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        with_stream!(self.get_mut(), poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        with_stream!(self.get_mut(), poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_stream!(self.get_mut(), poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_stream!(self.get_mut(), poll_shutdown(context))
    }
}
