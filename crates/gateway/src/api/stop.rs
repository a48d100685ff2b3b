//! `POST /v1/runs/{id}/stop`: ends a run, on whichever node it runs.

use std::time::Duration;

use crate::ApiError;
use foxwedge_run::{EventPayload, StopRequest};
use foxwedge_store::{CloseAuthority, FinalizeResult, RunRow, RunState, close_run};
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::owner::forward_to_owner;
use super::{lookup, shape, store_error};
use crate::{
    HttpReply,
    api_request::ApiRequest,
    error,
    gateway_state::GatewayState,
    response_body::{JSON, ResponseBody},
};

/// How often to check whether a local run has ended, and the pause between checks.
const MAX_CHECKS: usize = 40;
const PAUSE: Duration = Duration::from_millis(25);

pub(super) async fn stop(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
) -> Result<HttpReply, ApiError> {
    if !is_empty(&request.body) {
        return Err(error::bad_request("the body must be empty or an empty object"));
    }
    app.engine.recorder().flush().await;
    let row = lookup::visible_run(app, request, id).await?;
    if row.state != RunState::Open {
        return Ok(stop_reply(&row, false));
    }
    if app.engine.stop_run(id) {
        return wait_until_ended(app, request, row).await;
    }
    if let Some(reply) = forward_to_owner(app, request, &row).await {
        return Ok(reply);
    }
    let payload = EventPayload::Stop(StopRequest { grace: 0 });
    let result =
        close_run(&*app.store, id, payload, CloseAuthority::Operator).await.map_err(store_error)?;
    app.engine.recorder().forget_run(id);
    app.engine.release_run(id);
    Ok(match result {
        FinalizeResult::Recorded(row) => stop_reply(&row, true),
        FinalizeResult::AlreadyEnded(row) => stop_reply(&row, false),
    })
}

/// Waits for a run of this process, which ends as soon as its worker notices the stop.
async fn wait_until_ended(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    mut row: RunRow,
) -> Result<HttpReply, ApiError> {
    for _ in 0..MAX_CHECKS {
        app.engine.recorder().flush().await;
        row = lookup::visible_run(app, request, &row.id).await?;
        if row.state != RunState::Open {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(stop_reply(&row, true))
}

/// Any other body is rejected, so that no option is silently ignored.
fn is_empty(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    body.is_empty()
        || serde_json::from_slice::<Map<String, Value>>(body).is_ok_and(|it| it.is_empty())
}

fn stop_reply(row: &RunRow, stopped: bool) -> HttpReply {
    let status = match row.state {
        RunState::Open => StatusCode::ACCEPTED,
        RunState::Ended { .. } => StatusCode::OK,
    };
    let value = json!({ "stopped": stopped, "run": shape::run(row) });
    ResponseBody::reply(status, JSON, value.to_string())
}
