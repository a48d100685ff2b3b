//! `GET /v1/console/feed/events`: streams requests as they end. A slow reader blocks nothing:
//! requests that it misses are counted and reported.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use crate::request_monitor::{RequestEntry, RequestMonitor};
use crate::{ApiError, GatewayEngine};
use bytes::Bytes;
use http::{HeaderValue, Method, Response, header};
use http_body::{Body, Frame};
use serde_json::json;
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep},
};

use super::feed::{KnownRepairs, RequestFilter};
use crate::{
    HttpReply,
    api_request::ApiRequest,
    error,
    gateway_state::GatewayState,
    response_body::{ResponseBody, ResponseBodyError},
};

/// A keep-alive is sent after this much silence.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Maximum number of requests per batch.
const MAX_BATCH_REQUESTS: usize = 64;

/// `GET /v1/console/feed/events`.
pub(super) fn follow(app: &GatewayState, request: &ApiRequest<'_>) -> Result<HttpReply, ApiError> {
    let filter = RequestFilter::from_request(request)?;
    let newest = app.console.monitor.newest();
    let last = resume_position(request)?.unwrap_or_else(|| *newest.borrow());
    let body = match *request.method {
        Method::HEAD => ResponseBody::full(""),
        _ => ResponseBody::stream(RequestFeedBody::new(app, filter, request.owner(), last, newest)),
    };
    let mut reply = Response::new(body);
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(reply)
}

/// Where to resume.
fn resume_position(request: &ApiRequest<'_>) -> Result<Option<u64>, ApiError> {
    let invalid = || error::bad_request("`last-event-id` is the id of a request, as q-12");
    let header = request.headers.get("last-event-id").map(HeaderValue::to_str);
    let text = match (header, request.parameter("after")?) {
        (Some(text), _) => text.map_err(|_| invalid())?.to_owned(),
        (None, Some(text)) => text.into_owned(),
        (None, None) => return Ok(None),
    };
    match text.as_str() {
        "" => Ok(None),
        text => RequestEntry::number(text).map(Some).ok_or_else(invalid),
    }
}

type NewestRequestFuture = Pin<Box<dyn Future<Output = watch::Receiver<u64>> + Send>>;

struct RequestFeedBody {
    monitor: Arc<RequestMonitor>,
    engine: GatewayEngine,
    filter: RequestFilter,
    owner: Option<String>,
    last: u64,
    state: RequestFeedState,
    keep_alive_timer: Pin<Box<Sleep>>,
    /// Completes when the server shuts down.
    shutdown: Pin<Box<dyn Future<Output = ()> + Send>>,
}

enum RequestFeedState {
    /// There may be new requests.
    Ready(watch::Receiver<u64>),
    /// Nothing is new.
    Waiting(NewestRequestFuture),
    Ended,
}

impl RequestFeedBody {
    fn new(
        app: &GatewayState,
        filter: RequestFilter,
        owner: Option<&str>,
        last: u64,
        newest: watch::Receiver<u64>,
    ) -> RequestFeedBody {
        let mut draining = app.draining.clone();
        RequestFeedBody {
            monitor: app.console.monitor.clone(),
            engine: app.engine.clone(),
            filter,
            owner: owner.map(str::to_owned),
            last,
            state: RequestFeedState::Ready(newest),
            keep_alive_timer: Box::pin(sleep(KEEP_ALIVE_INTERVAL)),
            shutdown: Box::pin(async move {
                // A dropped sender means shutdown, too.
                let _ = draining.wait_for(|draining| *draining).await;
            }),
        }
    }

    /// The requests since the last batch, as events.
    fn next_events(&mut self) -> String {
        let batch = self
            .monitor
            .ring()
            .after(self.last, MAX_BATCH_REQUESTS, |entry| self.filter.matches(entry));
        self.last = batch.last;
        let mut text = String::new();
        if batch.missed > 0 {
            let missed = json!({ "missed": batch.missed });
            text.push_str(&format!("event: missed\ndata: {missed}\n\n"));
        }
        if !batch.entries.is_empty() {
            let repairs = KnownRepairs::from_engine(&self.engine, self.owner.as_deref());
            for entry in &batch.entries {
                let (id, told) = (entry.id(), repairs.entry_json(entry));
                text.push_str(&format!("id: {id}\nevent: request\ndata: {told}\n\n"));
            }
        }
        text
    }

    fn poll_events(&mut self, context: &mut Context<'_>) -> Option<String> {
        loop {
            match std::mem::replace(&mut self.state, RequestFeedState::Ended) {
                RequestFeedState::Ended => return None,
                RequestFeedState::Waiting(mut waiting) => match waiting.as_mut().poll(context) {
                    Poll::Ready(newest) => self.state = RequestFeedState::Ready(newest),
                    Poll::Pending => {
                        self.state = RequestFeedState::Waiting(waiting);
                        return None;
                    }
                },
                RequestFeedState::Ready(mut newest) => {
                    // Read before the batch is taken: requests that arrive meanwhile wake us again.
                    let until = *newest.borrow_and_update();
                    let text = self.next_events();
                    let more = self.last < until || !text.is_empty();
                    self.state = match more {
                        true => RequestFeedState::Ready(newest),
                        false => RequestFeedState::Waiting(Box::pin(async move {
                            // This cannot fail: we hold the sender.
                            let _ = newest.changed().await;
                            newest
                        })),
                    };
                    if !text.is_empty() {
                        return Some(text);
                    }
                }
            }
        }
    }

    /// Whether a keep-alive is due.
    fn keep_alive(&mut self, context: &mut Context<'_>) -> bool {
        if self.keep_alive_timer.as_mut().poll(context).is_pending() {
            return false;
        }
        self.reset_keep_alive();
        // Polling once registers the waker for the new deadline.
        let _ = self.keep_alive_timer.as_mut().poll(context);
        true
    }

    fn reset_keep_alive(&mut self) {
        self.keep_alive_timer.as_mut().reset(Instant::now() + KEEP_ALIVE_INTERVAL);
    }
}

impl Body for RequestFeedBody {
    type Data = Bytes;
    type Error = ResponseBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseBodyError>>> {
        let this = &mut *self;
        if let Some(text) = this.poll_events(context) {
            this.reset_keep_alive();
            return Poll::Ready(Some(Ok(Frame::data(text.into()))));
        }
        if matches!(this.state, RequestFeedState::Ended) {
            return Poll::Ready(None);
        }
        // An error and not the end, so that the client reconnects and resumes.
        if this.shutdown.as_mut().poll(context).is_ready() {
            this.state = RequestFeedState::Ended;
            return Poll::Ready(Some(Err("the server stops".into())));
        }
        match this.keep_alive(context) {
            true => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n"))))),
            false => Poll::Pending,
        }
    }
}
