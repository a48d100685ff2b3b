//! One request on one connection: sends it, and reads the response head.

use std::{
    future::poll_fn,
    io,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::Method;
use tokio::time::{Instant, timeout};

use crate::http::{
    HttpError, HttpErrorKind, HttpStage, RequestDelivery,
    connection::{UnsentRequest, UpstreamConnection},
    decode::ResponseReadError,
    error::asks_for_certificate,
    head::{ResponseHead, ResponseHeadReader},
};

/// The upstream may have closed an idle connection while the request was being sent. That fails
/// within this time; a later failure means that the upstream had begun to work.
const STALE_WINDOW: Duration = Duration::from_secs(2);

/// One request on one connection, until its response head is read.
pub(super) struct ConnectionExchange {
    pub(super) connection: UpstreamConnection,
    pub(super) sending: UnsentRequest,
    pub(super) progress: RequestProgress,
    reader: ResponseHeadReader,
    since: Instant,
    /// Whether a byte of a response was received.
    response_begun: bool,
}

/// Progress of sending the request.
pub(super) enum RequestProgress {
    Sending,
    Done,
    /// The upstream stopped reading. It may have replied before.
    Failed(io::Error),
}

impl ConnectionExchange {
    pub(super) fn new(
        connection: UpstreamConnection,
        sending: UnsentRequest,
        max_head: usize,
    ) -> ConnectionExchange {
        let reader = ResponseHeadReader::new(max_head);
        let since = Instant::now();
        ConnectionExchange {
            connection,
            sending,
            progress: RequestProgress::Sending,
            reader,
            since,
            response_begun: false,
        }
    }

    pub(super) async fn read_head(
        &mut self,
        method: &Method,
        within: Duration,
    ) -> Result<ResponseHead, HttpError> {
        match timeout(within, poll_fn(|context| self.poll(context, method))).await {
            Ok(head) => head,
            Err(_) => {
                let (stage, detail) = match self.progress {
                    RequestProgress::Sending => (HttpStage::Send, "it is not taken"),
                    RequestProgress::Done | RequestProgress::Failed(_) => {
                        (HttpStage::Head, "it does not begin in time")
                    }
                };
                Err(self.error(stage, ResponseReadError { kind: HttpErrorKind::Timeout, detail }))
            }
        }
    }

    /// Sends and reads at the same time: some upstreams reply before they have read the request.
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        method: &Method,
    ) -> Poll<Result<ResponseHead, HttpError>> {
        if let RequestProgress::Sending = self.progress {
            match self.connection.poll_send(context, &mut self.sending) {
                Poll::Ready(Ok(())) => self.progress = RequestProgress::Done,
                Poll::Ready(Err(error)) => self.progress = RequestProgress::Failed(error),
                Poll::Pending => {}
            }
        }
        loop {
            let read = ready!(self.connection.poll_fill(context));
            match read {
                Ok(0) => return Poll::Ready(Err(self.closed_error(None))),
                Err(error) => return Poll::Ready(Err(self.closed_error(Some(error)))),
                Ok(_) => self.response_begun = true,
            }
            match self.reader.read(&mut self.connection.buffer, method) {
                Ok(Some(head)) => return Poll::Ready(Ok(head)),
                Ok(None) => {}
                Err(fault) => return Poll::Ready(Err(self.error(HttpStage::Head, fault))),
            }
        }
    }

    /// The connection ended before the head was complete. Reports the first error.
    fn closed_error(&mut self, read: Option<io::Error>) -> HttpError {
        let reached = self.delivery();
        match (std::mem::replace(&mut self.progress, RequestProgress::Done), read) {
            // The reason why nothing could be sent.
            (_, Some(error)) if asks_for_certificate(&error) => {
                HttpError::from_io(HttpStage::Head, reached, error)
            }
            (RequestProgress::Failed(error), _) => {
                HttpError::from_io(HttpStage::Send, reached, error)
            }
            (RequestProgress::Sending | RequestProgress::Done, Some(error)) => {
                HttpError::from_io(HttpStage::Head, reached, error)
            }
            (RequestProgress::Sending | RequestProgress::Done, None) => {
                let detail = "the connection was closed before its end";
                self.error(
                    HttpStage::Head,
                    ResponseReadError { kind: HttpErrorKind::Closed, detail },
                )
            }
        }
    }

    fn error(&self, stage: HttpStage, fault: ResponseReadError) -> HttpError {
        match self.delivery() {
            RequestDelivery::NotSent => HttpError::before_send(stage, fault.kind, fault.detail),
            RequestDelivery::MaybeSent => HttpError::after_send(stage, fault.kind, fault.detail),
        }
    }

    fn delivery(&self) -> RequestDelivery {
        if self.sending.begun { RequestDelivery::MaybeSent } else { RequestDelivery::NotSent }
    }

    /// Whether the connection was closed before the request reached the upstream.
    pub(super) fn is_stale(&self, error: &HttpError) -> bool {
        error.kind == HttpErrorKind::Closed
            && !self.response_begun
            && (error.delivery == RequestDelivery::NotSent || self.since.elapsed() < STALE_WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::http::connection::ConnectionStream;

    #[tokio::test]
    async fn a_connection_is_stale_if_it_closes_at_once_without_a_response() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).await;
        let connection =
            UpstreamConnection::new(ConnectionStream::Plain(stream.expect("connected")));
        let sending = UnsentRequest::new(Bytes::new(), Bytes::new());
        let mut exchange = ConnectionExchange::new(connection, sending, 0);
        let long_ago =
            Instant::now().checked_sub(STALE_WINDOW).expect("a clock that runs for long");
        let now = Instant::now() + STALE_WINDOW;
        let table = [
            (HttpErrorKind::Closed, RequestDelivery::NotSent, now, false, true),
            (HttpErrorKind::Closed, RequestDelivery::MaybeSent, now, false, true),
            (HttpErrorKind::Closed, RequestDelivery::NotSent, long_ago, false, true),
            // The upstream had worked for a while.
            (HttpErrorKind::Closed, RequestDelivery::MaybeSent, long_ago, false, false),
            // The upstream had begun to reply.
            (HttpErrorKind::Closed, RequestDelivery::MaybeSent, now, true, false),
            (HttpErrorKind::Timeout, RequestDelivery::MaybeSent, now, false, false),
            (HttpErrorKind::Malformed, RequestDelivery::MaybeSent, now, false, false),
        ];
        for (kind, reached, since, response_begun, expected) in table {
            (exchange.since, exchange.response_begun) = (since, response_begun);
            let error = match reached {
                RequestDelivery::NotSent => HttpError::before_send(HttpStage::Head, kind, ""),
                RequestDelivery::MaybeSent => HttpError::after_send(HttpStage::Head, kind, ""),
            };
            assert_eq!(
                exchange.is_stale(&error),
                expected,
                "{kind:?} {reached:?} {response_begun}"
            );
        }
    }
}
