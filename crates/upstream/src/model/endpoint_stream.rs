//! The reply stream of an endpoint: connects, retries transient errors, repairs a refused history
//! once, and reads the reply.
//!
//! All state is here and not in the polled future: dropping a wait loses nothing, and dropping the
//! stream cancels the request.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_core::{ErrorExplanation, Policy};
use foxwedge_formats::stream::StreamLimits;
use foxwedge_tools::ToolFuture;
use http::{HeaderMap, StatusCode, header};

use super::{
    ModelDescription, ModelError, ReplyDelta, ReplyStream, ValidRequest,
    failure::{self, cut_off_error, unreachable_error, unreadable_reply_error},
    reply_reader::{ReplyReadEnd, ReplyReader},
};

use crate::{
    RefusedRequest, RejectionClass, RepairedRetry, UpstreamConfig,
    http::{HttpClient, HttpError, IncomingBody},
    repair_for_retry,
    send::{
        AttemptObserver, RetryAfter, RetryCause, RetryPlan, RetryPolicy, UpstreamOperation,
        UpstreamRequest, UpstreamResponse, is_stream, send_with_retry,
    },
};

/// Maximum bytes of one stream event.
const MAX_EVENT_BYTES: usize = 4 << 20;
/// Maximum bytes of a reply.
const MAX_REPLY_BYTES: usize = 64 << 20;

/// A reply in progress.
pub(super) struct EndpointStream {
    endpoint_request: EndpointRequest,
    stage: EndpointStage,
    progress: SharedProgress,
    reader: ReplyReader,
    /// Returned after all deltas before it.
    failed: Option<ModelError>,
    /// A provider that fails before any content is retried.
    retry_policy: RetryPolicy,
}

/// The request, and where it goes.
#[derive(Clone)]
pub(super) struct EndpointRequest {
    pub(super) client: HttpClient,
    pub(super) upstream: Arc<UpstreamConfig>,
    /// The policy for the repair of a refused history; `None` if it is not repaired.
    pub(super) repair: Option<Policy>,
    pub(super) about: ModelDescription,
    pub(super) request: ValidRequest,
    /// Whether the reply is to be streamed.
    pub(super) stream: bool,
    /// How long errors of the upstream are outlasted; `None` to give up after a few attempts.
    pub(super) patience: Option<Duration>,
}

enum EndpointStage {
    /// Waiting for the response.
    Sending(StageFuture<Result<UpstreamResponse, HttpError>>),
    /// Reading a streamed reply.
    Streaming(Box<IncomingBody>),
    /// Reading a whole reply.
    Fetching(StageFuture<Result<Bytes, HttpError>>),
    /// Pausing before a retry.
    Pausing(StageFuture<()>),
    Finished,
}

type StageFuture<T> = Pin<Box<dyn std::future::Future<Output = T> + Send>>;
type SharedProgress = Arc<Mutex<SendProgress>>;

/// What sending has led to so far.
#[derive(Default)]
struct SendProgress {
    /// Deltas that precede the reply.
    deltas: VecDeque<ReplyDelta>,
    /// The body that was sent after a refusal. Refused bytes are not sent again.
    repaired: Option<Bytes>,
}

impl EndpointStream {
    pub(super) fn new(endpoint_request: EndpointRequest) -> EndpointStream {
        let progress = SharedProgress::default();
        let retry_policy = RetryPolicy::new(endpoint_request.upstream.attempts);
        let retry_policy = match endpoint_request.patience {
            Some(patience) => retry_policy.with_patience(patience),
            None => retry_policy,
        };
        let (stage, reader) =
            (endpoint_request.start(&progress, &retry_policy), endpoint_request.new_reader());
        EndpointStream { endpoint_request, stage, progress, reader, failed: None, retry_policy }
    }

