//! One connection: its requests one after the other, until it ends, is late, or has to stop.

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
use tokio::{net::TcpStream, sync::watch};

use super::{ConnectionAddresses, ConnectionRules, socket::TimedSocket, timers::ConnectionTimers};

/// Everything a connection needs.
pub(super) struct ClientConnection<F> {
    pub(super) rules: ConnectionRules,
    pub(super) peer: ConnectionAddresses,
    pub(super) answer: F,
    pub(super) at_work: Arc<AtomicUsize>,
    pub(super) stopped: watch::Receiver<bool>,
}

/// hyper wants at least this much.
const LEAST_BUFFER: usize = 8 << 10;

impl<F, R, B> ClientConnection<F>
where
    F: Fn(Request<Incoming>, ConnectionAddresses) -> R + Send + 'static,
    R: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Ends when the connection does. How it ended is nobody's business: a client may go whenever
    /// it likes.
    pub(super) async fn run(mut self, stream: TcpStream) {
        let pulse = Arc::new(ConnectionTimers::new(self.rules));
        let socket = TimedSocket::new(stream, pulse.clone());
        let service = {
            let (pulse, at_work) = (pulse.clone(), self.at_work.clone());
            let (answer, peer) = (self.answer, self.peer);
            service_fn(move |request: Request<Incoming>| {
                let has_body = !request.body().is_end_stream();
                let work = InFlightRequest::new(pulse.clone(), at_work.clone());
                let answer = answer(request, peer);
                // hyper keeps the room for a future as long as the connection lives; this one needs
                // much, and only until the reply begins.
                Box::pin(async move {
                    let response = answer.await;
                    if has_body && !response.status().is_success() {
                        work.pulse.note_refused();
                    }
                    Ok::<_, Infallible>(response.map(|body| InFlightBody { body, work }))
                })
            })
        };
        let buffer = self.rules.head_bytes.max(LEAST_BUFFER);
        let mut connection = pin!(
            http1::Builder::new()
                // Ours are beside the connection: hyper's would close a resting one, too.
                .header_read_timeout(None)
                .max_buf_size(buffer)
                .max_header_size(self.rules.head_bytes)
                .serve_connection(socket, service)
        );
        let mut timer = pin!(tokio::time::sleep_until(pulse.next_deadline()));
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
                let due = pulse.next_deadline();
                if due < timer.deadline() {
                    timer.as_mut().reset(due);
                }
                if timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                if pulse.is_late() {
                    return Poll::Ready(());
                }
                timer.as_mut().reset(pulse.next_deadline());
            }
        })
        .await;
    }
}

/// A request, from its head to the last byte of its reply.
struct InFlightRequest {
    pulse: Arc<ConnectionTimers>,
    at_work: Arc<AtomicUsize>,
}

impl InFlightRequest {
    fn new(pulse: Arc<ConnectionTimers>, at_work: Arc<AtomicUsize>) -> InFlightRequest {
        pulse.request_started();
        at_work.fetch_add(1, Ordering::Relaxed);
        InFlightRequest { pulse, at_work }
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.at_work.fetch_sub(1, Ordering::Relaxed);
        self.pulse.reply_finished();
    }
}

/// A reply's body; the request is over when it is dropped.
struct InFlightBody<B> {
    body: B,
    #[expect(dead_code, reason = "its end is what counts")]
    work: InFlightRequest,
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
