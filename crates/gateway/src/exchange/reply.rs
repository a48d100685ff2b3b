//! Builds the client's response from an upstream response: status, headers and body.

mod full_reply;
mod client_error;
mod error_reason;
mod relay;
mod stream_repair;
mod whole_frames;

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use foxwedge_core::Format;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::{EngineShared, ReplyInFlight, prepare::RoutedRequest};
use crate::{
    ApiError, FindingTally, GatewayBody, GatewayEndpoint, GatewayRequest, GatewayResponse,
    GuardAction, RequestSummary, api_error::shorten_name, record::ReplyCompletion,
    session::CachedReply,
};
use foxwedge_upstream::{
    http::IncomingBody,
    send::{UpstreamTries, content_encoding, is_stream, response_headers},
};
use full_reply::FullReply;
pub(super) use full_reply::read_ahead;
use relay::ResponseRelay;

const JSON_CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json");
/// SDKs of OpenAI and Anthropic retry automatically, unless this header is `false`.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const STREAM_CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("text/event-stream; charset=utf-8");

/// The current time in seconds since 1970.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What a response is built from.
pub(super) struct ResponseBuilder<'a> {
    pub(super) engine: &'a Arc<EngineShared>,
    pub(super) request: &'a GatewayRequest,
    pub(super) routed_request: &'a RoutedRequest,
    pub(super) summary: &'a mut RequestSummary,
}

impl ResponseBuilder<'_> {
    /// Builds the response from an upstream reply, streamed or complete, whichever was requested.
    pub(super) async fn build(
        self,
        status: StatusCode,
        upstream_headers: &HeaderMap,
        body: IncomingBody,
        work: ReplyInFlight,
    ) -> Result<GatewayResponse, ApiError> {
        if let Some(encoding) = content_encoding(upstream_headers) {
            work.span.set_failure(502);
            work.recording.finish(ReplyCompletion::Failed, None);
            let cause = format!("it is compressed with `{}`", shorten_name(&encoding));
            return Err(full_reply::unreadable_error(&cause, upstream_headers));
        }
        if is_stream(upstream_headers) && self.routed_request.stream {
            let headers = self.headers(upstream_headers, STREAM_CONTENT_TYPE);
            let relay = ResponseRelay::new(
                self.engine,
                self.request,
                self.routed_request,
                body,
                work,
                &headers,
                self.summary.stream_error.clone(),
            );
            let summary = std::mem::take(self.summary);
            return Ok(GatewayResponse {
                status,
                headers,
                body: GatewayBody::streaming(relay),
                summary,
            });
        }
        let headers = self.headers(upstream_headers, JSON_CONTENT_TYPE);
        let FullReply { status, body } =
            full_reply::read_full_reply(&self, status, upstream_headers, &headers, body, work)
                .await?;
        let headers = if self.routed_request.stream && status.is_success() {
            self.headers(upstream_headers, STREAM_CONTENT_TYPE)
        } else {
            headers
        };
        Ok(GatewayResponse { status, headers, body, summary: std::mem::take(self.summary) })
    }

    /// Builds the response from an upstream error, in the client's format.
    pub(super) fn build_error(
        self,
        mut status: StatusCode,
        upstream_headers: &HeaderMap,
        body: &[u8],
        tries: UpstreamTries,
    ) -> GatewayResponse {
        let (from, to) = (self.routed_request.format, self.request.endpoint.format());
        if from == Format::Anthropic && to != from && status.as_u16() == 529 {
            // A status of Anthropic's own.
            status = StatusCode::SERVICE_UNAVAILABLE;
        }
        self.summary.error_code = Some("upstream");
        let mut headers = self.headers(upstream_headers, JSON_CONTENT_TYPE);
        if tries == UpstreamTries::Exhausted {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        let (status, body) = client_error::client_error(&self, status, body);
        let body = GatewayBody::full(body);
        let summary = std::mem::take(self.summary);
        GatewayResponse { status, headers, body, summary }
    }

    pub(super) fn headers(
        &self,
        upstream_headers: &HeaderMap,
        content_type: HeaderValue,
    ) -> HeaderMap {
        let converted = self.routed_request.format != self.request.endpoint.format();
        let mut headers = response_headers(upstream_headers, converted);
        headers.insert(header::CONTENT_TYPE, content_type);
        add_gateway_headers(self.summary, &mut headers);
        if self.routed_request.is_fallback {
            let upstream = &self.routed_request.route.upstream.name;
            insert_header(&mut headers, "x-foxwedge-fallback", upstream);
        }
        let guarded = &self.routed_request.guarded;
        if let Some((before, after)) = guarded.compacted {
            insert_header(&mut headers, "x-foxwedge-compacted", &format!("{before}->{after}"));
        }
        if !guarded.losses.is_empty() {
            insert_header(&mut headers, "x-foxwedge-losses", &guarded.losses.len().to_string());
        }
        headers
    }
}

/// The response for an error.
pub(super) fn error_response(
    error: &ApiError,
    endpoint: GatewayEndpoint,
    request: &str,
    mut summary: RequestSummary,
) -> GatewayResponse {
    summary.error_code = Some(error.code);
    summary.error_cause = error.network_cause().map(Box::from);
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, JSON_CONTENT_TYPE);
    add_gateway_headers(&summary, &mut headers);
    if let Some(seconds) = error.retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    if error.retries_exhausted {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    let body = GatewayBody::full(error.body(endpoint.format(), request));
    GatewayResponse { status: error.status(), headers, body, summary }
}

/// The response for a cached reply.
pub(super) fn replayed_response(
    cached: &CachedReply,
    summary: &mut RequestSummary,
) -> GatewayResponse {
    let mut headers: HeaderMap = cached.headers.iter().cloned().collect();
    headers.insert("x-foxwedge-replayed", HeaderValue::from_static("true"));
    let summary = std::mem::take(summary);
    GatewayResponse {
        status: cached.status,
        headers,
        body: GatewayBody::full(cached.body.clone()),
        summary,
    }
}

/// Adds the gateway's own headers.
fn add_gateway_headers(summary: &RequestSummary, headers: &mut HeaderMap) {
    let action = summary.action.unwrap_or(GuardAction::None);
    headers.insert("x-foxwedge-action", HeaderValue::from_static(action.name()));
    if !summary.findings.is_empty() {
        insert_header(
            headers,
            "x-foxwedge-findings",
            &FindingTally::header_value(&summary.findings),
        );
    }
    if let Some(session) = &summary.session {
        insert_header(headers, "x-foxwedge-session", session);
    }
    if let Some(run) = &summary.run {
        insert_header(headers, "x-foxwedge-run", run);
    }
    if let Some(ignored) = &summary.ignored_results {
        insert_header(headers, "x-foxwedge-ignored-results", ignored);
    }
    if let Some(match_kind) = summary.match_kind {
        headers.insert("x-foxwedge-match", HeaderValue::from_static(match_kind));
    }
}

fn insert_header(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}
