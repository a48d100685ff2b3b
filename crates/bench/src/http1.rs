//! HTTP/1.1 with hyper on tokio sockets: whole bodies, a connection, a server on one thread.

use std::{
    cell::RefCell,
    convert::Infallible,
    future::{Future, poll_fn},
    io::{self, IoSlice, Write as _},
    net::SocketAddr,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::{
    body::Incoming,
    client::conn::http1::{self as client, SendRequest},
    rt::ReadBufCursor,
    server::conn::http1 as server,
    service::service_fn,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::BenchError;

/// A body that is one frame.
pub struct WholeBody(Option<Bytes>);

impl WholeBody {
    /// These bytes.
    pub fn new(bytes: Bytes) -> WholeBody {
        WholeBody(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl Body for WholeBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// All of a body.
pub async fn collect<B: Body<Data = Bytes>>(body: B) -> Result<Bytes, B::Error> {
    let mut body = pin!(body);
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(0);
    let (mut first, mut rest): (Option<Bytes>, Option<BytesMut>) = (None, None);
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(data) = frame?.into_data() else { continue };
        match (&mut rest, first.take()) {
            (Some(rest), _) => rest.extend_from_slice(&data),
            // A single frame is not copied.
            (None, None) => first = Some(data),
            (None, Some(before)) => {
                let mut all = BytesMut::with_capacity(expected.max(before.len() + data.len()));
                all.extend_from_slice(&before);
                all.extend_from_slice(&data);
                rest = Some(all);
            }
        }
    }
    Ok(rest.map(BytesMut::freeze).or(first).unwrap_or_default())
}

/// Listens at a free port of the loopback address, prints the address as its only line, and serves
/// until the process is ended. `service` makes the service of one connection.
pub fn serve<M, F, R, B>(service: M) -> Result<(), BenchError>
where
    M: Fn() -> F,
    F: Fn(Request<Incoming>) -> R + Send + 'static,
    R: Future<Output = Result<Response<B>, BenchError>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BenchError>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let mut out = std::io::stdout();
        writeln!(out, "{}", listener.local_addr()?)?;
        out.flush()?;
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let service = service_fn(service());
            connections.spawn(async move {
                // A client may go whenever it likes.
                let _ = server::Builder::new().serve_connection(HyperSocket(stream), service).await;
            });
            while connections.try_join_next().is_some() {}
        }
    })
}

/// A connection to a server, ready for requests. Its driver runs as a task until either side closes.
pub async fn connect<B>(address: &str) -> Result<SendRequest<B>, BenchError>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BenchError>,
{
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = client::handshake(HyperSocket(stream)).await?;
    // It ends with its sender, or with the other side; the sender sees either.
    tokio::spawn(connection);
    Ok(sender)
}

/// A socket, as hyper reads and writes it.
struct HyperSocket(TcpStream);

thread_local! {
    /// Where a read lands first: safe code cannot read into memory that was never written.
    static LANDING: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 << 10]);
}

impl hyper::rt::Read for HyperSocket {
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

impl hyper::rt::Write for HyperSocket {
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
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
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
