//! The socket that hyper reads and writes.

use std::{
    cell::RefCell,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use hyper::rt::ReadBufCursor;
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

/// Maximum size of one read in bytes.
const MAX_READ_BYTES: usize = 64 << 10;

thread_local! {
    /// Read buffer. Data is copied from here into hyper's buffer, because safe code cannot read
    /// into uninitialized memory. There is one per thread, so it stays in the CPU cache and idle
    /// connections need none.
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; MAX_READ_BYTES].into());
}

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

impl hyper::rt::Read for TimedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut to: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        READ_BUFFER.with_borrow_mut(|buffer| {
            let limit = buffer.len().min(to.remaining());
            let Some(buffer) = buffer.get_mut(..limit) else {
                return Poll::Ready(Ok(()));
            };
            let mut read = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
            if !read.filled().is_empty() {
                self.timers.note_read();
                to.put_slice(read.filled());
            }
            Poll::Ready(Ok(()))
        })
    }
}

impl hyper::rt::Write for TimedSocket {
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
                    let read = READ_BUFFER.with_borrow_mut(|buffer| {
                        let mut read = ReadBuf::new(buffer);
                        ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
                        Poll::Ready(Ok::<_, io::Error>(read.filled().len()))
                    });
                    if ready!(read)? == 0 {
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        }
    }
}
