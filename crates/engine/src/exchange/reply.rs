//! From what an upstream says to what the client hears: status, headers, and the body in its form.

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_dialect::model::{ModelResponse, ProviderErrorKind, decode_reply, encode_reply};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::Value;

use super::{
    EngineShared, ReplyInFlight, full_reply, prepare::RoutedRequest, relay::ResponseRelay,
};
use crate::{
    ApiError, ApiErrorKind, FindingTally, GatewayBody, GatewayEndpoint, GatewayRequest,
    GatewayResponse, GuardAction, RequestSummary,
    http::IncomingBody,
    session::CachedReply,
    upstream::{UpstreamTries, is_stream, response_headers},
};

const JSON_CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json");
/// SDKs of OpenAI and Anthropic ask again by themselves, unless a reply says that it is of no use.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const STREAM_CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("text/event-stream; charset=utf-8");

/// What a reply is made from.
pub(super) struct ResponseBuilder<'a> {
    pub(super) engine: &'a Arc<EngineShared>,
    pub(super) request: &'a GatewayRequest,
    pub(super) routed_request: &'a RoutedRequest,
    pub(super) summary: &'a mut RequestSummary,
}

impl ResponseBuilder<'_> {
    /// An upstream replies: in pieces or whole, as it was asked or not.
    pub(super) async fn build(
        self,
        status: StatusCode,
        theirs: &HeaderMap,
        body: IncomingBody,
        work: ReplyInFlight,
    ) -> Result<GatewayResponse, ApiError> {
        if is_stream(theirs) && self.routed_request.stream {
            let headers = self.headers(theirs, STREAM_CONTENT_TYPE);
            let relay = ResponseRelay::new(
                self.engine,
                self.request,
                self.routed_request,
                body,
                work,
                &headers,
            );
            let told = std::mem::take(self.summary);
            return Ok(GatewayResponse {
                status,
                headers,
                body: GatewayBody::streaming(relay),
                summary: told,
            });
        }
        let headers = self.headers(theirs, JSON_CONTENT_TYPE);
        let body = full_reply::read_full_reply(&self, status, theirs, &headers, body, work).await?;
        let headers = if self.routed_request.stream {
            self.headers(theirs, STREAM_CONTENT_TYPE)
        } else {
            headers
        };
        Ok(GatewayResponse { status, headers, body, summary: std::mem::take(self.summary) })
    }

    /// An upstream refuses, or is in trouble: its own words, in the client's form.
    pub(super) fn build_error(
        self,
        status: StatusCode,
        theirs: &HeaderMap,
        body: &[u8],
        tries: UpstreamTries,
    ) -> GatewayResponse {
        let (from, to) = (self.routed_request.wire, self.request.endpoint.wire());
        self.summary.error_code = Some("upstream");
        let mut headers = self.headers(theirs, JSON_CONTENT_TYPE);
        if tries == UpstreamTries::Exhausted {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        let text = String::from_utf8_lossy(body);
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let body = if from == to && is_json {
            GatewayBody::full(body.to_vec())
        } else {
            match convert_error(&text, from, to, status) {
                Some(body) => GatewayBody::full(body),
                None => GatewayBody::full(unclear_error(status).body(to, &self.request.id)),
            }
        };
        let told = std::mem::take(self.summary);
        GatewayResponse { status, headers, body, summary: told }
    }

    pub(super) fn headers(&self, theirs: &HeaderMap, kind: HeaderValue) -> HeaderMap {
        let crosses = self.routed_request.wire != self.request.endpoint.wire();
        let mut headers = response_headers(theirs, crosses);
        headers.insert(header::CONTENT_TYPE, kind);
        add_gateway_headers(self.summary, &mut headers);
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

/// A fault, as a reply.
pub(super) fn error_response(
    fault: &ApiError,
    face: GatewayEndpoint,
    request: &str,
    mut told: RequestSummary,
) -> GatewayResponse {
    told.error_code = Some(fault.code);
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, JSON_CONTENT_TYPE);
    add_gateway_headers(&told, &mut headers);
    if let Some(seconds) = fault.retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    if fault.retries_exhausted {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    let body = GatewayBody::full(fault.body(face.wire(), request));
    GatewayResponse { status: fault.status(), headers, body, summary: told }
}

/// A reply that was given before.
pub(super) fn replayed_response(
    stored: &CachedReply,
    told: &mut RequestSummary,
) -> GatewayResponse {
    let mut headers = stored.headers.clone();
    headers.insert("x-foxwedge-replayed", HeaderValue::from_static("true"));
    let told = std::mem::take(told);
    GatewayResponse {
        status: stored.status,
        headers,
        body: GatewayBody::full(stored.body.clone()),
        summary: told,
    }
}

/// What a strict route found, out of the fault that says so.
pub(super) fn rejected_findings(fault: &ApiError) -> Vec<FindingTally> {
    let mut all: Vec<FindingTally> = Vec::new();
    let list = fault.details.get("findings").and_then(Value::as_array);
    for finding in list.into_iter().flatten() {
        let label = finding.get("code").and_then(Value::as_str).unwrap_or_default();
        let Some(code) = label.strip_prefix("FW").and_then(|code| code.parse().ok()) else {
            continue;
        };
        match all.iter_mut().find(|noted| noted.code == code) {
            Some(noted) => noted.count += 1,
            None => all.push(FindingTally { code, strategy: "none", count: 1 }),
        }
    }
    all
}

/// What we say about a request.
fn add_gateway_headers(told: &RequestSummary, headers: &mut HeaderMap) {
    let action = told.action.unwrap_or(GuardAction::None);
    headers.insert("x-foxwedge-action", HeaderValue::from_static(action.name()));
    if !told.findings.is_empty() {
        insert_header(headers, "x-foxwedge-findings", &FindingTally::header_value(&told.findings));
    }
    if let Some(session) = &told.session {
        insert_header(headers, "x-foxwedge-session", session);
    }
    if let Some(run) = &told.run {
        insert_header(headers, "x-foxwedge-run", run);
    }
    if let Some(ignored) = &told.ignored_results {
        insert_header(headers, "x-foxwedge-ignored-results", ignored);
    }
    if let Some(matched) = told.match_kind {
        headers.insert("x-foxwedge-match", HeaderValue::from_static(matched));
    }
}

fn insert_header(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// An error in another form. What kind of trouble it is, the status says best: some formats have one
/// name for many.
fn convert_error(text: &str, from: Format, to: Format, status: StatusCode) -> Option<String> {
    let ModelResponse::Error(mut failure) = decode_reply(text, from).ok()?.outcome else {
        return None;
    };
    failure.kind = match status.as_u16() {
        401 => ProviderErrorKind::Authentication,
        403 => ProviderErrorKind::Permission,
        404 => ProviderErrorKind::NotFound,
        408 | 504 => ProviderErrorKind::Timeout,
        413 => ProviderErrorKind::TooLarge,
        429 => ProviderErrorKind::RateLimit,
        503 | 529 => ProviderErrorKind::Overloaded,
        _ => failure.kind,
    };
    Some(encode_reply(&ModelResponse::Error(failure), to, "").body)
}

/// An upstream failed and did not say why in a way that can be read.
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
    ApiError::new(kind, "upstream_error", format!("the upstream answered with status {status}"))
}
