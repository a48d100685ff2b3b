//! A server on one thread.

use std::{future::Future, io::Write as _, net::SocketAddr};

use http::{Request, Response};
use http_body::Body;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use tokio::{net::TcpListener, task::JoinSet};

use crate::{Socket, Trouble};

/// Listens at a free port of the loopback address, prints the address as its only line, and serves
/// until the process is ended. `made` makes what answers the requests of one connection.
pub fn serve<M, F, R, B>(made: M) -> Result<(), Trouble>
where
    M: Fn() -> F,
    F: Fn(Request<Incoming>) -> R + Send + 'static,
    R: Future<Output = Result<Response<B>, Trouble>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Trouble>,
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
            let service = service_fn(made());
            connections.spawn(async move {
                // A client may go whenever it likes.
                let _ = http1::Builder::new().serve_connection(Socket(stream), service).await;
            });
            while connections.try_join_next().is_some() {}
        }
    })
}
