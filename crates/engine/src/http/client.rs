//! The client: takes a connection that rests or makes one, sends a request, reads the reply's head.

use std::{
    fmt,
    future::poll_fn,
    io,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::Method;
use tokio::time::{Instant, timeout};

use crate::{
    config::Target,
    http::{
        HttpError, Incoming, Kind, Outgoing, Reached, Reply, Settings, Stage,
        connect::connect,
        connection::{Connection, Sending},
        decode::Fault,
        head::{Head, HeadReader},
        incoming::Flow,
        pool::Pool,
        request, tls,
    },
};

/// A connection that rested may have been closed by the other side while the request was on its
/// way. That shows at once; what breaks later broke while the upstream was at work.
const STALE: Duration = Duration::from_secs(2);

/// Asks upstreams. A copy is the same client, with the same connections.
#[derive(Clone)]
pub struct Client {
    settings: Settings,
    pool: Arc<Pool>,
    encryption: Result<Arc<rustls::ClientConfig>, rustls::Error>,
}

impl Client {
    /// A client that trusts the usual roots.
    pub fn new(settings: Settings) -> Client {
        Client { settings, pool: Arc::default(), encryption: tls::usual() }
    }

    /// The same with other roots and rules for encryption, and with connections of its own.
    #[must_use]
    pub fn with_tls(self, config: Arc<rustls::ClientConfig>) -> Client {
        Client { settings: self.settings, pool: Arc::default(), encryption: Ok(config) }
    }

    /// How long a body may rest.
    pub fn idle(&self) -> std::time::Duration {
        self.settings.idle
    }

    /// Sends a request and waits for the head of the reply. A connection that rested and turns out
    /// to be closed is replaced once, unless a byte of a reply had come.
    ///
    /// # Errors
    /// If there is no connection, or no sound head in time.
    pub async fn send(&self, target: &Target, request: Outgoing<'_>) -> Result<Reply, HttpError> {
        let head = request::head(target, &request)?;
        let shelf = self.pool.shelf(target, &self.settings);
        let sending = Sending::new(head, request.body);
        let mut rested = shelf.take();
        loop {
            let stale = rested.is_some();
            let connection = match rested.take() {
                Some(connection) => connection,
                // Rare, and much larger than the rest.
                None => {
                    let connecting = connect(target, self.settings.connect, &self.encryption);
                    Box::pin(connecting).await?
                }
            };
            let mut exchange = Exchange::new(connection, sending.clone(), self.settings.head);
            match exchange.run(&request.method, self.settings.first_byte).await {
                Ok(Head { status, headers, body, after }) => {
                    let Exchange { connection, sending, write, .. } = exchange;
                    let unsent = match write {
                        Write::Going => Some(sending),
                        Write::Done | Write::Failed(_) => None,
                    };
                    let flow =
                        Flow::new(connection, body, after, shelf, unsent, self.settings.idle);
                    return Ok(Reply { status, headers, body: Incoming::network(flow) });
                }
                Err(error) if stale && exchange.is_stale(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// How many connections rest.
    pub fn resting(&self) -> usize {
        self.pool.resting()
    }

    /// Closes the connections that have rested too long. Call it now and then: without requests
    /// nothing else does.
    pub fn sweep(&self) {
        self.pool.sweep();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// One request on one connection, until the head of its reply is there.
struct Exchange {
    connection: Connection,
    sending: Sending,
    write: Write,
    reader: HeadReader,
    since: Instant,
    /// Whether a byte of a reply has come.
    heard: bool,
}

/// How far the request is.
enum Write {
    Going,
    Done,
    /// The other side does not take it. It may have replied before.
    Failed(io::Error),
}

impl Exchange {
    fn new(connection: Connection, sending: Sending, most: usize) -> Exchange {
        let reader = HeadReader::new(most);
        let since = Instant::now();
        Exchange { connection, sending, write: Write::Going, reader, since, heard: false }
    }

    async fn run(&mut self, method: &Method, within: Duration) -> Result<Head, HttpError> {
        match timeout(within, poll_fn(|context| self.poll(context, method))).await {
            Ok(head) => head,
            Err(_) => {
                let (stage, detail) = match self.write {
                    Write::Going => (Stage::Send, "it is not taken"),
                    Write::Done | Write::Failed(_) => (Stage::Head, "it does not begin in time"),
                };
                Err(self.error(stage, Fault { kind: Kind::Late, detail }))
            }
        }
    }

    /// Sends and reads at the same time: some reply before they have read the request.
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        method: &Method,
    ) -> Poll<Result<Head, HttpError>> {
        if let Write::Going = self.write {
            match self.connection.poll_send(context, &mut self.sending) {
                Poll::Ready(Ok(())) => self.write = Write::Done,
                Poll::Ready(Err(error)) => self.write = Write::Failed(error),
                Poll::Pending => {}
            }
        }
        loop {
            let read = ready!(self.connection.poll_fill(context));
            match read {
                Ok(0) => return Poll::Ready(Err(self.closed(None))),
                Err(error) => return Poll::Ready(Err(self.closed(Some(error)))),
                Ok(_) => self.heard = true,
            }
            match self.reader.read(&mut self.connection.buffer, method) {
                Ok(Some(head)) => return Poll::Ready(Ok(head)),
                Ok(None) => {}
                Err(fault) => return Poll::Ready(Err(self.error(Stage::Head, fault))),
            }
        }
    }

    /// The connection ended before the head did. What went wrong first tells most.
    fn closed(&mut self, read: Option<io::Error>) -> HttpError {
        let reached = self.reached();
        match (std::mem::replace(&mut self.write, Write::Done), read) {
            (Write::Failed(error), _) => HttpError::system(Stage::Send, reached, error),
            (Write::Going | Write::Done, Some(error)) => {
                HttpError::system(Stage::Head, reached, error)
            }
            (Write::Going | Write::Done, None) => {
                let detail = "the connection was closed before its end";
                self.error(Stage::Head, Fault { kind: Kind::Closed, detail })
            }
        }
    }

    fn error(&self, stage: Stage, fault: Fault) -> HttpError {
        match self.reached() {
            Reached::No => HttpError::before(stage, fault.kind, fault.detail),
            Reached::Maybe => HttpError::after(stage, fault.kind, fault.detail),
        }
    }

    fn reached(&self) -> Reached {
        if self.sending.begun { Reached::Maybe } else { Reached::No }
    }

    /// Whether the connection was closed before the request came to it.
    fn is_stale(&self, error: &HttpError) -> bool {
        error.kind == Kind::Closed
            && !self.heard
            && (error.reached == Reached::No || self.since.elapsed() < STALE)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::http::connection::Link;

    #[tokio::test]
    async fn a_connection_is_stale_if_it_closes_at_once_and_without_a_word() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).await;
        let connection = Connection::new(Link::Plain(stream.expect("connected")));
        let sending = Sending::new(Bytes::new(), Bytes::new());
        let mut exchange = Exchange::new(connection, sending, 0);
        let long_ago = Instant::now().checked_sub(STALE).expect("a clock that runs for long");
        let now = Instant::now() + STALE;
        let table = [
            (Kind::Closed, Reached::No, now, false, true),
            (Kind::Closed, Reached::Maybe, now, false, true),
            (Kind::Closed, Reached::No, long_ago, false, true),
            // It was at work for a while.
            (Kind::Closed, Reached::Maybe, long_ago, false, false),
            // It had begun to reply.
            (Kind::Closed, Reached::Maybe, now, true, false),
            (Kind::Late, Reached::Maybe, now, false, false),
            (Kind::Malformed, Reached::Maybe, now, false, false),
        ];
        for (kind, reached, since, heard, expected) in table {
            (exchange.since, exchange.heard) = (since, heard);
            let error = match reached {
                Reached::No => HttpError::before(Stage::Head, kind, ""),
                Reached::Maybe => HttpError::after(Stage::Head, kind, ""),
            };
            assert_eq!(exchange.is_stale(&error), expected, "{kind:?} {reached:?} {heard}");
        }
    }
}
