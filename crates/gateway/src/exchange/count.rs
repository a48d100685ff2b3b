//! Counts the tokens of a request: at the upstream if it supports that, else here.

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_formats::text;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::{
    EngineShared, fill_refusal_summary, fill_summary,
    prepare::{RoutedRequest, prepare},
    reply::ResponseBuilder,
    send::{UpstreamResponse, send_upstream},
};
use crate::{ApiError, ApiErrorKind, GatewayBody, GatewayRequest, GatewayResponse, RequestSummary};
use foxwedge_upstream::UpstreamTransport;

/// Maximum size of an upstream's count response.
const MAX_COUNT_BYTES: usize = 64 << 10;

/// The request whose tokens are counted: Gemini's clients may send it as a field of the body.
pub(super) fn unwrap_counted(request: &mut GatewayRequest) {
    #[derive(serde::Deserialize)]
    struct CountRequest<'a> {
        #[serde(borrow, rename = "generateContentRequest")]
        inner: Option<&'a RawValue>,
    }
    let wrapped = serde_json::from_slice::<CountRequest<'_>>(&request.body).ok();
    if let Some(inner) = wrapped.and_then(|wrapped| wrapped.inner) {
        request.body = request.body.slice_ref(inner.get().as_bytes());
    }
}

pub(super) async fn count_tokens(
    engine: &Arc<EngineShared>,
    request: &GatewayRequest,
    summary: &mut RequestSummary,
) -> Result<GatewayResponse, ApiError> {
    let mut prepared =
        prepare(engine, request).inspect_err(|error| fill_refusal_summary(error, summary))?;
    fill_summary(&prepared, summary);
    // The count of another format has another shape.
    let upstream_counts = prepared.format == request.endpoint.format()
        && match prepared.route.upstream.transport {
            UpstreamTransport::Network(_) => {
                matches!(prepared.format, Format::Anthropic | Format::Gemini)
            }
            UpstreamTransport::Scripted => prepared.format == Format::Anthropic,
            UpstreamTransport::Agent => false,
        };
    if !upstream_counts {
        return count_here(engine, request, &prepared, summary);
    }
    let (_sender, mut stop) = oneshot::channel();
    let response = send_upstream(engine, request, &mut prepared, None, &mut stop).await?;
    fill_summary(&prepared, summary);
    let reply = ResponseBuilder { engine, request, routed_request: &prepared, summary };
    match response {
        UpstreamResponse::Reply { status, headers, body } => {
            let content_type = headers.get(header::CONTENT_TYPE).cloned();
            let bytes = body.read_all(MAX_COUNT_BYTES).await.map_err(|error| {
                ApiError::new(
                    ApiErrorKind::Upstream,
                    "upstream_cut",
                    format!("the count was interrupted: {error}"),
                )
            })?;
            let content_type = content_type.unwrap_or(HeaderValue::from_static("application/json"));
            let headers = reply.headers(&headers, content_type);
            let summary = std::mem::take(reply.summary);
            Ok(GatewayResponse { status, headers, body: GatewayBody::full(bytes), summary })
        }
        UpstreamResponse::Error { status, body, .. }
            if is_missing_endpoint(status, &body, &prepared.model) =>
        {
            count_here(engine, request, &prepared, reply.summary)
        }
        UpstreamResponse::Error { status, headers, body, tries } => {
            Ok(reply.build_error(status, &headers, &body, tries))
        }
    }
}

/// Counts the tokens in the gateway.
fn count_here(
    engine: &Arc<EngineShared>,
    request: &GatewayRequest,
    prepared: &RoutedRequest,
    summary: &mut RequestSummary,
) -> Result<GatewayResponse, ApiError> {
    let tokens = text(&prepared.guarded.body)
        .ok()
        .and_then(|source| {
            engine.token_counters.count_tokens(source, prepared.format, &prepared.model)
        })
        .ok_or_else(|| {
            ApiError::new(
                ApiErrorKind::Server,
                "uncounted",
                "the tokens of the request cannot be counted",
            )
        })?;
    let reply = ResponseBuilder { engine, request, routed_request: prepared, summary };
    let content_type = HeaderValue::from_static("application/json");
    let headers = reply.headers(&HeaderMap::new(), content_type);
    let key = match request.endpoint.format() {
        Format::Gemini => "totalTokens",
        _ => "input_tokens",
    };
    let body = GatewayBody::full(format!("{{\"{key}\":{tokens}}}"));
    let summary = std::mem::take(reply.summary);
    Ok(GatewayResponse { status: StatusCode::OK, headers, body, summary })
}

/// Whether an error means that the upstream does not count tokens. One that names the model is
/// about the model.
fn is_missing_endpoint(status: StatusCode, error: &[u8], model: &str) -> bool {
    let text = String::from_utf8_lossy(error);
    let is_outside = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    let names_model = text.match_indices(model).any(|(at, name)| {
        let (before, rest) = text.split_at_checked(at).unwrap_or_default();
        let behind = rest.strip_prefix(name).unwrap_or_default();
        is_outside(before.chars().next_back()) && is_outside(behind.chars().next())
    });
    matches!(status.as_u16(), 404 | 405 | 501) && !names_model
}
