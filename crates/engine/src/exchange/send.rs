//! Asks an upstream for a client, which may leave meanwhile. Nothing of a reply has gone to it yet.

use bytes::Bytes;
use foxwedge_core::{ErrorExplanation, Format, rules};
use http::StatusCode;
use tokio::sync::oneshot;

use super::{EngineShared, identity::is_sdk_retry, prepare::RoutedRequest};
use crate::{
    ApiError, ApiErrorKind, GatewayRequest, GuardedRequest,
    config::{GuardMode, ModelRoute, RepairRetry},
    guard::{GuardAction, RejectionClass, RepairedRetry, repair_for_retry},
    http::{HttpError, HttpErrorKind as Trouble},
    upstream::{
        AttemptObserver, RetryCause, RetryPlan, RetryPolicy, UpstreamRequest, UpstreamTries,
        send_with_retry,
    },
};

pub(super) use crate::upstream::UpstreamResponse;

/// Asks until there is a reply, an error that stays, or nobody who waits.
pub(super) async fn send_upstream(
    engine: &EngineShared,
    asked: &GatewayRequest,
    prepared: &mut RoutedRequest,
    trace: Option<&str>,
    stop: &mut oneshot::Receiver<()>,
) -> Result<UpstreamResponse, ApiError> {
    tokio::select! {
        biased;
        _ = stop => Err(run_stopped_error()),
        said = send_with_retries(engine, asked, prepared, trace) => said,
    }
}

async fn send_with_retries(
    engine: &EngineShared,
    asked: &GatewayRequest,
    prepared: &mut RoutedRequest,
    trace: Option<&str>,
) -> Result<UpstreamResponse, ApiError> {
    let route = prepared.route.clone();
    let sending = UpstreamRequest {
        upstream: &route.upstream,
        face: asked.endpoint,
        wire: prepared.wire,
        model: &prepared.model,
        stream: prepared.stream,
        headers: &asked.headers,
        caller: &asked.caller,
        trace,
    };
    let body = prepared.guarded.body.clone();
    let (wire, guarded) = (prepared.wire, &mut prepared.guarded);
    let mut desk = GatewayAttemptObserver { engine, route: &route, wire, guarded };
    let mut patience = RetryPolicy::new(route.upstream.tries);
    if is_sdk_retry(&asked.headers) {
        patience = patience.for_client_retry();
    }
    let plan =
        RetryPlan { policy: patience, budget: engine.retry_budgets.get(&route.upstream.name) };
    let said = send_with_retry(&engine.client, sending, body, plan, &mut desk).await;
    said.map_err(|(error, tries)| {
        let mut fault = unreachable_error(&error);
        fault.retries_exhausted = tries == UpstreamTries::Exhausted;
        fault
    })
}

/// Counts what happens, and keeps what was changed.
struct GatewayAttemptObserver<'a> {
    engine: &'a EngineShared,
    route: &'a ModelRoute,
    wire: Format,
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
        explanation: &ErrorExplanation<'_>,
    ) -> Option<Bytes> {
        match (self.route.guard.mode, self.route.guard.heal) {
            (GuardMode::Fix, RepairRetry::Once) => {}
            (GuardMode::Fix | GuardMode::Off | GuardMode::Observe | GuardMode::Strict, _) => {
                return None;
            }
        }
        let RepairedRetry { body, changes, check_options: _ } =
            repair_for_retry(sent, self.wire, self.route, explanation)?;
        self.guarded.body = body.clone();
        self.guarded.changes.append(changes);
        self.guarded.action = GuardAction::Fixed;
        Some(body)
    }

    fn retrying(&mut self, _: RetryCause<'_>) {
        self.engine.metrics.count_retry(&self.route.upstream.name);
    }
}

fn unreachable_error(error: &HttpError) -> ApiError {
    let words = format!("the upstream cannot be asked: {error}");
    match error.kind {
        Trouble::Timeout => ApiError::new(ApiErrorKind::UpstreamTimeout, "upstream_timeout", words),
        Trouble::Redirect => ApiError::new(ApiErrorKind::Upstream, "upstream_redirect", words),
        Trouble::Closed
        | Trouble::Malformed
        | Trouble::TooLarge
        | Trouble::Forbidden
        | Trouble::Failed => ApiError::new(ApiErrorKind::Upstream, "upstream_unreachable", words),
    }
}

pub(super) fn run_stopped_error() -> ApiError {
    ApiError::new(ApiErrorKind::Conflict, "run_stopped", "the run was stopped")
}
