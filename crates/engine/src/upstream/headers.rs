//! Which headers cross: what a client says to its provider does, what belongs to this hop does not.

use foxwedge_core::Format;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::UpstreamRequest;
use crate::{
    AuthScheme,
    config::{UpstreamKey, UpstreamTransport},
};

/// What belongs to one hop, to this gateway, or to the client's browser.
const WITHHELD_HEADERS: [&str; 20] = [
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

/// What an upstream says that a client may hear. Whatever is on no list stays here: a redirect, a
/// cookie, a header that a proxy between us and the client would obey.
const RETURNED_HEADERS: [&str; 4] =
    ["content-type", "retry-after", "retry-after-ms", "x-should-retry"];

/// The beginnings of more of them: limits, times and costs, as providers and other gateways tell them.
const RETURNED_PREFIXES: [&str; 7] = [
    "x-ratelimit-",
    "ratelimit-",
    "anthropic-ratelimit-",
    "openai-",
    "x-codex-",
    "x-groq-",
    "x-litellm-",
];

/// What a client hears across formats, too.
const RETURNED_ACROSS_FORMATS: [&str; 3] = ["retry-after", "retry-after-ms", "x-should-retry"];

/// The headers of a request to an upstream.
pub(super) fn request_headers(sending: UpstreamRequest<'_>, attempt: u32) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(sending.headers.len() + 6);
    let crosses = sending.wire != sending.face.wire();
    let scripted = matches!(sending.upstream.transport, UpstreamTransport::Scripted);
    let hop = hop_by_hop(sending.headers);
    for (name, value) in sending.headers {
        if is_forwarded(name.as_str(), crosses, scripted) && !hop.contains(name) {
            out.append(name, value.clone());
        }
    }
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = if sending.stream { "text/event-stream" } else { "application/json" };
    out.insert(header::ACCEPT, HeaderValue::from_static(accept));
    if sending.wire == Format::Anthropic && !out.contains_key("anthropic-version") {
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

fn is_forwarded(name: &str, crosses: bool, scripted: bool) -> bool {
    if name.starts_with("x-scripted") {
        return scripted && name != "x-scripted-attempt";
    }
    let private = WITHHELD_HEADERS.contains(&name)
        || ["x-foxwedge-", "x-forwarded-", "sec-", "cf-"].iter().any(|it| name.starts_with(it))
        || matches!(name, "origin" | "referer" | "forwarded" | "x-real-ip" | "via" | "priority");
    // Another provider would not know what was said to the first.
    !private && (!crosses || matches!(name, "user-agent" | "idempotency-key" | "tracestate"))
}

/// In whose name.
fn authorize(sending: UpstreamRequest<'_>, out: &mut HeaderMap) {
    let bearer = |secret: &str| format!("Bearer {secret}");
    let (secret, way) = match (&sending.upstream.key, &sending.caller.client_key) {
        (UpstreamKey::Configured(secret), _) => (secret.reveal(), AuthScheme::Key),
        (UpstreamKey::FromCaller, Some(own)) => (own.secret.reveal(), own.scheme),
        (UpstreamKey::FromCaller, None) | (UpstreamKey::None, _) => return,
    };
    let (name, value) = match sending.wire {
        Format::Anthropic if way == AuthScheme::Key => ("x-api-key", secret.to_owned()),
        Format::Gemini => ("x-goog-api-key", secret.to_owned()),
        Format::OpenaiChat | Format::OpenaiResponses | Format::Bedrock | Format::Anthropic => {
            ("authorization", bearer(secret))
        }
    };
    if let Ok(mut value) = HeaderValue::from_str(&value) {
        value.set_sensitive(true);
        out.insert(HeaderName::from_static(name), value);
    }
}

/// Headers that a message itself says are for this hop alone.
pub(crate) fn hop_by_hop(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(header::CONNECTION).iter();
    let words = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    words.filter_map(|word| HeaderName::from_bytes(word.trim_ascii()).ok()).collect()
}

/// The headers of a reply that go on to the client.
pub(crate) fn response_headers(theirs: &HeaderMap, crosses: bool) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(theirs.len() + 6);
    let hop = hop_by_hop(theirs);
    for (name, value) in theirs {
        let name = match name.as_str() {
            _ if hop.contains(name) => continue,
            "x-request-id" | "request-id" => "x-upstream-request-id",
            name if is_returned(name, crosses) => name,
            _ => continue,
        };
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            out.append(name, value.clone());
        }
    }
    out
}

/// What a foreign provider says about its limits says nothing to a client of another.
fn is_returned(name: &str, crosses: bool) -> bool {
    match crosses {
        true => RETURNED_ACROSS_FORMATS.contains(&name),
        false => {
            RETURNED_HEADERS.contains(&name)
                || RETURNED_PREFIXES.iter().any(|family| name.starts_with(family))
        }
    }
}

/// Whether a reply comes in pieces.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}

#[cfg(test)]
mod tests;
