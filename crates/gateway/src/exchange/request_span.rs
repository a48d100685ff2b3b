//! What the span of a request holds about the request.

use foxwedge_formats::{model, otel_messages};

use super::prepare::RoutedRequest;
use crate::{
    GatewayRequest, GuardAction,
    trace::{ChatSpan, ChatTracer, provider_name},
};

/// Starts the span of a request, with its provider, model and upstream.
pub(super) fn start_span(
    tracer: &ChatTracer,
    request: &GatewayRequest,
    routed_request: &RoutedRequest,
) -> ChatSpan {
    let upstream = &routed_request.route.upstream;
    let provider = provider_name(upstream, routed_request.format, &routed_request.model);
    let mut span = tracer.start_span(&request.headers, provider, &routed_request.model);
    span.set_upstream(&upstream.name);
    span
}

/// Adds the repairs, and the messages as they were sent if the span includes content.
pub(super) fn add_request(span: &mut ChatSpan, routed_request: &RoutedRequest) {
    let guarded = &routed_request.guarded;
    span.set_input_messages(|| {
        let body = foxwedge_formats::text(&guarded.body).ok()?;
        let history = model::decode(body, routed_request.format).ok()?;
        Some(otel_messages::write_input_messages(&history))
    });
    if guarded.action == GuardAction::Fixed {
        span.add_repairs(&guarded.findings);
    }
}
