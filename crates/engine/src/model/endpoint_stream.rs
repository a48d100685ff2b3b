//! A reply of an endpoint on its way: connects, waits out passing trouble, has a refused history
//! repaired once, and reads what comes.
//!
//! Everything that goes on is kept here and not in the future that is polled: whoever drops a wait
//! loses nothing, and whoever drops this ends the request.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_core::{ErrorExplanation, Format};
use foxwedge_dialect::stream::StreamLimits;
use foxwedge_tools::ToolFuture;
use http::{HeaderMap, StatusCode, header};

use super::{
    ModelDescription, ModelError, ReplyDelta, ReplyStream, ValidRequest,
    failure::{self, cut_off_error, unreachable_error, unreadable_reply_error},
    reply_reader::{ReplyReadEnd, ReplyReader},
};
use crate::{
    GatewayEndpoint, RequestCaller,
    config::{self, GuardMode, ModelRoute, RepairRetry},
    guard::{RejectionClass, RepairedRetry, repair_for_retry},
    http::{HttpClient, HttpError, IncomingBody},
    upstream::{
        AttemptObserver, RetryAfter, RetryCause, RetryPlan, RetryPolicy, UpstreamRequest,
        UpstreamResponse, is_stream, send_with_retry,
    },
};

/// A reply on its way.
pub(super) struct EndpointStream {
    endpoint_request: EndpointRequest,
    stage: EndpointStage,
    /// What is told before the reply begins.
    deltas: PendingDeltas,
    reader: ReplyReader,
    /// Told once everything before it is.
    failed: Option<ModelError>,
    /// A provider that fails before it has said a word is asked again.
    retry_policy: RetryPolicy,
}

/// What is asked, and whom.
#[derive(Clone)]
pub(super) struct EndpointRequest {
    pub(super) client: HttpClient,
    pub(super) route: Arc<ModelRoute>,
    pub(super) about: ModelDescription,
    pub(super) request: ValidRequest,
    /// Whether the reply is to come in pieces.
    pub(super) stream: bool,
}

enum EndpointStage {
    /// Until there is a reply.
    Sending(StageFuture<Result<UpstreamResponse, HttpError>>),
    /// The reply comes in pieces.
    Streaming(Box<IncomingBody>),
    /// The reply comes at once.
    Fetching(StageFuture<Result<Bytes, HttpError>>),
    /// Before it is asked again.
    Pausing(StageFuture<()>),
    Finished,
}

type StageFuture<T> = Pin<Box<dyn std::future::Future<Output = T> + Send>>;
type PendingDeltas = Arc<Mutex<VecDeque<ReplyDelta>>>;

impl EndpointStream {
    pub(super) fn new(asking: EndpointRequest) -> EndpointStream {
        let told = PendingDeltas::default();
        let patience = RetryPolicy::new(asking.route.upstream.tries);
        let (stage, reading) = (asking.start(&told, &patience), asking.new_reader());
        EndpointStream {
            endpoint_request: asking,
            stage,
            deltas: told,
            reader: reading,
            failed: None,
            retry_policy: patience,
        }
    }

