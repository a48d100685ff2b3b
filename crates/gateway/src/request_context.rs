//! The context of one request, from its head to the last byte of its reply, and its log line.

use std::{
    borrow::Cow,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::{Instant, SystemTime},
};

use crate::{
    ApiError, ApiErrorKind, GatewayEndpoint, RequestSummary,
    metrics::{self, GaugeGuard, Metrics},
};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;

use crate::{
    caller_limit::CallerPermit,
    log::{DeliveryOutcome, RequestLog, RequestLogLine},
    request_monitor::RequestMonitor,
    response_body::{ResponseBody, ResponseBodyError},
};

/// A handler panicked. The panic message is dropped, because it may contain anything.
#[derive(Debug)]
pub(crate) struct HandlerPanic;

/// Awaits a future and turns a panic into an error.
pub(crate) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, HandlerPanic> {
    let mut future = pin!(future);
    poll_fn(|context| {
        // The future is not polled again after a panic.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(HandlerPanic)),
        }
    })
    .await
}

/// The code of the error with which the shutdown ends a request that takes too long.
const SHUTTING_DOWN: &str = "shutting_down";

/// Signals that the time of the requests in flight is over: the gateway shuts down. Cheap to clone;
/// clones share the signal.
#[derive(Clone, Default)]
pub(crate) struct CutSignal(watch::Sender<bool>);

impl CutSignal {
    /// Ends the requests in flight.
    pub(crate) fn send(&self) {
        self.0.send_replace(true);
    }

    fn is_sent(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for a reply, at most until the signal.
    ///
    /// # Errors
    /// That of the reply, or the one that says that the gateway shuts down.
    pub(crate) async fn reply_before<T>(
        &self,
        reply: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let mut signal = self.0.subscribe();
        tokio::select! {
            biased;
            _ = signal.wait_for(|is_sent| *is_sent) => {
                let message = "the gateway is shutting down";
                Err(ApiError::new(ApiErrorKind::Unavailable, SHUTTING_DOWN, message))
            }
            reply = reply => reply,
        }
    }
}

/// What is known about a request. Dropping it ends the request and writes the log line.
pub(crate) struct RequestContext {
    log: RequestLog,
    metrics: Metrics,
    started: Instant,
    at: SystemTime,
    first_byte: Option<Instant>,
    bytes_out: u64,
    ended: DeliveryOutcome,
    cut: CutSignal,
    /// Request id.
    pub(crate) id: Arc<str>,
    /// HTTP method.
    pub(crate) method: Method,
    /// The path, masked for the log.
    pub(crate) path: Cow<'static, str>,
    /// The owner of the token.
    pub(crate) owner: Option<Arc<str>>,
    /// The `User-Agent` of the client.
    pub(crate) agent: Option<Box<str>>,
    /// Bytes of the request's body.
    pub(crate) bytes_in: usize,
    /// The status of the reply.
    pub(crate) status: StatusCode,
    /// The engine's summary of the request.
    pub(crate) summary: RequestSummary,
    /// Counts against the request limit of the owner.
    pub(crate) permit: Option<CallerPermit>,
    /// The monitor that records the finished request, and its endpoint.
    pub(crate) monitor: Option<(Arc<RequestMonitor>, GatewayEndpoint)>,
    _gauge: GaugeGuard,
}

impl RequestContext {
    pub(crate) fn new(
        log: RequestLog,
        metrics: Metrics,
        id: Arc<str>,
        method: Method,
        cut: CutSignal,
    ) -> RequestContext {
        RequestContext {
            _gauge: metrics.track_request(),
            log,
            metrics,
            started: Instant::now(),
            at: SystemTime::now(),
            first_byte: None,
            bytes_out: 0,
            ended: DeliveryOutcome::ClientGone,
            cut,
            id,
            method,
            path: Cow::Borrowed(""),
            owner: None,
            agent: None,
            bytes_in: 0,
            // The status that is logged if the client leaves before the reply begins.
            status: StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST),
            summary: RequestSummary::default(),
            permit: None,
            monitor: None,
        }
    }

    /// Keeps `User-Agent`, the only client header that the log repeats.
    pub(crate) fn set_user_agent(&mut self, headers: &HeaderMap) {
        let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        self.agent = agent.map(Box::from);
    }

    /// Notes that the reply begins.
    pub(crate) fn start_reply(&mut self, status: StatusCode, route: metrics::MetricRoute) {
        self.first_byte = Some(Instant::now());
        self.status = status;
        self.metrics.count_reply(route, status);
    }
}

