//! A request at work: from its head to the last byte of its reply, and the line that tells of it.

use std::{
    borrow::Cow,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::{Instant, SystemTime},
};

use bytes::Bytes;
use foxwedge_engine::{
    GatewayEndpoint, RequestSummary,
    metrics::{self, GaugeGuard, Metrics},
};
use http::{HeaderMap, Method, StatusCode, header};
use http_body::{Body, Frame, SizeHint};

use crate::{
    caller_limit::CallerPermit,
    console::{FinishedRequest, RequestMonitor},
    log::{DeliveryOutcome, RequestLog, RequestLogLine},
    response_body::{ResponseBody, ResponseBodyError},
};

/// Somebody's work panicked. What it said is not told: it may be anything.
#[derive(Debug)]
pub(crate) struct HandlerPanic;

/// Waits for a future, and lives on if it panics.
pub(crate) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, HandlerPanic> {
    let mut future = pin!(future);
    poll_fn(|context| {
        // It is not polled again after a panic.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(HandlerPanic)),
        }
    })
    .await
}

/// What is known of a request. Dropping it is its end.
pub(crate) struct RequestContext {
    log: RequestLog,
    meter: Metrics,
    started: Instant,
    at: SystemTime,
    first: Option<Instant>,
    bytes_out: u64,
    ended: DeliveryOutcome,
    /// The id.
    pub(crate) id: Arc<str>,
    /// The method.
    pub(crate) method: Method,
    /// The path, fit for a log.
    pub(crate) path: Cow<'static, str>,
    /// Who asks.
    pub(crate) owner: Option<Arc<str>>,
    /// The client's program.
    pub(crate) agent: Option<Box<str>>,
    /// Bytes of the request's body.
    pub(crate) bytes_in: usize,
    /// The status of the reply.
    pub(crate) status: StatusCode,
    /// What the engine tells.
    pub(crate) summary: RequestSummary,
    /// A place among the requests of the owner.
    pub(crate) permit: Option<CallerPermit>,
    /// Who is told of it when it is over, and at which face it asked.
    pub(crate) monitor: Option<(Arc<RequestMonitor>, GatewayEndpoint)>,
    _metered: GaugeGuard,
}

impl RequestContext {
    pub(crate) fn new(
        log: RequestLog,
        meter: Metrics,
        id: Arc<str>,
        method: Method,
    ) -> RequestContext {
        RequestContext {
            _metered: meter.track_request(),
            log,
            meter,
            started: Instant::now(),
            at: SystemTime::now(),
            first: None,
            bytes_out: 0,
            ended: DeliveryOutcome::ClientGone,
            id,
            method,
            path: Cow::Borrowed(""),
            owner: None,
            agent: None,
            bytes_in: 0,
            // What a client that left before it was answered would have got.
            status: StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST),
            summary: RequestSummary::default(),
            permit: None,
            monitor: None,
        }
    }

    /// The program of the client: the one header that a log repeats.
    pub(crate) fn set_user_agent(&mut self, headers: &HeaderMap) {
        let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        self.agent = agent.map(Box::from);
    }

    /// The reply begins.
    pub(crate) fn start_reply(&mut self, status: StatusCode, route: metrics::MetricRoute) {
        self.first = Some(Instant::now());
        self.status = status;
        self.meter.count_reply(route, status);
    }
}

impl Drop for RequestContext {
    fn drop(&mut self) {
        self.meter.count_bytes(
            metrics::ByteDirection::Out,
            usize::try_from(self.bytes_out).unwrap_or(usize::MAX),
        );
        let whole = self.started.elapsed();
        let first = self.first.map_or(whole, |first| first - self.started);
        // Whoever has no token is not worth a place: anybody could fill it.
        if let (Some((watch, face)), Some(owner)) = (self.monitor.take(), &self.owner) {
            watch.record_request(FinishedRequest {
                at: self.at,
                request: &self.id,
                owner,
                face,
                agent: self.agent.as_deref(),
                summary: &self.summary,
                status: self.status,
                until_first_byte: first,
                until_end: whole,
                bytes_in: self.bytes_in as u64,
                bytes_out: self.bytes_out,
                ended: self.ended,
            });
        }
        if !self.log.is_enabled() {
            return;
        }
        self.log.write_line(RequestLogLine {
            at: self.at,
            id: self.id.clone(),
            method: self.method.clone(),
            path: self.path.clone(),
            owner: self.owner.take(),
            agent: self.agent.take(),
            status: self.status,
            summary: std::mem::take(&mut self.summary),
            until_first_byte: first,
            until_end: whole,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            ended: self.ended,
        });
    }
}

/// A reply's body, with the work that it belongs to.
pub(crate) struct TrackedBody {
    body: ResponseBody,
    context: RequestContext,
    /// How much there is, if that is known.
    size: Option<u64>,
}

impl TrackedBody {
    pub(crate) fn new(
        body: ResponseBody,
        mut work: RequestContext,
        headers: &HeaderMap,
    ) -> TrackedBody {
        let told = headers.get(header::CONTENT_LENGTH);
        let told = told.and_then(|told| told.to_str().ok()?.parse().ok());
        let size = body.size_hint().exact().or(told);
        if size == Some(0) || work.method == Method::HEAD {
            work.ended = DeliveryOutcome::Complete;
        }
        TrackedBody { body, context: work, size }
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
            .unwrap_or_else(|_| Poll::Ready(Some(Err("the reply broke off".into()))));
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

    use foxwedge_engine::config;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_the_end_of_one_request_only() {
        assert!(catch_panic(async { panic!("canary") }).await.is_err());
        assert_eq!(catch_panic(async { 7 }).await.ok(), Some(7));
    }

    /// A body that panics.
    struct Mad;

    impl Body for Mad {
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
    fn a_panic_in_a_reply_breaks_it_off_without_words() {
        let meter = Metrics::new();
        let (log, _writer) =
            RequestLog::start(config::GatewayLogFormat::Off, None, meter.clone()).expect("nothing");
        let work = RequestContext::new(log, meter, "r1".into(), Method::GET);
        let mut body = TrackedBody::new(ResponseBody::stream(Mad), work, &HeaderMap::new());
        let polled = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Some(Err(error))) = polled else { panic!("it goes on") };
        assert_eq!(error.to_string(), "the reply broke off");
        assert_eq!(body.context.ended, DeliveryOutcome::Failed);
    }
}
