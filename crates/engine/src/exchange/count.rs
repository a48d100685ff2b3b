//! Counts the tokens of a request: by the upstream if it can, else here.

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_dialect::text;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::sync::oneshot;

use super::{
    EngineShared, fill_refusal_summary, fill_summary,
    prepare::prepare,
    reply::ResponseBuilder,
    send::{UpstreamResponse, send_upstream},
};
use crate::{
    ApiError, ApiErrorKind, GatewayBody, GatewayRequest, GatewayResponse, RequestSummary,
    config::UpstreamTransport,
};

/// The longest count of an upstream.
const MAX_COUNT_BYTES: usize = 64 << 10;

pub(super) async fn count_tokens(
    engine: &Arc<EngineShared>,
    asked: &GatewayRequest,
    told: &mut RequestSummary,
) -> Result<GatewayResponse, ApiError> {
    let mut prepared =
        prepare(engine, asked).inspect_err(|fault| fill_refusal_summary(fault, told))?;
    fill_summary(&prepared, told);
    let counts = prepared.wire == Format::Anthropic
        && !matches!(prepared.route.upstream.transport, UpstreamTransport::Agent(_));
    if !counts {
        let tokens = text(&prepared.guarded.body)
            .ok()
            .and_then(|source| {
                engine.token_counters.count_tokens(source, prepared.wire, &prepared.model)
            })
            .ok_or_else(|| {
                ApiError::new(ApiErrorKind::Server, "uncounted", "the request was not counted")
            })?;
        let reply =
            ResponseBuilder { engine, request: asked, routed_request: &prepared, summary: told };
        let kind = HeaderValue::from_static("application/json");
        let headers = reply.headers(&HeaderMap::new(), kind);
        let body = GatewayBody::full(format!("{{\"input_tokens\":{tokens}}}"));
        let told = std::mem::take(reply.summary);
        return Ok(GatewayResponse { status: StatusCode::OK, headers, body, summary: told });
    }
    let (_sender, mut never) = oneshot::channel();
    let said = send_upstream(engine, asked, &mut prepared, None, &mut never).await?;
    fill_summary(&prepared, told);
    let reply =
        ResponseBuilder { engine, request: asked, routed_request: &prepared, summary: told };
    match said {
        UpstreamResponse::Reply { status, headers, body } => {
            let kind = headers.get(header::CONTENT_TYPE).cloned();
            let bytes = body.read_all(MAX_COUNT_BYTES).await.map_err(|error| {
                ApiError::new(
                    ApiErrorKind::Upstream,
                    "upstream_cut",
                    format!("the count broke off: {error}"),
                )
            })?;
            let kind = kind.unwrap_or(HeaderValue::from_static("application/json"));
            let headers = reply.headers(&headers, kind);
            let told = std::mem::take(reply.summary);
            Ok(GatewayResponse { status, headers, body: GatewayBody::full(bytes), summary: told })
        }
        UpstreamResponse::Error { status, headers, body, tries } => {
            Ok(reply.build_error(status, &headers, &body, tries))
        }
    }
}