impl Drop for RequestContext {
    fn drop(&mut self) {
        if let Some(code) = self.summary.stream_error.get().copied() {
            // The last thing that the client got is an error.
            self.summary.error_code = Some(code);
            self.ended = match code {
                SHUTTING_DOWN => DeliveryOutcome::Shutdown,
                _ => DeliveryOutcome::Failed,
            };
        } else if self.ended == DeliveryOutcome::ClientGone && self.cut.is_sent() {
            self.ended = DeliveryOutcome::Shutdown;
            self.summary.error_code = Some(SHUTTING_DOWN);
            if self.first_byte.is_none() {
                self.status = StatusCode::SERVICE_UNAVAILABLE;
            }
        }
        self.metrics.count_bytes(
            metrics::ByteDirection::Out,
            usize::try_from(self.bytes_out).unwrap_or(usize::MAX),
        );
        let until_end = self.started.elapsed();
        let until_first_byte = self.first_byte.map_or(until_end, |at| at - self.started);
        let line = RequestLogLine {
            at: self.at,
            id: self.id.clone(),
            method: self.method.clone(),
            path: std::mem::take(&mut self.path),
            owner: self.owner.take(),
            agent: self.agent.take(),
            status: self.status,
            summary: std::mem::take(&mut self.summary),
            until_first_byte,
            until_end,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            ended: self.ended,
        };
        if let Some((monitor, endpoint)) = &self.monitor {
            monitor.record_request(*endpoint, &line);
        }
        if self.log.is_enabled() {
            self.log.write_line(line);
        }
    }
}

/// A reply body together with the context of its request.
pub(crate) struct TrackedBody {
    body: ResponseBody,
    context: RequestContext,
    /// Length of the body, if it is known.
    size: Option<u64>,
}

impl TrackedBody {
    pub(crate) fn new(
        body: ResponseBody,
        mut context: RequestContext,
        headers: &HeaderMap,
    ) -> TrackedBody {
        let content_length = headers.get(header::CONTENT_LENGTH);
        let content_length = content_length.and_then(|value| value.to_str().ok()?.parse().ok());
        let size = body.size_hint().exact().or(content_length);
        if size == Some(0) || context.method == Method::HEAD {
            context.ended = DeliveryOutcome::Complete;
        }
        TrackedBody { body, context, size }
    }
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = ResponseBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseBodyError>>> {
        let body = &mut self.body;
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(body).poll_frame(context)))
            .unwrap_or_else(|_| Poll::Ready(Some(Err("the reply was interrupted".into()))));
        match &polled {
            Poll::Pending => {}
            Poll::Ready(None) => self.context.ended = DeliveryOutcome::Complete,
            Poll::Ready(Some(Err(_))) => self.context.ended = DeliveryOutcome::Failed,
            Poll::Ready(Some(Ok(frame))) => {
                self.context.bytes_out += frame.data_ref().map_or(0, |data| data.len() as u64);
                if Some(self.context.bytes_out) == self.size {
                    self.context.ended = DeliveryOutcome::Complete;
                }
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use crate::config;

    use super::*;

    #[tokio::test]
    async fn a_panic_ends_only_its_own_request() {
        assert!(catch_panic(async { panic!("canary") }).await.is_err());
        assert_eq!(catch_panic(async { 7 }).await.ok(), Some(7));
    }

    /// A body that panics.
    struct PanickingBody;

    impl Body for PanickingBody {
        type Data = Bytes;
        type Error = ResponseBodyError;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, ResponseBodyError>>> {
            panic!("canary")
        }
    }

    #[test]
    fn a_panic_in_a_reply_ends_it_with_a_generic_error() {
        let metrics = Metrics::new();
        let (log, _writer) =
            RequestLog::start(config::GatewayLogFormat::Off, None, metrics.clone())
                .expect("nothing");
        let request =
            RequestContext::new(log, metrics, "r1".into(), Method::GET, CutSignal::default());
        let mut body =
            TrackedBody::new(ResponseBody::stream(PanickingBody), request, &HeaderMap::new());
        let polled = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Some(Err(error))) = polled else { panic!("it goes on") };
        assert_eq!(error.to_string(), "the reply was interrupted");
        assert_eq!(body.context.ended, DeliveryOutcome::Failed);
    }
}
