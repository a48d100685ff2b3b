//! The scripted model as a separate server: a provider on a loopback address, without a key.
//!
//! It plays a response of `foxwedge_scripted`: sends the head and the chunks with their delays, and
//! cuts or hangs where the script requires it. Nothing is checked and nothing is recorded.

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use crate::metrics::Metrics;
use bytes::{Bytes, BytesMut};
use foxwedge_scripted::{
    ResponseEnding, ScriptedChunk, ScriptedRequest, ScriptedResponse, respond,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use tokio::{
    net::TcpListener,
    time::{Sleep, sleep, timeout},
};

use crate::{
    ConnectionRules, DrainReport, HttpReply, accept,
    response_body::{JSON, ResponseBody, ResponseBodyError},
};

/// Maximum body size, as of the strictest provider.
const MAX_BODY_BYTES: usize = 32 << 20;
/// Time until the body must be complete.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Limits of client connections.
const CONNECTION_RULES: ConnectionRules = ConnectionRules {
    connections: 4096,
    per_address: 1024,
    head_bytes: 64 << 10,
    head: Duration::from_secs(15),
    keep_alive: Duration::from_secs(120),
    write: Duration::from_secs(60),
    drain: Duration::from_secs(2),
    accept_after_stop: Duration::ZERO,
};

/// Serves the scripted model until `stop` completes, in all formats it supports.
pub async fn serve_scripted(listener: TcpListener, stop: impl Future<Output = ()>) -> DrainReport {
    let handler = |request, _| answer(request);
    accept(listener, CONNECTION_RULES, Metrics::new(), handler, stop, || {}).await
}

async fn answer(request: Request<Incoming>) -> HttpReply {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let Some(format) = ScriptedRequest::format_of_path(path) else {
        return error_reply(StatusCode::NOT_FOUND, "no such path");
    };
    let is_model_list =
        path.split('?').next().unwrap_or_default().trim_end_matches('/').ends_with("/models");
    if parts.method != if is_model_list { Method::GET } else { Method::POST } {
        return error_reply(StatusCode::METHOD_NOT_ALLOWED, "method not allowed for this path");
    }
    let body = match timeout(BODY_TIMEOUT, read_body(body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(reply)) => return reply,
        Err(_) => {
            return error_reply(
                StatusCode::REQUEST_TIMEOUT,
                "timed out while reading the request body",
            );
        }
    };
    let headers = text_headers(&parts.headers);
    let scripted_request = ScriptedRequest {
        format: list_wire(format, is_model_list, &parts.headers),
        path,
        headers: &headers,
        body: &body,
    };
    play_reply(respond(&scripted_request)).await
}

/// Two providers list models under the same path; a header distinguishes them.
fn list_wire(
    format: foxwedge_core::Format,
    is_model_list: bool,
    headers: &HeaderMap,
) -> foxwedge_core::Format {
    let anthropic = is_model_list && headers.contains_key("anthropic-version");
    if anthropic { foxwedge_core::Format::Anthropic } else { format }
}

/// The headers with text values.
fn text_headers(headers: &HeaderMap) -> Vec<(&str, &str)> {
    let texts =
        headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    texts.collect()
}

async fn read_body(body: Incoming) -> Result<Bytes, HttpReply> {
    let mut body = pin!(body);
    let mut all = BytesMut::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(frame) = frame else {
            return Err(error_reply(StatusCode::BAD_REQUEST, "the request body is incomplete"));
        };
        let Ok(bytes) = frame.into_data() else { continue };
        if all.len() + bytes.len() > MAX_BODY_BYTES {
            return Err(error_reply(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"));
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all.freeze())
}

fn error_reply(status: StatusCode, what: &str) -> HttpReply {
    let body = format!(r#"{{"error":{{"message":"{what}","type":"invalid_request_error"}}}}"#);
    ResponseBody::reply(status, JSON, body)
}

async fn play_reply(response: ScriptedResponse) -> HttpReply {
    let ScriptedResponse { status, headers, chunks, end } = response;
    let mut chunks = VecDeque::from(chunks);
    // The first delay comes before the head, which is the first byte a client sees.
    if let Some(first) = chunks.front_mut() {
        sleep(std::mem::take(&mut first.delay)).await;
    }
    let body = match (chunks.len(), end) {
        (0 | 1, ResponseEnding::Complete) => {
            ResponseBody::full(chunks.pop_front().map(|it| it.bytes).unwrap_or_default())
        }
        (_, ResponseEnding::Complete | ResponseEnding::Cut | ResponseEnding::Hang) => {
            ResponseBody::stream(ScriptedBody { chunks, end, timer: None, sent: false })
        }
    };
    let mut reply = Response::new(body);
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            reply.headers_mut().insert(name, value);
        }
    }
    reply
}

/// A body that is sent in timed chunks.
struct ScriptedBody {
    chunks: VecDeque<ScriptedChunk>,
    end: ResponseEnding,
    /// Fires when the next chunk is due.
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether all chunks were flushed before the cut.
    sent: bool,
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = ResponseBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseBodyError>>> {
        let Some(delay) = self.chunks.front().map(|chunk| chunk.delay) else {
            return match self.end {
                ResponseEnding::Complete => Poll::Ready(None),
                // Earlier chunks must go out first: hyper flushes them while this body is
                // pending.
                ResponseEnding::Cut if !self.sent => {
                    self.sent = true;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                ResponseEnding::Cut => {
                    Poll::Ready(Some(Err(Box::new(io::Error::other("cut on demand")))))
                }
                // The client gives up and closes the connection, which drops this body.
                ResponseEnding::Hang => Poll::Pending,
            };
        };
        if !delay.is_zero() {
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(delay)));
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
        }
        let chunk = self.chunks.pop_front();
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(Bytes::from(chunk.bytes)))))
    }
}

#[cfg(test)]
mod tests;
