//! Asks an upstream until it replies: passing trouble is waited out, a refusal of the history's
//! shape is repaired once, and never are the same bytes sent again after a refusal. There is no
//! other loop that asks.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use foxwedge_core::Explanation;
use http::{HeaderMap, StatusCode};

use super::{Patience, Sending, retry_after, send};
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
    Error { status: StatusCode, headers: HeaderMap, body: Bytes },
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

/// Asks until there is a reply, or an error that stays.
pub(crate) async fn persist(
    client: &Client,
    sending: Sending<'_>,
    mut body: Bytes,
    onlooker: &mut (dyn Onlooker + Send),
) -> Result<Said, HttpError> {
    let mut patience = Patience::new(sending.upstream.tries);
    let mut healed = false;
    loop {
        let attempt = patience.next();
        let pause = match send(client, sending, body.clone(), attempt).await {
            Ok(reply) => {
                onlooker.asked(Some(reply.status));
                let (status, headers) = (reply.status, reply.headers);
                if status.is_success() {
                    return Ok(Said::Reply { status, headers, body: reply.body });
                }
                // An error that breaks off is still an error.
                let words = reply.body.whole(ERROR).await.unwrap_or_default();
                let wished = retry_after(&headers, SystemTime::now());
                if Patience::is_passing(status)
                    && let Some(pause) = patience.pause(wished)
                {
                    onlooker.again(Again::Trouble { pause, status, words: &words });
                    pause
                } else if is_refusal(status)
                    && let Some(mended) = mended(&body, &words, healed, onlooker)
                {
                    (healed, body) = (true, mended);
                    onlooker.again(Again::Mended);
                    continue;
                } else {
                    return Ok(Said::Error { status, headers, body: words });
                }
            }
            Err(error) => {
                onlooker.asked(None);
                match patience.pause(None).filter(|_| is_passing(&error)) {
                    Some(pause) => {
                        onlooker.again(Again::Unreached { pause, error: &error });
                        pause
                    }
                    None => return Err(error),
                }
            }
        };
        tokio::time::sleep(pause).await;
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
        Kind::Malformed | Kind::TooLarge | Kind::Forbidden => false,
    }
}
