//! Asks an upstream until it replies: passing trouble is waited out, a refusal of the history's
//! shape is repaired once, and never are the same bytes sent again after a refusal. There is no
//! other loop that asks.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use foxwedge_core::ErrorExplanation;
use http::{HeaderMap, StatusCode};

use super::{
    RetryPolicy, UpstreamRequest,
    budget::{RetryBudget, RetryPermit},
    retry_after,
    retry_policy::{RetryAfter, RetryDecision},
    send_once,
};
use crate::{
    guard::{RejectionClass, classify_rejection},
    http::{HttpClient, HttpError, HttpErrorKind, HttpStage, IncomingBody},
};

/// The longest error of an upstream that is read.
const MAX_ERROR_BODY: usize = 1 << 20;

/// What an upstream said.
pub(crate) enum UpstreamResponse {
    /// It replies.
    Reply { status: StatusCode, headers: HeaderMap, body: IncomingBody },
    /// It refuses, or is in trouble; all of its words.
    Error { status: StatusCode, headers: HeaderMap, body: Bytes, tries: UpstreamTries },
}

/// Whether it is of use to ask once more what an upstream did not reply to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UpstreamTries {
    /// It was asked as often as it is good for: whoever asks again does harm.
    Exhausted,
    /// Nothing is known about that.
    Unknown,
}

/// Looks on while an upstream is asked, and decides what is repaired.
pub(crate) trait AttemptObserver {
    /// It was asked: its status, or none if it could not be.
    fn attempt_finished(&mut self, status: Option<StatusCode>);

    /// It refuses the request: what about.
    fn request_refused(&mut self, class: RejectionClass);

    /// The request, repaired for what a refusal names; `None` if it stays as it is. Asked again only
    /// as long as it said `None`.
    fn repair_request(&mut self, sent: &Bytes, explanation: &ErrorExplanation<'_>)
    -> Option<Bytes>;

    /// It is asked again, after a pause or after a repair.
    fn retrying(&mut self, again: RetryCause<'_>);
}

/// Why an upstream is asked again.
pub(crate) enum RetryCause<'a> {
    /// The request was repaired.
    Repaired,
    /// It is in passing trouble, in its own words.
    ProviderError { pause: Duration, status: StatusCode, words: &'a [u8] },
    /// It could not be reached.
    Unreachable { pause: Duration, error: &'a HttpError },
}

/// How long a request waits until it is known whether retries are of use.
const BUDGET_TIMEOUT: Duration = Duration::from_secs(30);

/// How often, and at whose expense, an upstream is asked.
pub(crate) struct RetryPlan<'a> {
    pub(crate) policy: RetryPolicy,
    /// What all requests to the upstream share.
    pub(crate) budget: Option<&'a RetryBudget>,
}

/// Asks until there is a reply, or an error that stays.
pub(crate) async fn send_with_retry(
    client: &HttpClient,
    sending: UpstreamRequest<'_>,
    mut body: Bytes,
    plan: RetryPlan<'_>,
    onlooker: &mut (dyn AttemptObserver + Send),
) -> Result<UpstreamResponse, (HttpError, UpstreamTries)> {
    let RetryPlan { policy: patience, budget } = plan;
    let mut healed = false;
    let mut permit: Option<RetryPermit<'_>> = None;
    if let Some(budget) = budget {
        budget.count_request();
    }
    loop {
        let attempt = patience.next_attempt();
        let (trouble, decision) = match send_once(client, sending, body.clone(), attempt).await {
            Ok(reply) => {
                onlooker.attempt_finished(Some(reply.status));
                let (status, headers) = (reply.status, reply.headers);
                if status.is_success() {
                    return Ok(UpstreamResponse::Reply { status, headers, body: reply.body });
                }
                // An error that breaks off is still an error.
                let words = reply.body.read_all(MAX_ERROR_BODY).await.unwrap_or_default();
                if is_refusal(status)
                    && let Some(mended) = repair_refused(&body, &words, healed, onlooker)
                {
                    permit = None;
                    (healed, body) = (true, mended);
                    onlooker.retrying(RetryCause::Repaired);
                    continue;
                }
                if !RetryPolicy::is_retryable(status) {
                    let tries = UpstreamTries::Unknown;
                    return Ok(UpstreamResponse::Error { status, headers, body: words, tries });
                }
                let wished = retry_after(&headers, SystemTime::now());
                (RetryableFailure::Status(status, headers, words), patience.decide(wished))
            }
            Err(error) => {
                onlooker.attempt_finished(None);
                if !is_retryable(&error) {
                    return Err((error, UpstreamTries::Unknown));
                }
                (RetryableFailure::Unreachable(error), patience.decide(RetryAfter::Unspecified))
            }
        };
        if let Some(permit) = permit.take() {
            permit.mark_failed();
        }
        let pause = match decision {
            RetryDecision::Retry(pause) => pause,
            RetryDecision::NotNow => return trouble.into_result(UpstreamTries::Unknown),
            RetryDecision::Exhausted => return trouble.into_result(patience.exhausted_tries()),
        };
        if let Some(budget) = budget {
            permit = budget.acquire_retry(BUDGET_TIMEOUT).await;
            if permit.is_none() {
                return trouble.into_result(patience.exhausted_tries());
            }
        }
        onlooker.retrying(match &trouble {
            RetryableFailure::Status(status, _, words) => {
                RetryCause::ProviderError { pause, status: *status, words }
            }
            RetryableFailure::Unreachable(error) => RetryCause::Unreachable { pause, error },
        });
        tokio::time::sleep(pause).await;
    }
}

/// Trouble that may pass.
enum RetryableFailure {
    Status(StatusCode, HeaderMap, Bytes),
    Unreachable(HttpError),
}

impl RetryableFailure {
    /// Nobody waits for its end.
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

/// Whether it may be the shape of the request that is refused.
fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
}

/// A request that was refused for its shape, repaired.
fn repair_refused(
    sent: &Bytes,
    error: &[u8],
    healed: bool,
    onlooker: &mut (dyn AttemptObserver + Send),
) -> Option<Bytes> {
    let error = String::from_utf8_lossy(error);
    let (class, explanation) = classify_rejection(&error);
    onlooker.request_refused(class);
    let explanation = explanation.filter(|_| !healed)?;
    // The same bytes would be refused again.
    onlooker.repair_request(sent, &explanation).filter(|mended| mended != sent)
}

/// Whether it may go better the next time. Whoever was late once is not waited for again.
fn is_retryable(error: &HttpError) -> bool {
    match error.kind {
        HttpErrorKind::Closed | HttpErrorKind::Failed => error.stage != HttpStage::Tls,
        HttpErrorKind::Timeout => error.stage == HttpStage::Connect,
        HttpErrorKind::Malformed
        | HttpErrorKind::TooLarge
        | HttpErrorKind::Forbidden
        | HttpErrorKind::Redirect => false,
    }
}
