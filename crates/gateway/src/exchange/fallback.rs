//! Sends a request to its upstream, and to the fallbacks of its route if that fails.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    EngineShared,
    prepare::{RoutedRequest, prepare_for_route, prepare_resolved},
    reply::read_ahead,
    send::{UpstreamResponse, run_stopped_error, send_upstream},
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
        if let Some(shown) = shown_storage(engine, &request.caller.owner, prepared, &response) {
            let upstream = prepared.route.upstream.name.clone();
            let known = active.response_storage(&upstream);
            let storage = match (shown, known) {
                (ResponseStorage::Unknown, ResponseStorage::NotStored) => known,
                _ => shown,
            };
            active.set_response_storage(&upstream, storage);
            if storage != ResponseStorage::Stored {
                let route = prepared.route.clone();
                match prepare_resolved(engine, request, route, &prepared.references) {
                    Some(resolved) => {
                        *prepared = RoutedRequest { is_fallback: prepared.is_fallback, ..resolved };
                        response = send_upstream(engine, request, prepared, trace, stop).await;
                    }
                    // The id may be wrong: the gateway does not know it either.
                    None if known == ResponseStorage::Stored => {
                        active.set_response_storage(&upstream, ResponseStorage::Unknown);
                    }
                    None => active.set_response_storage(&upstream, known),
                }
            }
        }
        let mut is_broken = false;
        // Without a fallback, nothing is gained by reading the reply before it is converted.
        if !primary.fallbacks.is_empty()
            && let Ok(UpstreamResponse::Reply { status, headers, body }) = response
        {
            let reading = read_ahead(engine, request, prepared, &headers, body);
            let (body, is_unreadable) = tokio::select! {
                biased;
                _ = &mut *stop => return Err(run_stopped_error()),
                read = reading => read,
            };
            is_broken = is_unreadable;
            response = Ok(UpstreamResponse::Reply { status, headers, body });
        }
        let has_failed = is_broken || is_failure(&response);
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
/// request continues and the items it refers to. `Unknown`: it did not know what another upstream
/// has created.
fn shown_storage(
    engine: &EngineShared,
    owner: &str,
    prepared: &RoutedRequest,
    response: &Result<UpstreamResponse, ApiError>,
) -> Option<ResponseStorage> {
    if prepared.references.is_empty() {
        return None;
    }
    match response {
        Ok(UpstreamResponse::Reply { .. }) => Some(ResponseStorage::Stored),
        Ok(UpstreamResponse::Error { status, body, .. })
            if matches!(status.as_u16(), 400 | 404) =>
        {
            let upstream = &prepared.route.upstream.name;
            let is_own =
                |id: &str| engine.response_items.creator(owner, id).as_ref() == Some(upstream);
            read_refusal(body, &prepared.references, is_own)
        }
        Ok(UpstreamResponse::Error { .. }) | Err(_) => None,
    }
}

/// What an error shows about the storage of an upstream; `None` if it is about something else.
/// `is_own`: whether the upstream has created a response or an item.
fn read_refusal(
    error: &[u8],
    references: &[Arc<str>],
    is_own: impl Fn(&str) -> bool,
) -> Option<ResponseStorage> {
    let text = String::from_utf8_lossy(error).to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let named = || references.iter().filter(|id| text.contains(&id.to_lowercase()));
    let is_meant = says(&["previous_response", "previous response"]) || named().next().is_some();
    // Organizations with Zero Data Retention get a sentence of their own.
    let stores_nothing = says(&["items are not persisted"])
        || is_meant && says(&["zero data retention"])
        || refuses_previous_response(error);
    if stores_nothing {
        return Some(ResponseStorage::NotStored);
    }
    if !is_meant || !says(&["not found", "not_found"]) {
        return None;
    }
    let is_own_missing = match named().next() {
        Some(_) => named().any(|id| is_own(id)),
        None => references.iter().any(|id| is_own(id)),
    };
    Some(if is_own_missing { ResponseStorage::NotStored } else { ResponseStorage::Unknown })
}

/// Whether an error says that the upstream does not support references to responses.
fn refuses_previous_response(error: &[u8]) -> bool {
    let error: Value = serde_json::from_slice(error).unwrap_or_default();
    let error = error.get("error").unwrap_or(&error);
    let code = error["code"].as_str().unwrap_or_default();
    error["param"] == "previous_response_id" && code.starts_with("unsupported")
}

/// Whether another upstream may do better: this one is out of reach, overloaded or broken. Replies
/// are judged by [`read_ahead`].
fn is_failure(response: &Result<UpstreamResponse, ApiError>) -> bool {
    match response {
        Ok(UpstreamResponse::Reply { .. }) => false,
        Ok(UpstreamResponse::Error { status, .. }) => {
            status.is_server_error() || RetryPolicy::is_retryable(*status)
        }
        Err(error) => {
            matches!(error.code, "upstream_unreachable" | "upstream_timeout" | "upstream_redirect")
        }
    }
}
