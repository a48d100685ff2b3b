//! Which headers are forwarded: those for the provider are, those for this hop are not.

use foxwedge_core::Format;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::UpstreamRequest;
use crate::{AuthScheme, CloudPlatform, UpstreamKey, UpstreamTransport};

/// Headers for one hop, for this gateway, or of the client's browser.
const WITHHELD_HEADERS: [&str; 21] = [
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
    "x-amz-security-token",
    "cookie",
    "x-request-id",
];

/// The content type of Bedrock's streams.
const BEDROCK_STREAM: &str = "application/vnd.amazon.eventstream";

/// Response headers that are returned to a client. All others are dropped: redirects, cookies,
/// headers that a proxy between us and the client would obey.
const RETURNED_HEADERS: [&str; 4] =
    ["content-type", "retry-after", "retry-after-ms", "x-should-retry"];

/// The id that an upstream gave the request.
const UPSTREAM_REQUEST_ID: HeaderName = HeaderName::from_static("x-upstream-request-id");

/// Prefixes of further returned headers: limits, times and costs of providers and gateways.
const RETURNED_PREFIXES: [&str; 7] = [
    "x-ratelimit-",
    "ratelimit-",
    "anthropic-ratelimit-",
    "openai-",
    "x-codex-",
    "x-groq-",
    "x-litellm-",
];

/// Headers that are returned even if client and upstream use different formats.
const RETURNED_ACROSS_FORMATS: [&str; 3] = ["retry-after", "retry-after-ms", "x-should-retry"];

/// The headers of a request to an upstream.
pub(super) fn request_headers(request: UpstreamRequest<'_>, attempt: u32) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(request.headers.len() + 6);
    let converted = request.format != request.client_format;
    let scripted = matches!(request.upstream.transport, UpstreamTransport::Scripted);
    let hop = hop_by_hop(request.headers);
    for (name, value) in request.headers {
        if is_forwarded(name.as_str(), converted, scripted) && !hop.contains(name) {
            out.append(name, value.clone());
        }
    }
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = match (request.stream, request.format) {
        (true, Format::Bedrock) => BEDROCK_STREAM,
        (true, _) => "text/event-stream",
        (false, _) => "application/json",
    };
    out.insert(header::ACCEPT, HeaderValue::from_static(accept));
    // A compressed reply is read, too, but a stream may wait in the buffers of its compression.
    out.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if request.format == Format::Anthropic && !out.contains_key("anthropic-version") {
        out.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if let Some(trace) = request.trace.and_then(|trace| HeaderValue::from_str(trace).ok()) {
        out.insert("traceparent", trace);
    }
    authorize(request, &mut out);
    for (name, value) in &request.upstream.headers {
        out.insert(name, value.clone());
    }
    if scripted {
        out.insert("x-scripted-attempt", attempt.into());
    }
    out
}

fn is_forwarded(name: &str, converted: bool, scripted: bool) -> bool {
    if name.starts_with("x-scripted") {
        return scripted && name != "x-scripted-attempt";
    }
    let private = WITHHELD_HEADERS.contains(&name)
        || ["x-foxwedge-", "x-forwarded-", "sec-", "cf-"].iter().any(|it| name.starts_with(it))
        || matches!(name, "origin" | "referer" | "forwarded" | "x-real-ip" | "via" | "priority");
    // Headers for one provider mean nothing to another.
    !private && (!converted || matches!(name, "user-agent" | "idempotency-key" | "tracestate"))
}

/// Adds the credentials.
fn authorize(request: UpstreamRequest<'_>, out: &mut HeaderMap) {
    let bearer = |secret: &str| format!("Bearer {secret}");
    let (secret, scheme) = match (&request.upstream.key, request.client_key) {
        (UpstreamKey::Configured(secret), _) => (secret.reveal(), AuthScheme::Key),
        (UpstreamKey::FromCaller, Some(client_key)) => {
            (client_key.secret.reveal(), client_key.scheme)
        }
        (UpstreamKey::FromCaller, None)
        | (UpstreamKey::None | UpstreamKey::Token(_) | UpstreamKey::Signature(_), _) => return,
    };
    if let Some(platform) = &request.upstream.platform {
        return add_platform_key(platform, secret, out);
    }
    let (name, value) = match request.format {
        Format::Anthropic if scheme == AuthScheme::Key => ("x-api-key", secret.to_owned()),
        Format::Gemini | Format::GeminiInteractions => ("x-goog-api-key", secret.to_owned()),
        Format::OpenaiChat | Format::OpenaiResponses | Format::Bedrock | Format::Anthropic => {
            ("authorization", bearer(secret))
        }
    };
    if let Ok(mut value) = HeaderValue::from_str(&value) {
        value.set_sensitive(true);
        out.insert(HeaderName::from_static(name), value);
    }
}

/// Adds a key, or a token that was fetched, as its platform expects it.
pub(super) fn add_platform_key(platform: &CloudPlatform, secret: &str, out: &mut HeaderMap) {
    let (name, value) = platform.key_header(secret);
    if let Ok(mut value) = HeaderValue::from_str(&value) {
        value.set_sensitive(true);
        out.insert(name, value);
    }
}

/// Headers that the `connection` header names as hop-by-hop.
pub(super) fn hop_by_hop(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(header::CONNECTION).iter();
    let names = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    names.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok()).collect()
}

/// The response headers that are returned to the client.
pub fn response_headers(upstream_headers: &HeaderMap, converted: bool) -> HeaderMap {
    let mut out = HeaderMap::with_capacity(upstream_headers.len() + 6);
    let hop = hop_by_hop(upstream_headers);
    for (name, value) in upstream_headers {
        let name = match name.as_str() {
            _ if hop.contains(name) => continue,
            "x-request-id" | "request-id" => UPSTREAM_REQUEST_ID,
            text if is_returned(text, converted) => name.clone(),
            _ => continue,
        };
        out.append(name, value.clone());
    }
    out
}

/// Limits of one provider mean nothing to a client of another.
fn is_returned(name: &str, converted: bool) -> bool {
    match converted {
        true => RETURNED_ACROSS_FORMATS.contains(&name),
        false => {
            RETURNED_HEADERS.contains(&name)
                || RETURNED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        }
    }
}

/// Whether a response is an event stream.
pub fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let has_type = |kind: &str, name: &str| {
        kind.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    kind.map(str::trim_start).is_some_and(|kind| {
        ["text/event-stream", BEDROCK_STREAM].iter().any(|name| has_type(kind, name))
    })
}

#[cfg(test)]
mod tests;
