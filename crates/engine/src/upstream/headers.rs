//! Which headers cross: what a client says to its provider does, what belongs to this hop does not.

use foxwedge_core::Wire;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::Sending;
use crate::{
    Way,
    config::{Key, Reach},
};

/// What belongs to one hop, to this gateway, or to the client's browser.
const OURS: [&str; 20] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "content-length",
    "content-encoding",
    "accept-encoding",
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "cookie",
    "x-request-id",
];

/// What an upstream says that is about its own connection, or said better by us.
const THEIRS: [&str; 13] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "content-encoding",
    "set-cookie",
    "server",
    "date",
    "alt-svc",
];

/// The headers of a request to an upstream.
pub(super) fn out(sending: Sending<'_>, attempt: u32) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(sending.headers.len() + 6);
    let crosses = sending.wire != sending.face.wire();
    let scripted = matches!(sending.upstream.reach, Reach::Scripted);
    for (name, value) in sending.headers {
        if passes(name.as_str(), crosses, scripted) {
            out.append(name, value.clone());
        }
    }
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = if sending.stream { "text/event-stream" } else { "application/json" };
    out.insert(header::ACCEPT, HeaderValue::from_static(accept));
    if sending.wire == Wire::Anthropic && !out.contains_key("anthropic-version") {
        out.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if let Some(trace) = sending.trace.and_then(|trace| HeaderValue::from_str(trace).ok()) {
        out.insert("traceparent", trace);
    }
    authorize(sending, &mut out);
    for (name, value) in &sending.upstream.headers {
        out.insert(name, value.clone());
    }
    if scripted {
        out.insert("x-scripted-attempt", attempt.into());
    }
    out
}

fn passes(name: &str, crosses: bool, scripted: bool) -> bool {
    if name.starts_with("x-scripted") {
        return scripted && name != "x-scripted-attempt";
    }
    let private = OURS.contains(&name)
        || ["x-foxwedge-", "x-forwarded-", "sec-", "cf-"].iter().any(|it| name.starts_with(it))
        || matches!(name, "origin" | "referer" | "forwarded" | "x-real-ip" | "via" | "priority");
    // Another provider would not know what was said to the first.
    !private && (!crosses || matches!(name, "user-agent" | "idempotency-key" | "tracestate"))
}

/// In whose name.
fn authorize(sending: Sending<'_>, out: &mut HeaderMap) {
    let bearer = |secret: &str| format!("Bearer {secret}");
    let (secret, way) = match (&sending.upstream.key, &sending.caller.own) {
        (Key::Ours(secret), _) => (secret.reveal(), Way::Key),
        (Key::Callers, Some(own)) => (own.secret.reveal(), own.way),
        (Key::Callers, None) | (Key::None, _) => return,
    };
    let (name, value) = match sending.wire {
        Wire::Anthropic if way == Way::Key => ("x-api-key", secret.to_owned()),
        Wire::Gemini => ("x-goog-api-key", secret.to_owned()),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Bedrock | Wire::Anthropic => {
            ("authorization", bearer(secret))
        }
    };
    if let Ok(mut value) = HeaderValue::from_str(&value) {
        value.set_sensitive(true);
        out.insert(HeaderName::from_static(name), value);
    }
}

/// The headers of a reply that go on to the client.
pub(crate) fn back(theirs: &HeaderMap, crosses: bool) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(theirs.len() + 6);
    for (name, value) in theirs {
        let name = match name.as_str() {
            "x-request-id" | "request-id" => "x-upstream-request-id",
            name if THEIRS.contains(&name) || name.starts_with("access-control-") => continue,
            // What a foreign provider says about its limits says nothing to this client.
            name if crosses && name != "retry-after" => continue,
            name => name,
        };
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            out.append(name, value.clone());
        }
    }
    out
}

/// Whether a reply comes in pieces.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}
