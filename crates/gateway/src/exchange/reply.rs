//! Builds the client's response from an upstream response: status, headers and body.

mod full_reply;
mod relay;
mod stream_repair;

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use foxwedge_core::Format;
use foxwedge_formats::model::{ModelResponse, ProviderErrorKind, decode_reply, encode_reply};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::{EngineShared, ReplyInFlight, prepare::RoutedRequest};
use crate::{
    ApiError, ApiErrorKind, FindingTally, GatewayBody, GatewayEndpoint, GatewayRequest,
    GatewayResponse, GuardAction, RequestSummary, record::ReplyCompletion, session::CachedReply,
};
use foxwedge_upstream::{
    http::IncomingBody,
    send::{UpstreamTries, is_stream, response_headers},
};
use full_reply::FullReply;
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
        if upstream_headers.get(header::CONTENT_ENCODING).is_some_and(|it| it != "identity") {
            return Err(unreadable_encoding(work));
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
        let text = String::from_utf8_lossy(body).into_owned();
        let text = self.routed_request.route.upstream.redact_secrets(text);
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let body = if from == to && is_json {
            GatewayBody::full(text)
        } else {
            match convert_error(&text, from, to, status) {
                Some((client_status, body)) => {
                    status = client_status;
                    GatewayBody::full(body)
                }
                None => GatewayBody::full(unclear_error(status).body(to, &self.request.id)),
            }
        };
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

/// The error for a compressed reply, which was not asked for.
fn unreadable_encoding(work: ReplyInFlight) -> ApiError {
    work.span.set_failure(502);
    work.recording.finish(ReplyCompletion::Failed, None);
    let message = "the upstream's reply cannot be read: it is compressed";
    ApiError::new(ApiErrorKind::Upstream, "upstream_unreadable", message)
}

/// The response for an error.
pub(super) fn error_response(
    error: &ApiError,
    endpoint: GatewayEndpoint,
    request: &str,
    mut summary: RequestSummary,
) -> GatewayResponse {
    summary.error_code = Some(error.code);
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

/// Converts a provider error to another format. The status determines the kind, since some formats
/// have one name for many kinds.
fn convert_error(
    text: &str,
    from: Format,
    to: Format,
    status: StatusCode,
) -> Option<(StatusCode, String)> {
    let ModelResponse::Error(mut failure) = decode_reply(text, from).ok()?.outcome else {
        return None;
    };
    failure.kind = match status.as_u16() {
        _ if failure.kind == ProviderErrorKind::ContextOverflow => failure.kind,
        401 => ProviderErrorKind::Authentication,
        403 => ProviderErrorKind::Permission,
        404 => ProviderErrorKind::NotFound,
        408 | 504 => ProviderErrorKind::Timeout,
        413 => ProviderErrorKind::TooLarge,
        429 => ProviderErrorKind::RateLimit,
        503 | 529 => ProviderErrorKind::Overloaded,
        // Bedrock names the kind in a header.
        400 | 422 if failure.kind == ProviderErrorKind::Server => ProviderErrorKind::InvalidRequest,
        _ => failure.kind,
    };
    let status = match failure.kind {
        // Google reports an invalid key as an invalid request.
        ProviderErrorKind::Authentication => StatusCode::UNAUTHORIZED,
        ProviderErrorKind::ContextOverflow => StatusCode::BAD_REQUEST,
        _ => status,
    };
    if failure.kind == ProviderErrorKind::Overloaded
        && from == Format::Anthropic
        && matches!(to, Format::OpenaiChat | Format::OpenaiResponses)
    {
        // OpenAI has no name for this kind.
        failure.kind = ProviderErrorKind::Server;
    }
    Some((status, encode_reply(&ModelResponse::Error(failure), to, "").body))
}

/// The error for an upstream failure whose body cannot be read.
fn unclear_error(status: StatusCode) -> ApiError {
    let kind = match status.as_u16() {
        401 => ApiErrorKind::Credentials,
        403 => ApiErrorKind::Permission,
        404 => ApiErrorKind::NotFound,
        413 => ApiErrorKind::TooLarge,
        429 => ApiErrorKind::RateLimit,
        400..500 => ApiErrorKind::InvalidRequest,
        _ => ApiErrorKind::Upstream,
    };
    ApiError::new(kind, "upstream_error", format!("the upstream returned status {status}"))
}
