//! Reads the body of a request: within its limits, unpacked, and not for ever.

mod decompress;

use std::{future::poll_fn, pin::Pin, task::Poll, time::Duration};

use bytes::{Bytes, BytesMut};
use foxwedge_engine::{ApiError, config::GatewayLimits};
use http::{HeaderMap, header};
use http_body::Body;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error;

use decompress::BodyCompression;

/// So many bytes have to come in the time for a body, if there are so many.
const MIN_PROGRESS_BYTES: usize = 4 << 10;

/// What is set aside before it is there.
const INITIAL_CAPACITY: usize = 256 << 10;

/// The whole body.
///
/// # Errors
/// If it is too large, packed in an unknown way, or does not come.
pub(crate) async fn read_body<B>(
    headers: &HeaderMap,
    body: B,
    limits: &GatewayLimits,
    time: Duration,
) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
{
    reject_form(headers)?;
    let packed = BodyCompression::from_headers(headers)?;
    let bytes = collect(body, limits.body, time).await?;
    match packed {
        None => Ok(bytes),
        Some(packed) => decompress::decompress(packed, &bytes, limits.unpacked).await,
    }
}

/// A body in pieces is read; one that is packed on its way, hop by hop, is not.
///
/// # Errors
/// If its transfer encoding is anything but `chunked`.
pub(crate) fn check_transfer_encoding(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let chunked = |coding: &http::HeaderValue| {
        coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")
    };
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if chunked(coding) => Ok(()),
        (Some(_), _) => Err(error::transfer_encoding()),
    }
}

/// Clients name many kinds for JSON; a form of a web page is surely none.
fn reject_form(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
    let begins = |name: &str| {
        kind.get(..name.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(name.as_bytes()))
    };
    if begins("multipart/") || begins("application/x-www-form-urlencoded") {
        return Err(error::unsupported("the body has to be JSON, not a form"));
    }
    Ok(())
}

async fn collect<B>(mut body: B, most: usize, time: Duration) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let told = body.size_hint();
    if told.lower() > most as u64 {
        return Err(error::too_large(most));
    }
    let told = told.exact().and_then(|told| usize::try_from(told).ok());
    let mut pace = BodyTimeout { time, timer: None, mark: 0 };
    let mut all = BytesMut::new();
    while let Some(bytes) = pace.next_chunk(&mut body, all.len()).await? {
        if all.len() + bytes.len() > most {
            return Err(error::too_large(most));
        }
        // What came in one piece stays where it is.
        if all.is_empty() && (told == Some(bytes.len()) || body.is_end_stream()) {
            return Ok(bytes);
        }
        if all.is_empty() {
            all.reserve(told.unwrap_or(0).clamp(bytes.len(), INITIAL_CAPACITY.max(bytes.len())));
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all.freeze())
}

/// Takes pieces as long as they come fast enough. The timer is made when it is needed.
struct BodyTimeout {
    time: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// How much was there when the timer was set.
    mark: usize,
}

impl BodyTimeout {
    async fn next_chunk<B>(&mut self, body: &mut B, had: usize) -> Result<Option<Bytes>, ApiError>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        if had >= self.mark + MIN_PROGRESS_BYTES
            && let Some(timer) = &mut self.timer
        {
            timer.as_mut().reset(Instant::now() + self.time);
            self.mark = had;
        }
        poll_fn(|context| {
            loop {
                match Pin::new(&mut *body).poll_frame(context) {
                    Poll::Ready(None) => return Poll::Ready(Ok(None)),
                    Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(error::broken_body())),
                    Poll::Ready(Some(Ok(frame))) => {
                        if let Ok(bytes) = frame.into_data() {
                            return Poll::Ready(Ok(Some(bytes)));
                        }
                    }
                    Poll::Pending => break,
                }
            }
            let timer = self.timer.get_or_insert_with(|| {
                self.mark = had;
                Box::pin(sleep_until(Instant::now() + self.time))
            });
            timer.as_mut().poll(context).map(|()| Err(error::body_too_slow()))
        })
        .await
    }
}

#[cfg(test)]
mod tests;