    /// A stream that fails before a request is sent.
    pub(super) fn failed(endpoint_request: EndpointRequest, error: ModelError) -> EndpointStream {
        let (reader, retry_policy) = (endpoint_request.new_reader(), RetryPolicy::new(1));
        let (stage, progress) = (EndpointStage::Finished, SharedProgress::default());
        EndpointStream {
            endpoint_request,
            stage,
            progress,
            reader,
            failed: Some(error),
            retry_policy,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<ReplyDelta>, ModelError>> {
        loop {
            if let Some(delta) = lock_progress(&self.progress)
                .deltas
                .pop_front()
                .or_else(|| self.reader.next_delta())
            {
                return Poll::Ready(Ok(Some(delta)));
            }
            if let Some(error) = self.failed.take() {
                return Poll::Ready(Err(error));
            }
            match &mut self.stage {
                EndpointStage::Finished => return Poll::Ready(Ok(None)),
                EndpointStage::Sending(response) => match response.as_mut().poll(context) {
                    Poll::Ready(result) => self.handle_response(result),
                    Poll::Pending if lock_progress(&self.progress).deltas.is_empty() => {
                        return Poll::Pending;
                    }
                    // The wait continues when the next delta is polled.
                    Poll::Pending => {}
                },
                EndpointStage::Streaming(incoming) => match incoming.poll_next(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(bytes))) => {
                        self.reader.push(&bytes);
                        if self.reader.is_finished() {
                            drain_body(incoming, context);
                        }
                        if self.reader.is_finished() || self.reader.is_unreadable() {
                            self.handle_stream_end(None);
                        }
                    }
                    Poll::Ready(Some(Err(error))) => self.handle_stream_end(Some(&error)),
                    Poll::Ready(None) => self.handle_stream_end(None),
                },
                EndpointStage::Fetching(fetching) => match fetching.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(body) => self.handle_body(body),
                },
                EndpointStage::Pausing(pause) => match pause.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => {
                        self.reader = self.endpoint_request.new_reader();
                        self.stage =
                            self.endpoint_request.start(&self.progress, &self.retry_policy);
                    }
                },
            }
        }
    }

    /// Handles the response head, or its error.
    fn handle_response(&mut self, response: Result<UpstreamResponse, HttpError>) {
        self.stage = match response {
            Ok(UpstreamResponse::Reply { headers, body, .. }) if is_streamed(&headers) => {
                EndpointStage::Streaming(Box::new(body))
            }
            Ok(UpstreamResponse::Reply { body, .. }) => {
                let max_bytes = MAX_REPLY_BYTES;
                EndpointStage::Fetching(Box::pin(body.read_all(max_bytes)))
            }
            Ok(UpstreamResponse::Error { status, body, .. }) => {
                let (format, upstream) =
                    (self.endpoint_request.about.wire, &self.endpoint_request.upstream);
                self.failed = Some(failure::refusal_error(status, &body, format, upstream));
                EndpointStage::Finished
            }
            Err(error) => {
                self.failed = Some(unreachable_error(&error));
                EndpointStage::Finished
            }
        };
    }

    /// Handles a whole reply.
    fn handle_body(&mut self, body: Result<Bytes, HttpError>) {
        self.stage = EndpointStage::Finished;
        match body {
            Ok(body) => match self.reader.read_whole(&body) {
                Some(end) => self.handle_end(end, None),
                None => self.failed = Some(unreadable_reply_error(&body)),
            },
            Err(error) => {
                self.failed = Some(cut_off_error(format!("the reply broke off: {error}")))
            }
        }
    }

    /// Handles the end of a stream.
    fn handle_stream_end(&mut self, error: Option<&HttpError>) {
        self.stage = EndpointStage::Finished;
        let end = self.reader.finish();
        self.handle_end(end, error);
    }

    fn handle_end(&mut self, end: ReplyReadEnd, error: Option<&HttpError>) {
        self.failed = match end {
            ReplyReadEnd::Whole => None,
            ReplyReadEnd::Failed(provider_error) => {
                let retryable =
                    failure::is_retryable(&provider_error) && !self.reader.has_content();
                let error = failure::stream_error(&provider_error, &self.endpoint_request.upstream);
                if let Some(pause) =
                    self.retry_policy.next_pause(RetryAfter::Unspecified).filter(|_| retryable)
                {
                    // Drop the usage deltas of the failed reply.
                    while self.reader.next_delta().is_some() {}
                    lock_progress(&self.progress)
                        .deltas
                        .push_back(ReplyDelta::Retrying { pause, why: error.message });
                    self.stage = EndpointStage::Pausing(Box::pin(tokio::time::sleep(pause)));
                    return;
                }
                Some(error)
            }
            ReplyReadEnd::Cut => Some(match error {
                Some(error) => cut_off_error(format!("the reply broke off: {error}")),
                None => cut_off_error("the reply broke off: it ended before the model had stopped"),
            }),
            ReplyReadEnd::Unreadable(stream_error) => {
                Some(cut_off_error(format!("the reply cannot be read on: {stream_error}")))
            }
            ReplyReadEnd::TooLong => Some(cut_off_error("the reply exceeds the size limit")),
        };
    }
}

