//! The socket that hyper reads and writes.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::timers::ConnectionTimers;

/// A socket that reports its reads and writes to the timers of its connection.
pub(super) struct TimedSocket {
    stream: TcpStream,
    timers: Arc<ConnectionTimers>,
    state: SocketState,
}

enum SocketState {
    Open,
    /// Our side is closed; incoming bytes are discarded.
    Lingering,
}

/// How many bytes are discarded at once.
const DISCARDED_BYTES: usize = 8 << 10;

impl TimedSocket {
    pub(super) fn new(stream: TcpStream, timers: Arc<ConnectionTimers>) -> TimedSocket {
        TimedSocket { stream, timers, state: SocketState::Open }
    }

    fn note_write(&self, written: Poll<io::Result<usize>>, of: usize) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(number)) => self.timers.note_written(*number, of),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.timers.note_blocked(),
        }
        written
    }
}

impl AsyncRead for TimedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = to.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, to))?;
        if to.filled().len() > before {
            self.timers.note_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TimedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note_write(written, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note_write(written, slices.iter().map(|slice| slice.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Closing a socket with unread bytes resets it, and the client would not see the error reply.
    /// So the rest of a refused body is read and discarded for a while.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.state {
                SocketState::Open => {
                    ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
                    if !self.timers.start_linger() {
                        return Poll::Ready(Ok(()));
                    }
                    self.state = SocketState::Lingering;
                }
                SocketState::Lingering => {
                    let mut buffer = [0; DISCARDED_BYTES];
                    let mut read = ReadBuf::new(&mut buffer);
                    ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
                    if read.filled().is_empty() {
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        }
    }
}
