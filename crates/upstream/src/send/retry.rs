//! Sends a request until the upstream replies. Transient errors are retried after a pause. A
//! history that is refused as invalid is repaired, and once more for each call that only the next error
//! names; refused bytes are never sent again unchanged. This is the only retry loop.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use foxwedge_core::{ErrorExplanation, Format};
use foxwedge_formats::{
    model::{ModelResponse, ProviderErrorKind, decode_reply},
    text,
};
use http::{HeaderMap, StatusCode};

use super::{
    RetryAfter, RetryPolicy, UpstreamOperation, UpstreamRequest,
    budget::{RetryBudget, RetryPermit},
    event_stream::recognize_stream,
    headers::is_stream,
    retry_policy::{RetryDecision, UpstreamTries, requested_delay},
    send_once,
};
use crate::{
    RejectionClass, classify_rejection,
    http::{HttpClient, HttpError, HttpErrorKind, HttpResponse, HttpStage, IncomingBody},
};

/// The target of the `tracing` events of this module. They hold names from the configuration and
/// numbers, never an address, a header or content.
const TARGET: &str = "foxwedge::upstream";

/// Maximum bytes of an error body that are read.
const MAX_ERROR_BODY: usize = 1 << 20;

/// Maximum bytes of a complete reply that may be an error.
const MAX_EMBEDDED_ERROR: usize = 64 << 10;

/// The response of an upstream.
pub enum UpstreamResponse {
    /// A success, with its body to read.
    Reply {
        /// The status.
        status: StatusCode,
        /// The headers.
        headers: HeaderMap,
        /// The body, still to be read.
        body: IncomingBody,
    },
    /// An error, with its whole body.
    Error {
        /// The status.
        status: StatusCode,
        /// The headers.
        headers: HeaderMap,
        /// The whole body.
        body: Bytes,
        /// Whether the client should retry.
        tries: UpstreamTries,
    },
}

/// Observes the attempts of a request, and repairs a refused one.
pub trait AttemptObserver {
    /// An attempt ended: its status, or `None` if the upstream was unreachable.
    fn attempt_finished(&mut self, status: Option<StatusCode>);

    /// The upstream refused the request.
    fn request_refused(&mut self, class: RejectionClass);

    /// The request, repaired for what the refusal names; `None` if it stays unchanged. Called again
    /// after a repair only for calls that no refusal has named before.
    fn repair_request(
        &mut self,
        sent: &Bytes,
        error: &str,
        explanation: &ErrorExplanation<'_>,
    ) -> Option<Bytes>;

    /// The request is sent again, after a pause or a repair.
    fn retrying(&mut self, again: RetryCause<'_>);
}

/// Why a request is sent again.
pub enum RetryCause<'a> {
    /// The request was repaired.
    Repaired,
    /// The upstream returned a transient error.
    ProviderError {
        /// The pause before the next attempt.
        pause: Duration,
        /// The status.
        status: StatusCode,
        /// The body of the error.
        body: &'a [u8],
    },
    /// The upstream could not be reached.
    Unreachable {
        /// The pause before the next attempt.
        pause: Duration,
        /// The error.
        error: &'a HttpError,
    },
}

/// How long a request waits for a retry permit.
const BUDGET_TIMEOUT: Duration = Duration::from_secs(30);

/// Retry policy and retry budget of a request.
pub struct RetryPlan<'a> {
    /// How often and when.
    pub policy: RetryPolicy,
    /// Shared by all requests to the upstream.
    pub budget: Option<&'a RetryBudget>,
}

