//! One request on one connection: sends it, and reads the response head.

use std::{
    future::poll_fn,
    io,
    task::{Context, Poll, ready},
    time::Duration,
};

use http::Method;
use tokio::time::timeout;

use crate::http::{
    HttpError, HttpErrorKind, HttpStage, RequestDelivery,
    connection::{UnsentRequest, UpstreamConnection},
    decode::ResponseReadError,
    error::asks_for_certificate,
    head::{ResponseHead, ResponseHeadReader},
};

/// One request on one connection, until its response head is read.
pub(super) struct ConnectionExchange {
    pub(super) connection: UpstreamConnection,
    pub(super) sending: UnsentRequest,
    pub(super) progress: RequestProgress,
    reader: ResponseHeadReader,
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
        ConnectionExchange {
            connection,
            sending,
            progress: RequestProgress::Sending,
            reader,
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

    /// Whether the request may be sent again on another connection, without counting as an attempt:
    /// the upstream closed this one while it was idle, so it has not seen the request. Where it may
    /// have seen it, this holds only for methods that change nothing; everything else is an error,
    /// which the retry policy of the caller counts.
    pub(super) fn is_stale(&self, error: &HttpError, method: &Method) -> bool {
        error.kind == HttpErrorKind::Closed
            && !self.response_begun
            && (error.delivery == RequestDelivery::NotSent || method.is_safe())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::http::connection::ConnectionStream;

    #[tokio::test]
    async fn a_connection_is_stale_if_the_upstream_has_not_seen_the_request() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("an address")).await;
        let connection =
            UpstreamConnection::new(ConnectionStream::Plain(stream.expect("connected")));
        let sending = UnsentRequest::new(Bytes::new(), Bytes::new());
        let mut exchange = ConnectionExchange::new(connection, sending, 0);
        let (closed, not_sent, maybe_sent) =
            (HttpErrorKind::Closed, RequestDelivery::NotSent, RequestDelivery::MaybeSent);
        let table = [
            (closed, not_sent, Method::POST, false, true),
            // The upstream may have begun to work.
            (closed, maybe_sent, Method::POST, false, false),
            (closed, maybe_sent, Method::DELETE, false, false),
            // A second request changes nothing.
            (closed, maybe_sent, Method::GET, false, true),
            // The upstream had begun to reply.
            (closed, maybe_sent, Method::GET, true, false),
            (HttpErrorKind::Timeout, maybe_sent, Method::GET, false, false),
            (HttpErrorKind::Malformed, maybe_sent, Method::GET, false, false),
        ];
        for (kind, reached, method, response_begun, expected) in table {
            exchange.response_begun = response_begun;
            let error = match reached {
                RequestDelivery::NotSent => HttpError::before_send(HttpStage::Head, kind, ""),
                RequestDelivery::MaybeSent => HttpError::after_send(HttpStage::Head, kind, ""),
            };
            assert_eq!(
                exchange.is_stale(&error, &method),
                expected,
                "{kind:?} {reached:?} {method} {response_begun}"
            );
        }
    }
}