impl ReplyStream for EndpointStream {
    fn next_delta(&mut self) -> ToolFuture<'_, Result<Option<ReplyDelta>, ModelError>> {
        Box::pin(poll_fn(|context| self.poll(context)))
    }

    fn take_message(&mut self) -> Option<String> {
        self.stage = EndpointStage::Finished;
        self.reader.take_message()
    }
}

impl EndpointRequest {
    fn new_reader(&self) -> ReplyReader {
        let limits = StreamLimits { frame: MAX_EVENT_BYTES, held: MAX_REPLY_BYTES };
        // The same request yields the same ids, and no other request does.
        let seed = blake3::hash(self.request.body()).to_hex().to_string();
        ReplyReader::new(self.about.wire, self.about.profile.id_rule(), limits, seed)
    }

    /// Sends the request. All its attempts share one count, also those after a reply that broke
    /// off.
    fn start(&self, progress: &SharedProgress, policy: &RetryPolicy) -> EndpointStage {
        let (endpoint_request, progress) = (self.clone(), progress.clone());
        let plan = RetryPlan { policy: policy.clone(), budget: None };
        EndpointStage::Sending(Box::pin(async move {
            let EndpointRequest { client, upstream, repair, about, request, stream, .. } =
                endpoint_request;
            let headers: HeaderMap =
                [(header::USER_AGENT, header::HeaderValue::from_static(USER_AGENT))]
                    .into_iter()
                    .collect();
            let upstream_request = UpstreamRequest {
                upstream: &upstream,
                operation: UpstreamOperation::Generate,
                format: about.wire,
                client_format: about.wire,
                model: &about.name,
                stream,
                headers: &headers,
                client_key: None,
                trace: None,
            };
            let repaired = lock_progress(&progress).repaired.clone();
            // A history is repaired once, also if the reply to it broke off.
            let repair = repair.filter(|_| repaired.is_none());
            let body = repaired.unwrap_or_else(|| request.body().clone());
            let mut observer =
                EndpointObserver { upstream: &upstream, repair, about: &about, progress };
            let response =
                send_with_retry(&client, upstream_request, body, plan, &mut observer).await;
            response.map_err(|(error, _)| error)
        }))
    }
}

/// Our user agent.
const USER_AGENT: &str = concat!("foxwedge/", env!("CARGO_PKG_VERSION"));

/// Queues deltas about retries and repairs, and repairs a refused request.
struct EndpointObserver<'a> {
    upstream: &'a UpstreamConfig,
    repair: Option<Policy>,
    about: &'a ModelDescription,
    progress: SharedProgress,
}

impl AttemptObserver for EndpointObserver<'_> {
    fn attempt_finished(&mut self, _: Option<StatusCode>) {}

    fn request_refused(&mut self, _: RejectionClass) {}

    fn repair_request(
        &mut self,
        sent: &Bytes,
        error: &str,
        explanation: &ErrorExplanation<'_>,
    ) -> Option<Bytes> {
        let ModelDescription { name: model, wire, profile, .. } = self.about;
        let refused = RefusedRequest { body: sent, error, format: *wire, profile: *profile, model };
        let RepairedRetry { body, check_options, changes } =
            repair_for_retry(refused, self.repair?, explanation)?;
        let request = ValidRequest::validate(body, *wire, &check_options).ok()?;
        let mut progress = lock_progress(&self.progress);
        progress.deltas.push_back(ReplyDelta::Repaired(changes));
        progress.repaired = Some(request.body().clone());
        progress.repaired.clone()
    }

    fn retrying(&mut self, cause: RetryCause<'_>) {
        let upstream = self.upstream;
        let (pause, why): (Duration, String) = match cause {
            RetryCause::Repaired => return,
            RetryCause::ProviderError { pause, status, body } => {
                (pause, failure::refusal_error(status, body, self.about.wire, upstream).message)
            }
            RetryCause::Unreachable { pause, error } => (pause, unreachable_error(error).message),
        };
        let why = failure::truncate_text(&why, 400);
        lock_progress(&self.progress).deltas.push_back(ReplyDelta::Retrying { pause, why });
    }
}

fn is_streamed(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    is_stream(headers) || kind.is_some_and(|kind| kind.starts_with("application/vnd.amazon.event"))
}

/// Reads what follows the end, if it is there, so that the connection can be reused.
fn drain_body(incoming: &mut IncomingBody, context: &mut Context<'_>) {
    for _ in 0..4 {
        match incoming.poll_next(context) {
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(None | Some(Err(_))) | Poll::Pending => return,
        }
    }
}

fn lock_progress(progress: &SharedProgress) -> std::sync::MutexGuard<'_, SendProgress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
