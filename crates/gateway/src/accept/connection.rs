//! One connection: serves its requests in order until it closes, times out, or must stop.

use std::{
    convert::Infallible,
    error::Error,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, sync::watch};

use super::{ConnectionAddresses, ConnectionRules, socket::TimedSocket, timers::ConnectionTimers};

/// One accepted connection and the state it shares with the server.
pub(super) struct ClientConnection<F> {
    pub(super) rules: ConnectionRules,
    pub(super) peer: ConnectionAddresses,
    pub(super) handler: F,
    pub(super) in_flight: Arc<AtomicUsize>,
    pub(super) stopped: watch::Receiver<bool>,
}

/// hyper requires at least this much.
const MIN_BUFFER_BYTES: usize = 8 << 10;

impl<F, R, B> ClientConnection<F>
where
    F: Fn(Request<Incoming>, ConnectionAddresses) -> R + Send + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Runs until the connection ends. Errors are dropped: a client may disconnect at any time.
    pub(super) async fn run(mut self, stream: TcpStream) {
        let timers = Arc::new(ConnectionTimers::new(self.rules));
        let socket = TokioIo::new(TimedSocket::new(stream, timers.clone()));
        let service = {
            let (timers, in_flight_count) = (timers.clone(), self.in_flight.clone());
            let (handler, peer) = (self.handler, self.peer);
            service_fn(move |request: Request<Incoming>| {
                let has_body = !request.body().is_end_stream();
                let in_flight = InFlightRequest::new(timers.clone(), in_flight_count.clone());
                let response = handler(request, peer);
                // Boxed: hyper reserves space for this future as long as the connection lives, but
                // it is large and only needed until the reply begins.
                Box::pin(async move {
                    let response = response.await;
                    if has_body && !response.status().is_success() {
                        in_flight.timers.note_refused();
                    }
                    Ok::<_, Infallible>(
                        response.map(|body| InFlightBody { body, request: in_flight }),
                    )
                })
            })
        };
        let buffer = self.rules.head_bytes.max(MIN_BUFFER_BYTES);
        let mut connection = pin!(
            http1::Builder::new()
                // We use our own timers: hyper's would also close idle connections.
                .header_read_timeout(None)
                .max_buf_size(buffer)
                .max_header_size(self.rules.head_bytes)
                .serve_connection(socket, service)
        );
        let mut timer = pin!(tokio::time::sleep_until(timers.next_deadline()));
        let mut stopped = pin!(self.stopped.wait_for(|stopped| *stopped));
        let mut stopping = false;
        poll_fn(|context| {
            if !stopping && stopped.as_mut().poll(context).is_ready() {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            if connection.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            loop {
                let due = timers.next_deadline();
                if due < timer.deadline() {
                    timer.as_mut().reset(due);
                }
                if timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                if timers.is_late() {
                    return Poll::Ready(());
                }
                timer.as_mut().reset(timers.next_deadline());
            }
        })
        .await;
    }
}

/// A request in flight, from its head to the last byte of its reply.
struct InFlightRequest {
    timers: Arc<ConnectionTimers>,
    in_flight_count: Arc<AtomicUsize>,
}

impl InFlightRequest {
    fn new(timers: Arc<ConnectionTimers>, in_flight_count: Arc<AtomicUsize>) -> InFlightRequest {
        timers.request_started();
        in_flight_count.fetch_add(1, Ordering::Relaxed);
        InFlightRequest { timers, in_flight_count }
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.in_flight_count.fetch_sub(1, Ordering::Relaxed);
        self.timers.reply_finished();
    }
}

/// A reply body. Dropping it ends the request.
struct InFlightBody<B> {
    body: B,
    #[expect(dead_code, reason = "only its drop matters")]
    request: InFlightRequest,
}

impl<B: Body + Unpin> Body for InFlightBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
