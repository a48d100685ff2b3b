//! Asks an upstream until it replies: passing trouble is waited out, a refusal of the history's
//! shape is repaired once, and never are the same bytes sent again after a refusal. There is no
//! other loop that asks.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use foxwedge_core::Explanation;
use http::{HeaderMap, StatusCode};

use super::{
    Patience, Sending,
    budget::{RetryBudget, RetryPermit},
    patience::{RetryAfter, RetryDecision},
    retry_after, send,
};
use crate::{
    guard::{Class, classify},
    http::{Client, HttpError, Incoming, Kind, Stage},
};

/// The longest error of an upstream that is read.
const ERROR: usize = 1 << 20;

/// What an upstream said.
pub(crate) enum Said {
    /// It replies.
    Reply { status: StatusCode, headers: HeaderMap, body: Incoming },
    /// It refuses, or is in trouble; all of its words.
    Error { status: StatusCode, headers: HeaderMap, body: Bytes, tries: UpstreamTries },
}

/// Whether it is of use to ask once more what an upstream did not reply to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UpstreamTries {
    /// It was asked as often as it is good for: whoever asks again does harm.
    Done,
    /// Nothing is known about that.
    Open,
}

/// Looks on while an upstream is asked, and decides what is repaired.
pub(crate) trait Onlooker {
    /// It was asked: its status, or none if it could not be.
    fn asked(&mut self, status: Option<StatusCode>);

    /// It refuses the request: what about.
    fn refused(&mut self, class: Class);

    /// The request, repaired for what a refusal names; `None` if it stays as it is. Asked again only
    /// as long as it said `None`.
    fn mend(&mut self, sent: &Bytes, explanation: &Explanation<'_>) -> Option<Bytes>;

    /// It is asked again, after a pause or after a repair.
    fn again(&mut self, again: Again<'_>);
}

/// Why an upstream is asked again.
pub(crate) enum Again<'a> {
    /// The request was repaired.
    Mended,
    /// It is in passing trouble, in its own words.
    Trouble { pause: Duration, status: StatusCode, words: &'a [u8] },
    /// It could not be reached.
    Unreached { pause: Duration, error: &'a HttpError },
}

/// How long a request waits until it is known whether retries are of use.
const TURN: Duration = Duration::from_secs(30);

/// How often, and at whose expense, an upstream is asked.
pub(crate) struct RetryPlan<'a> {
    pub(crate) patience: Patience,
    /// What all requests to the upstream share.
    pub(crate) budget: Option<&'a RetryBudget>,
}

/// Asks until there is a reply, or an error that stays.
pub(crate) async fn persist(
    client: &Client,
    sending: Sending<'_>,
    mut body: Bytes,
    plan: RetryPlan<'_>,
    onlooker: &mut (dyn Onlooker + Send),
) -> Result<Said, (HttpError, UpstreamTries)> {
    let RetryPlan { patience, budget } = plan;
    let mut healed = false;
    let mut permit: Option<RetryPermit<'_>> = None;
    if let Some(budget) = budget {
        budget.request();
    }
    loop {
        let attempt = patience.next();
        let (trouble, decision) = match send(client, sending, body.clone(), attempt).await {
            Ok(reply) => {
                onlooker.asked(Some(reply.status));
                let (status, headers) = (reply.status, reply.headers);
                if status.is_success() {
                    return Ok(Said::Reply { status, headers, body: reply.body });
                }
                // An error that breaks off is still an error.
                let words = reply.body.whole(ERROR).await.unwrap_or_default();
                if is_refusal(status)
                    && let Some(mended) = mended(&body, &words, healed, onlooker)
                {
                    permit = None;
                    (healed, body) = (true, mended);
                    onlooker.again(Again::Mended);
                    continue;
                }
                if !Patience::is_passing(status) {
                    let tries = UpstreamTries::Open;
                    return Ok(Said::Error { status, headers, body: words, tries });
                }
                let wished = retry_after(&headers, SystemTime::now());
                (Trouble::Status(status, headers, words), patience.decide(wished))
            }
            Err(error) => {
                onlooker.asked(None);
                if !is_passing(&error) {
                    return Err((error, UpstreamTries::Open));
                }
                (Trouble::Unreached(error), patience.decide(RetryAfter::Unsaid))
            }
        };
        if let Some(permit) = permit.take() {
            permit.failed();
        }
        let pause = match decision {
            RetryDecision::Again(pause) => pause,
            RetryDecision::NotNow => return trouble.stays(UpstreamTries::Open),
            RetryDecision::Exhausted => return trouble.stays(patience.tries()),
        };
        if let Some(budget) = budget {
            permit = budget.retry(TURN).await;
            if permit.is_none() {
                return trouble.stays(patience.tries());
            }
        }
        onlooker.again(match &trouble {
            Trouble::Status(status, _, words) => Again::Trouble { pause, status: *status, words },
            Trouble::Unreached(error) => Again::Unreached { pause, error },
        });
        tokio::time::sleep(pause).await;
    }
}

/// Trouble that may pass.
enum Trouble {
    Status(StatusCode, HeaderMap, Bytes),
    Unreached(HttpError),
}

impl Trouble {
    /// Nobody waits for its end.
    fn stays(self, tries: UpstreamTries) -> Result<Said, (HttpError, UpstreamTries)> {
        match self {
            Trouble::Status(status, headers, body) => {
                Ok(Said::Error { status, headers, body, tries })
            }
            Trouble::Unreached(error) => Err((error, tries)),
        }
    }
}

/// Whether it may be the shape of the request that is refused.
fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY)
}

/// A request that was refused for its shape, repaired.
fn mended(
    sent: &Bytes,
    error: &[u8],
    healed: bool,
    onlooker: &mut (dyn Onlooker + Send),
) -> Option<Bytes> {
    let error = String::from_utf8_lossy(error);
    let (class, explanation) = classify(&error);
    onlooker.refused(class);
    let explanation = explanation.filter(|_| !healed)?;
    // The same bytes would be refused again.
    onlooker.mend(sent, &explanation).filter(|mended| mended != sent)
}

/// Whether it may go better the next time. Whoever was late once is not waited for again.
fn is_passing(error: &HttpError) -> bool {
    match error.kind {
        Kind::Closed | Kind::Failed => error.stage != Stage::Tls,
        Kind::Late => error.stage == Stage::Connect,
        Kind::Malformed | Kind::TooLarge | Kind::Forbidden | Kind::Redirect => false,
    }
}