/// Sends a request until there is a reply or a permanent error.
pub async fn send_with_retry(
    client: &HttpClient,
    sending: UpstreamRequest<'_>,
    mut body: Bytes,
    plan: RetryPlan<'_>,
    observer: &mut (dyn AttemptObserver + Send),
) -> Result<UpstreamResponse, (HttpError, UpstreamTries)> {
    let RetryPlan { policy, budget } = plan;
    let upstream = &*sending.upstream.name;
    let mut repairs = RefusalRepairs::default();
    let mut permit: Option<RetryPermit<'_>> = None;
    if let Some(budget) = budget {
        budget.count_request();
    }
    loop {
        let attempt = policy.next_attempt();
        let (failure, decision) = match send_once(client, sending, body.clone(), attempt).await {
            Ok(reply) => {
                let HttpResponse { status, mut headers, body: reply_body } = reply;
                let reply_body = recognize_stream(sending, status, &mut headers, reply_body).await;
                let (status, error_body) =
                    match embedded_error(sending, status, &headers, reply_body).await {
                        Ok(error) => error,
                        Err(reply_body) if status.is_success() => {
                            observer.attempt_finished(Some(status));
                            return Ok(UpstreamResponse::Reply {
                                status,
                                headers,
                                body: reply_body,
                            });
                        }
                        // A truncated error body is still an error.
                        Err(error_body) => {
                            (status, error_body.read_all(MAX_ERROR_BODY).await.unwrap_or_default())
                        }
                    };
                observer.attempt_finished(Some(status));
                if is_refusal(status)
                    && let Some((repaired_body, code)) =
                        repairs.repair(&body, &error_body, observer)
                {
                    let status = status.as_u16();
                    tracing::debug!(
                        target: TARGET, upstream, attempt, status, rule = %format_args!("FW{code}"),
                        "refused history repaired"
                    );
                    permit = None;
                    body = repaired_body;
                    observer.retrying(RetryCause::Repaired);
                    continue;
                }
                let is_retryable = RetryPolicy::is_retryable(status);
                let delay = match is_retryable {
                    true => requested_delay(&mut headers, &error_body, SystemTime::now()),
                    false => RetryAfter::Unspecified,
                };
                if !is_retryable || RetryPolicy::is_retry_refused(&headers) {
                    let tries = UpstreamTries::Unknown;
                    return Ok(UpstreamResponse::Error {
                        status,
                        headers,
                        body: error_body,
                        tries,
                    });
                }
                (RetryableFailure::Status(status, headers, error_body), policy.decide(delay))
            }
            Err(error) => {
                let (stage, kind) = (error.stage.name(), error.kind.name());
                tracing::debug!(target: TARGET, upstream, attempt, stage, kind, "upstream unreachable");
                observer.attempt_finished(None);
                if !is_retryable(&error) {
                    return Err((error, UpstreamTries::Unknown));
                }
                (RetryableFailure::Unreachable(error), policy.decide_unreachable())
            }
        };
        if let Some(permit) = permit.take() {
            permit.mark_failed();
        }
        let pause = match decision {
            RetryDecision::Retry(pause) => pause,
            RetryDecision::NotNow => return failure.into_result(UpstreamTries::Unknown),
            RetryDecision::Exhausted => return failure.into_result(policy.exhausted_tries()),
        };
        if let Some(budget) = budget {
            permit = budget.acquire_retry(BUDGET_TIMEOUT).await;
            if permit.is_none() {
                return failure.into_result(policy.exhausted_tries());
            }
        }
        let status = match &failure {
            RetryableFailure::Status(status, ..) => Some(status.as_u16()),
            RetryableFailure::Unreachable(_) => None,
        };
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(target: TARGET, upstream, attempt, status, pause_ms, "request retried");
        observer.retrying(match &failure {
            RetryableFailure::Status(status, _, body) => {
                RetryCause::ProviderError { pause, status: *status, body }
            }
            RetryableFailure::Unreachable(error) => RetryCause::Unreachable { pause, error },
        });
        tokio::time::sleep(pause).await;
    }
}

/// A transient failure.
enum RetryableFailure {
    Status(StatusCode, HeaderMap, Bytes),
    Unreachable(HttpError),
}

impl RetryableFailure {
    /// The result of a request that is not retried.
    fn into_result(
        self,
        tries: UpstreamTries,
    ) -> Result<UpstreamResponse, (HttpError, UpstreamTries)> {
        match self {
            RetryableFailure::Status(status, headers, body) => {
                Ok(UpstreamResponse::Error { status, headers, body, tries })
            }
            RetryableFailure::Unreachable(error) => Err((error, tries)),
        }
    }
}

