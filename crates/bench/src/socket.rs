//! A socket, as hyper reads and writes it.

use std::{
    cell::RefCell,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body::Body;
use hyper::{
    client::conn::http1::{self, SendRequest},
    rt::ReadBufCursor,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use crate::Trouble;

/// A connection to a server, ready to be asked. Its driver runs as a task until either side closes.
pub async fn connect<B>(address: &str) -> Result<SendRequest<B>, Trouble>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Trouble>,
{
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(Socket(stream)).await?;
    // It ends with its sender, or with the other side; whoever asks sees either.
    tokio::spawn(connection);
    Ok(sender)
}

/// A socket.
pub struct Socket(pub TcpStream);

thread_local! {
    /// Where a read lands first: safe code cannot read into memory that was never written.
    static LANDING: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 << 10]);
}

impl hyper::rt::Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut to: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        LANDING.with_borrow_mut(|landing| {
            let most = landing.len().min(to.remaining());
            let mut read = ReadBuf::new(landing.get_mut(..most).unwrap_or_default());
            ready!(Pin::new(&mut self.0).poll_read(context, &mut read))?;
            to.put_slice(read.filled());
            Poll::Ready(Ok(()))
        })
    }
}

impl hyper::rt::Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
