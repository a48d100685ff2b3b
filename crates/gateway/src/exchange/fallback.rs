//! Sends a request to its upstream, and to the fallbacks of its route if that fails.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{
    EngineShared,
    prepare::{RoutedRequest, prepare_for_route, prepare_resolved},
    send::{UpstreamResponse, send_upstream},
    summary,
};
use crate::{ApiError, GatewayRequest, active_config::ResponseStorage, config::ModelRoute};
use foxwedge_upstream::send::RetryPolicy;

/// Sends a request to the first upstream of its route that replies. Afterwards `prepared` is the
/// request as that upstream got it.
pub(super) async fn send_to_route(
    engine: &Arc<EngineShared>,
    request: &GatewayRequest,
    prepared: &mut RoutedRequest,
    trace: Option<&str>,
    stop: &mut oneshot::Receiver<()>,
) -> Result<UpstreamResponse, ApiError> {
    let primary = prepared.route.clone();
    // An upstream that stores the conversation is the only one that can continue it.
    let is_complete = prepared.traits.opening.is_some();
    let mut fallbacks = primary.fallbacks.iter().filter(|_| is_complete);
    let active = engine.config.get();
    loop {
        let breaker = active.circuit_breaker(&prepared.route.upstream.name);
        if breaker.is_some_and(|breaker| !breaker.allows_request())
            && use_fallback(engine, request, prepared, fallbacks.next())
        {
            continue;
        }
        summary::fit_with_summary(engine, request, prepared).await;
        if let Some(error) = summary::context_overflow_error(engine, request.endpoint, prepared) {
            return Err(error);
        }
        let mut response = send_upstream(engine, request, prepared, trace, stop).await;
        if let Some(storage) = shown_storage(prepared, &response) {
            let upstream = prepared.route.upstream.name.clone();
            active.set_response_storage(&upstream, storage);
            if storage == ResponseStorage::NotStored
                && let Some(resolved) = prepare_resolved(engine, request, prepared.route.clone())
            {
                *prepared = RoutedRequest { is_fallback: prepared.is_fallback, ..resolved };
                response = send_upstream(engine, request, prepared, trace, stop).await;
            }
        }
        let has_failed = is_failure(&response);
        match breaker {
            Some(breaker) if has_failed => breaker.count_failure(),
            Some(breaker) => breaker.count_success(),
            None => {}
        }
        if !has_failed || !use_fallback(engine, request, prepared, fallbacks.next()) {
            return response;
        }
    }
}

/// Prepares the request for a fallback. Returns whether it can be sent there.
fn use_fallback(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &mut RoutedRequest,
    fallback: Option<&Arc<ModelRoute>>,
) -> bool {
    let Some(route) = fallback else { return false };
    let Ok(next) = prepare_for_route(engine, request, route.clone()) else { return false };
    let (from, to) = (&*prepared.route.upstream.name, &*route.upstream.name);
    tracing::debug!(target: "foxwedge::upstream", upstream = from, fallback = to, "fallback used");
    engine.metrics.count_fallback(from);
    *prepared = RoutedRequest { is_fallback: true, ..next };
    true
}

/// What a response shows about the storage of its upstream: whether it knew the response that the
/// request continues.
fn shown_storage(
    prepared: &RoutedRequest,
    response: &Result<UpstreamResponse, ApiError>,
) -> Option<ResponseStorage> {
    let previous = prepared.previous_response.as_deref()?;
    match response {
        Ok(UpstreamResponse::Reply { .. }) => Some(ResponseStorage::Stored),
        Ok(UpstreamResponse::Error { status, body, .. })
            if matches!(status.as_u16(), 400 | 404) =>
        {
            let text = String::from_utf8_lossy(body).to_lowercase();
            let is_missing = text.contains("not found") || text.contains("not_found");
            let names = [&*previous.to_lowercase(), "previous_response"];
            let is_meant = names.iter().any(|name| text.contains(name));
            (is_missing && is_meant).then_some(ResponseStorage::NotStored)
        }
        Ok(UpstreamResponse::Error { .. }) | Err(_) => None,
    }
}

/// Whether another upstream may do better: this one is out of reach, overloaded or broken.
fn is_failure(response: &Result<UpstreamResponse, ApiError>) -> bool {
    match response {
        Ok(UpstreamResponse::Reply { .. }) => false,
        Ok(UpstreamResponse::Error { status, .. }) => {
            status.is_server_error() || RetryPolicy::is_retryable(*status)
        }
        Err(error) => matches!(error.code, "upstream_unreachable" | "upstream_timeout"),
    }
}
