//! The built-in model as a server of its own: a provider at a loopback address, without a key.
//!
//! It performs what `foxwedge_scripted` wrote: sends the head, waits, sends a piece, and breaks off or
//! falls silent where the script says so. Nothing is guarded, nothing is recorded.

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use foxwedge_engine::meter::Meter;
use foxwedge_scripted::{Ask, End, Piece, Play, play};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use tokio::{
    net::TcpListener,
    time::{Sleep, sleep, timeout},
};

use crate::{
    Reply, Rules, Served, accept,
    outgoing::{Broken, JSON, Outgoing},
};

/// The largest body, as at the strictest of the providers.
const BODY: usize = 32 << 20;
/// A body has to be there.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a client may take.
const RULES: Rules = Rules {
    connections: 4096,
    per_address: 1024,
    head_bytes: 64 << 10,
    head: Duration::from_secs(15),
    keep_alive: Duration::from_secs(120),
    write: Duration::from_secs(60),
    drain: Duration::from_secs(2),
};

/// Serves the scripted model until `stop`, in the form of every provider it knows.
pub async fn serve_scripted(listener: TcpListener, stop: impl Future<Output = ()>) -> Served {
    accept(listener, RULES, Meter::new(), |request, _| answer(request), stop).await
}

async fn answer(request: Request<Incoming>) -> Reply {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let Some(wire) = Ask::wire_of(path) else {
        return told(StatusCode::NOT_FOUND, "nothing is served under this path");
    };
    let lists =
        path.split('?').next().unwrap_or_default().trim_end_matches('/').ends_with("/models");
    if parts.method != if lists { Method::GET } else { Method::POST } {
        return told(StatusCode::METHOD_NOT_ALLOWED, "this method is not served under this path");
    }
    let body = match timeout(PATIENCE, whole(body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(refused)) => return refused,
        Err(_) => return told(StatusCode::REQUEST_TIMEOUT, "the body did not come"),
    };
    let headers = plain(&parts.headers);
    let ask =
        Ask { wire: spoken(wire, lists, &parts.headers), path, headers: &headers, body: &body };
    perform(play(&ask)).await
}

/// Two providers list their models under one path: the header tells who asks.
fn spoken(wire: foxwedge_core::Wire, lists: bool, headers: &HeaderMap) -> foxwedge_core::Wire {
    let anthropic = lists && headers.contains_key("anthropic-version");
    if anthropic { foxwedge_core::Wire::Anthropic } else { wire }
}

/// The headers that are text.
fn plain(headers: &HeaderMap) -> Vec<(&str, &str)> {
    let texts =
        headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    texts.collect()
}

async fn whole(body: Incoming) -> Result<Bytes, Reply> {
    let mut body = pin!(body);
    let mut all = BytesMut::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(frame) = frame else {
            return Err(told(StatusCode::BAD_REQUEST, "the body broke off"));
        };
        let Ok(bytes) = frame.into_data() else { continue };
        if all.len() + bytes.len() > BODY {
            return Err(told(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"));
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all.freeze())
}

fn told(status: StatusCode, what: &str) -> Reply {
    let body = format!(r#"{{"error":{{"message":"{what}","type":"invalid_request_error"}}}}"#);
    Outgoing::reply(status, JSON, body)
}

async fn perform(play: Play) -> Reply {
    let Play { status, headers, pieces, end } = play;
    let mut pieces = VecDeque::from(pieces);
    // The head is the first byte that a client sees, so it waits, too.
    if let Some(first) = pieces.front_mut() {
        sleep(std::mem::take(&mut first.after)).await;
    }
    let body = match (pieces.len(), end) {
        (0 | 1, End::Whole) => {
            Outgoing::whole(pieces.pop_front().map(|it| it.bytes).unwrap_or_default())
        }
        (_, End::Whole | End::Cut | End::Hang) => {
            Outgoing::stream(Performance { pieces, end, timer: None, sent: false })
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

/// A body that is still being played.
struct Performance {
    pieces: VecDeque<Piece>,
    end: End,
    /// Rings when the next piece is due.
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether everything went out before the cut.
    sent: bool,
}

impl Body for Performance {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Some(next) = self.pieces.front().map(|piece| piece.after) else {
            return match self.end {
                End::Whole => Poll::Ready(None),
                // What was said before has to go out first: the writer sends it while nothing more
                // is there.
                End::Cut if !self.sent => {
                    self.sent = true;
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                End::Cut => Poll::Ready(Some(Err(Box::new(io::Error::other("cut on demand"))))),
                // Whoever gave up waiting closes the connection, and this body with it.
                End::Hang => Poll::Pending,
            };
        };
        if !next.is_zero() {
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(next)));
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
        }
        let piece = self.pieces.pop_front();
        Poll::Ready(piece.map(|piece| Ok(Frame::data(Bytes::from(piece.bytes)))))
    }
}

#[cfg(test)]
mod tests;
