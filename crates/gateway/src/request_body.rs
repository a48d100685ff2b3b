//! Reads and decompresses the body of a request, within limits of size and time.

mod decompress;

use std::{future::poll_fn, pin::Pin, task::Poll, time::Duration};

use crate::{ApiError, config::GatewayLimits};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body::Body;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error;

use decompress::BodyCompression;

/// A body that has more to send must deliver this many bytes per timeout period.
const MIN_PROGRESS_BYTES: usize = 4 << 10;

/// Upper limit of the memory reserved before the data arrives.
const INITIAL_CAPACITY: usize = 256 << 10;

/// Reads the whole body.
///
/// # Errors
/// If it is too large, has an unknown content encoding, or does not arrive in time.
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
    read_any_body(headers, body, limits, time).await
}

/// The same, also for forms.
///
/// # Errors
/// If it is too large, has an unknown content encoding, or does not arrive in time.
pub(crate) async fn read_any_body<B>(
    headers: &HeaderMap,
    body: B,
    limits: &GatewayLimits,
    time: Duration,
) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let compression = BodyCompression::from_headers(headers)?;
    let bytes = collect(body, limits.request_body, time).await?;
    match compression {
        None => Ok(bytes),
        Some(compression) => {
            decompress::decompress(compression, &bytes, limits.decompressed_body).await
        }
    }
}

/// Accepts chunked bodies, and no other transfer encoding such as hop-by-hop compression.
///
/// # Errors
/// If the transfer encoding is anything but `chunked`.
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

/// Rejects HTML forms. Any other type may be JSON: clients use many content types for it.
fn reject_form(headers: &HeaderMap) -> Result<(), ApiError> {
    let content_type = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let has_prefix = |name: &str| {
        content_type
            .get(..name.len())
            .is_some_and(|prefix| prefix.eq_ignore_ascii_case(name.as_bytes()))
    };
    if has_prefix("multipart/") || has_prefix("application/x-www-form-urlencoded") {
        return Err(error::unsupported(
            "the body must be JSON, not a form: send `content-type: application/json`",
        ));
    }
    Ok(())
}

async fn collect<B>(mut body: B, limit: usize, time: Duration) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let length = body.size_hint();
    if length.lower() > limit as u64 {
        return Err(error::too_large(limit));
    }
    let length = length.exact().and_then(|length| usize::try_from(length).ok());
    let mut timeout = BodyTimeout { time, timer: None, mark: 0 };
    let mut all = BytesMut::new();
    while let Some(bytes) = timeout.next_chunk(&mut body, all.len()).await? {
        if all.len() + bytes.len() > limit {
            return Err(error::too_large(limit));
        }
        // A body that arrives in one chunk is not copied.
        if all.is_empty() && (length == Some(bytes.len()) || body.is_end_stream()) {
            return Ok(bytes);
        }
        if all.is_empty() {
            all.reserve(length.unwrap_or(0).clamp(bytes.len(), INITIAL_CAPACITY.max(bytes.len())));
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all.freeze())
}

/// Reads chunks while they arrive fast enough. The timer is created when it is first needed.
struct BodyTimeout {
    time: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// Bytes received when the timer was last set.
    mark: usize,
}

impl BodyTimeout {
    async fn next_chunk<B>(
        &mut self,
        body: &mut B,
        received: usize,
    ) -> Result<Option<Bytes>, ApiError>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        if received >= self.mark + MIN_PROGRESS_BYTES
            && let Some(timer) = &mut self.timer
        {
            timer.as_mut().reset(Instant::now() + self.time);
            self.mark = received;
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
                self.mark = received;
                Box::pin(sleep_until(Instant::now() + self.time))
            });
            timer.as_mut().poll(context).map(|()| Err(error::body_too_slow()))
        })
        .await
    }
}

#[cfg(test)]
mod tests;
