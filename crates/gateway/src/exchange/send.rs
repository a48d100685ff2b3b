//! Sends a request to an upstream. The client may disconnect meanwhile; it has received nothing
//! yet.

use bytes::Bytes;
use foxwedge_core::{ErrorExplanation, Format, rules};
use http::StatusCode;
use tokio::sync::oneshot;

use super::{EngineShared, identity::is_sdk_retry, prepare::RoutedRequest};
use crate::{
    ApiError, ApiErrorKind, GatewayRequest, GuardedRequest, config::ModelRoute, guard::GuardAction,
};
use foxwedge_upstream::{
    RefusedRequest, RejectionClass, RepairedRetry,
    http::{HttpError, HttpErrorKind},
    repair_for_retry,
    send::{
        AttemptObserver, RetryCause, RetryPlan, RetryPolicy, UpstreamRequest, UpstreamTries,
        send_with_retry,
    },
};

pub(super) use foxwedge_upstream::send::UpstreamResponse;

/// Sends a request and waits for a reply, a final error, or a stop.
pub(super) async fn send_upstream(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &mut RoutedRequest,
    trace: Option<&str>,
    stop: &mut oneshot::Receiver<()>,
) -> Result<UpstreamResponse, ApiError> {
    tokio::select! {
        biased;
        _ = stop => Err(run_stopped_error()),
        response = send_with_retries(engine, request, prepared, trace) => response,
    }
}

async fn send_with_retries(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &mut RoutedRequest,
    trace: Option<&str>,
) -> Result<UpstreamResponse, ApiError> {
    let route = prepared.route.clone();
    let upstream_request = UpstreamRequest {
        upstream: &route.upstream,
        operation: request.endpoint.operation(),
        format: prepared.format,
        client_format: request.endpoint.format(),
        model: &prepared.model,
        stream: prepared.stream,
        headers: &request.headers,
        client_key: request.caller.client_key.as_ref(),
        trace,
    };
    let body = prepared.guarded.body.clone();
    let mut observer = GatewayAttemptObserver {
        engine,
        route: &route,
        format: prepared.format,
        model: &prepared.model,
        guarded: &mut prepared.guarded,
    };
    let mut policy = RetryPolicy::new(route.upstream.attempts);
    if is_sdk_retry(&request.headers) {
        policy = policy.for_client_retry();
    }
    let active = engine.config.get();
    let plan = RetryPlan { policy, budget: active.retry_budget(&route.upstream.name) };
    let response =
        send_with_retry(&active.client, upstream_request, body, plan, &mut observer).await;
    response.map_err(|(error, tries)| {
        let mut api_error = unreachable_error(&error);
        api_error.retries_exhausted = tries == UpstreamTries::Exhausted;
        api_error
    })
}

/// Counts attempts, and keeps the changes of a repair.
struct GatewayAttemptObserver<'a> {
    engine: &'a EngineShared,
    route: &'a ModelRoute,
    format: Format,
    /// The upstream's name of the model.
    model: &'a str,
    guarded: &'a mut GuardedRequest,
}

impl AttemptObserver for GatewayAttemptObserver<'_> {
    fn attempt_finished(&mut self, status: Option<StatusCode>) {
        self.engine.metrics.count_upstream(&self.route.upstream.name, status);
    }

    fn request_refused(&mut self, class: RejectionClass) {
        let name = |code| rules::find_rule(&format!("FW{code}")).map_or("other", |rule| rule.name);
        self.engine.metrics.count_upstream_400(match class {
            RejectionClass::Shape(code) => name(code),
            RejectionClass::Other => "other",
        });
    }

    fn repair_request(
        &mut self,
        sent: &Bytes,
        error: &str,
        explanation: &ErrorExplanation<'_>,
    ) -> Option<Bytes> {
        let policy = self.route.retry_repair_policy()?;
        let (format, model) = (self.format, self.model);
        let profile = self.route.upstream.profile(format, model);
        let refused = RefusedRequest { body: sent, error, format, profile, model };
        let RepairedRetry { body, changes, check_options: _ } =
            repair_for_retry(refused, policy, explanation)?;
        self.guarded.body = body.clone();
        self.guarded.changes.append(changes);
        self.guarded.action = GuardAction::Fixed;
        Some(body)
    }

    fn retrying(&mut self, _: RetryCause<'_>) {
        self.engine.metrics.count_retry(&self.route.upstream.name);
    }
}

pub(crate) fn unreachable_error(error: &HttpError) -> ApiError {
    let message = format!("the request to the upstream failed: {error}");
    match error.kind {
        HttpErrorKind::Timeout => {
            ApiError::new(ApiErrorKind::UpstreamTimeout, "upstream_timeout", message)
        }
        HttpErrorKind::Redirect => {
            ApiError::new(ApiErrorKind::Upstream, "upstream_redirect", message)
        }
        HttpErrorKind::Closed
        | HttpErrorKind::Malformed
        | HttpErrorKind::TooLarge
        | HttpErrorKind::Forbidden
        | HttpErrorKind::Failed => {
            ApiError::new(ApiErrorKind::Upstream, "upstream_unreachable", message)
        }
    }
}

pub(super) fn run_stopped_error() -> ApiError {
    // SDKs retry a conflict, and would start the run again.
    let error = ApiError::new(ApiErrorKind::Conflict, "run_stopped", "the run was stopped");
    ApiError { retries_exhausted: true, ..error }
}