/// The status and the body of an error that came with the status of a success, as routers send the
/// errors of their providers; else the body, still to be read.
async fn embedded_error(
    sending: UpstreamRequest<'_>,
    status: StatusCode,
    headers: &HeaderMap,
    body: IncomingBody,
) -> Result<(StatusCode, Bytes), IncomingBody> {
    if !status.is_success()
        || is_stream(headers)
        || sending.operation != UpstreamOperation::Generate
        || body.remaining_length().is_some_and(|length| length > MAX_EMBEDDED_ERROR as u64)
    {
        return Err(body);
    }
    let bytes = body.read_short(MAX_EMBEDDED_ERROR).await?;
    let passes = sending.client_format == sending.format && !sending.stream;
    if passes && sending.format == Format::OpenaiResponses && is_failed_response(&bytes) {
        return Err(IncomingBody::from_bytes(bytes));
    }
    match failure_of(&bytes, sending.format) {
        Some(kind) => Ok((embedded_status(kind), bytes)),
        None => Err(IncomingBody::from_bytes(bytes)),
    }
}

fn failure_of(body: &[u8], format: Format) -> Option<ProviderErrorKind> {
    let source = text(body).ok().filter(|source| source.contains("\"error\""))?;
    match decode_reply(source, format).ok()?.outcome {
        ModelResponse::Error(failure) => Some(failure.kind),
        ModelResponse::Reply(_) => None,
    }
}

/// Whether a body is a response of OpenAI that failed. OpenAI sends it as a success.
pub fn is_failed_response(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct ResponseState {
        object: String,
        status: String,
    }
    let state = serde_json::from_slice::<ResponseState>(body);
    state.is_ok_and(|state| state.object == "response" && state.status == "failed")
}

/// The status of an error that came without one.
pub fn embedded_status(kind: ProviderErrorKind) -> StatusCode {
    match kind {
        ProviderErrorKind::InvalidRequest | ProviderErrorKind::ContextOverflow => {
            StatusCode::BAD_REQUEST
        }
        ProviderErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ProviderErrorKind::Authentication => StatusCode::UNAUTHORIZED,
        ProviderErrorKind::Permission => StatusCode::FORBIDDEN,
        ProviderErrorKind::NotFound => StatusCode::NOT_FOUND,
        ProviderErrorKind::RateLimit => StatusCode::TOO_MANY_REQUESTS,
        ProviderErrorKind::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        ProviderErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ProviderErrorKind::Server => StatusCode::BAD_GATEWAY,
    }
}

/// Whether the status may mean that the request is invalid.
fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
}

/// How often a request is repaired. An error names one call at a time, and of calls that the provider
/// stores nothing else tells which ones have no result.
const MAX_REPAIRS: usize = 16;

/// The repairs of one request that was refused as invalid.
#[derive(Default)]
struct RefusalRepairs {
    count: usize,
    /// The calls that an error has named.
    named_calls: Vec<String>,
}

impl RefusalRepairs {
    /// Repairs a request. Returns it with the code of the rule that the error names.
    fn repair(
        &mut self,
        sent: &Bytes,
        error: &[u8],
        observer: &mut (dyn AttemptObserver + Send),
    ) -> Option<(Bytes, u16)> {
        let error = String::from_utf8_lossy(error);
        let (class, explanation) = classify_rejection(&error);
        observer.request_refused(class);
        let explanation = explanation.filter(|explanation| self.may_repair(explanation))?;
        // The same bytes would be refused again.
        let repaired = observer.repair_request(sent, &error, &explanation);
        let repaired = repaired.filter(|repaired| repaired != sent)?;
        self.count += 1;
        self.named_calls.extend(explanation.ids.iter().map(|id| (*id).to_owned()));
        Some((repaired, explanation.code))
    }

    /// Whether it is the first error, or one about calls that no error has named.
    fn may_repair(&self, explanation: &ErrorExplanation<'_>) -> bool {
        let is_new = |id: &&str| self.named_calls.iter().all(|named| named != id);
        self.count == 0
            || (self.count < MAX_REPAIRS
                && !explanation.ids.is_empty()
                && explanation.ids.iter().all(is_new))
    }
}

/// Whether a retry may succeed. Of timeouts only those while connecting are retried.
fn is_retryable(error: &HttpError) -> bool {
    match error.kind {
        HttpErrorKind::Closed | HttpErrorKind::Failed => error.stage != HttpStage::Tls,
        HttpErrorKind::Timeout => matches!(error.stage, HttpStage::Connect | HttpStage::Proxy),
        HttpErrorKind::Malformed
        | HttpErrorKind::TooLarge
        | HttpErrorKind::Forbidden
        | HttpErrorKind::Redirect => false,
    }
}

#[cfg(test)]
mod tests;