    /// One that never began.
    pub(super) fn failed(asking: EndpointRequest, error: ModelError) -> EndpointStream {
        let (reading, patience) = (asking.new_reader(), RetryPolicy::new(1));
        let (stage, told) = (EndpointStage::Finished, PendingDeltas::default());
        EndpointStream {
            endpoint_request: asking,
            stage,
            deltas: told,
            reader: reading,
            failed: Some(error),
            retry_policy: patience,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<ReplyDelta>, ModelError>> {
        loop {
            if let Some(piece) =
                lock_deltas(&self.deltas).pop_front().or_else(|| self.reader.next_delta())
            {
                return Poll::Ready(Ok(Some(piece)));
            }
            if let Some(error) = self.failed.take() {
                return Poll::Ready(Err(error));
            }
            match &mut self.stage {
                EndpointStage::Finished => return Poll::Ready(Ok(None)),
                EndpointStage::Sending(asking) => match asking.as_mut().poll(context) {
                    Poll::Ready(said) => self.handle_response(said),
                    Poll::Pending if lock_deltas(&self.deltas).is_empty() => return Poll::Pending,
                    // It goes on waiting when the next piece is asked for.
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
                        self.stage = self.endpoint_request.start(&self.deltas, &self.retry_policy);
                    }
                },
            }
        }
    }

    /// There is a head of a reply, or none will come.
    fn handle_response(&mut self, said: Result<UpstreamResponse, HttpError>) {
        self.stage = match said {
            Ok(UpstreamResponse::Reply { headers, body, .. }) if is_streamed(&headers) => {
                EndpointStage::Streaming(Box::new(body))
            }
            Ok(UpstreamResponse::Reply { body, .. }) => {
                let most = config::GatewayLimits::default().reply;
                EndpointStage::Fetching(Box::pin(body.read_all(most)))
            }
            Ok(UpstreamResponse::Error { status, body, .. }) => {
                let (wire, upstream) =
                    (self.endpoint_request.about.wire, &self.endpoint_request.route.upstream);
                self.failed = Some(failure::refusal_error(status, &body, wire, upstream));
                EndpointStage::Finished
            }
            Err(error) => {
                self.failed = Some(unreachable_error(&error));
                EndpointStage::Finished
            }
        };
    }

    /// A reply in one piece is there.
    fn handle_body(&mut self, body: Result<Bytes, HttpError>) {
        self.stage = EndpointStage::Finished;
        match body {
            Ok(body) => match self.reader.read_whole(&body) {
                Some(ended) => self.handle_end(ended, None),
                None => self.failed = Some(unreadable_reply_error(&body)),
            },
            Err(error) => {
                self.failed = Some(cut_off_error(format!("the reply broke off: {error}")))
            }
        }
    }

    /// A stream has ended, well or not.
    fn handle_stream_end(&mut self, error: Option<&HttpError>) {
        self.stage = EndpointStage::Finished;
        let ended = self.reader.finish();
        self.handle_end(ended, error);
    }

    fn handle_end(&mut self, ended: ReplyReadEnd, error: Option<&HttpError>) {
        self.failed = match ended {
            ReplyReadEnd::Whole => None,
            ReplyReadEnd::Failed(failed) => {
                let passing = failure::is_retryable(&failed) && !self.reader.has_content();
                let error = failure::stream_error(&failed, &self.endpoint_request.route.upstream);
                if let Some(pause) =
                    self.retry_policy.next_pause(RetryAfter::Unspecified).filter(|_| passing)
                {
                    // What came so far are figures of a reply that never was.
                    while self.reader.next_delta().is_some() {}
                    lock_deltas(&self.deltas)
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
            ReplyReadEnd::Unreadable(trouble) => {
                Some(cut_off_error(format!("the reply cannot be read on: {trouble}")))
            }
            ReplyReadEnd::TooLong => Some(cut_off_error("the reply is longer than can be kept")),
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
        let most = config::GatewayLimits::default();
        let limits = StreamLimits { frame: most.event, held: most.reply };
        // The same request gives the same ids, and no other does.
        let seed = blake3::hash(self.request.body()).to_hex().to_string();
        ReplyReader::new(self.about.wire, self.about.profile.id_rule(), limits, seed)
    }

    /// All tries of a request are counted together, those before a reply and those after one that broke
    /// off.
    fn start(&self, told: &PendingDeltas, patience: &RetryPolicy) -> EndpointStage {
        let (asking, told) = (self.clone(), told.clone());
        let plan = RetryPlan { policy: patience.clone(), budget: None };
        EndpointStage::Sending(Box::pin(async move {
            let EndpointRequest { client, route, about, request, stream } = asking;
            let headers: HeaderMap =
                [(header::USER_AGENT, header::HeaderValue::from_static(USER_AGENT))]
                    .into_iter()
                    .collect();
            let caller = RequestCaller { owner: "local".into(), client_key: None };
            let sending = UpstreamRequest {
                upstream: &route.upstream,
                face: endpoint_for(about.wire),
                wire: about.wire,
                model: &about.name,
                stream,
                headers: &headers,
                caller: &caller,
                trace: None,
            };
            let mut desk = EndpointObserver { route: &route, wire: about.wire, deltas: told };
            let said =
                send_with_retry(&client, sending, request.body().clone(), plan, &mut desk).await;
            said.map_err(|(error, _)| error)
        }))
    }
}

/// Who we say that we are.
const USER_AGENT: &str = concat!("foxwedge/", env!("CARGO_PKG_VERSION"));

/// The endpoint of a format; Gemini and Bedrock have paths of their own.
fn endpoint_for(wire: Format) -> GatewayEndpoint {
    match wire {
        Format::OpenaiResponses => GatewayEndpoint::Responses,
        Format::Anthropic => GatewayEndpoint::Messages,
        Format::OpenaiChat | Format::Gemini | Format::Bedrock => GatewayEndpoint::Chat,
    }
}

/// Tells what happens, and has a refused request repaired and proven.
struct EndpointObserver<'a> {
    route: &'a ModelRoute,
    wire: Format,
    deltas: PendingDeltas,
}

impl AttemptObserver for EndpointObserver<'_> {
    fn attempt_finished(&mut self, _: Option<StatusCode>) {}

    fn request_refused(&mut self, _: RejectionClass) {}

    fn repair_request(
        &mut self,
        sent: &Bytes,
        explanation: &ErrorExplanation<'_>,
    ) -> Option<Bytes> {
        match (self.route.guard.mode, self.route.guard.heal) {
            (GuardMode::Fix, RepairRetry::Once) => {}
            (GuardMode::Fix | GuardMode::Off | GuardMode::Observe | GuardMode::Strict, _) => {
                return None;
            }
        }
        let RepairedRetry { body, check_options: question, changes } =
            repair_for_retry(sent, self.wire, self.route, explanation)?;
        let sealed = ValidRequest::validate(body, self.wire, &question).ok()?;
        lock_deltas(&self.deltas).push_back(ReplyDelta::Repaired(changes));
        Some(sealed.body().clone())
    }

    fn retrying(&mut self, again: RetryCause<'_>) {
        let upstream = &self.route.upstream;
        let (pause, why): (Duration, String) = match again {
            RetryCause::Repaired => return,
            RetryCause::ProviderError { pause, status, words } => {
                (pause, failure::refusal_error(status, words, self.wire, upstream).message)
            }
            RetryCause::Unreachable { pause, error } => (pause, unreachable_error(error).message),
        };
        let why = failure::truncate_text(&why, 400);
        lock_deltas(&self.deltas).push_back(ReplyDelta::Retrying { pause, why });
    }
}

fn is_streamed(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    is_stream(headers) || kind.is_some_and(|kind| kind.starts_with("application/vnd.amazon.event"))
}

/// Takes what stands behind the end, if it is there, so that the connection can be used again.
fn drain_body(incoming: &mut IncomingBody, context: &mut Context<'_>) {
    for _ in 0..4 {
        match incoming.poll_next(context) {
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(None | Some(Err(_))) | Poll::Pending => return,
        }
    }
}

fn lock_deltas(told: &PendingDeltas) -> std::sync::MutexGuard<'_, VecDeque<ReplyDelta>> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}
