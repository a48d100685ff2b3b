//! One session with its runs, one run with its calls.

use crate::ApiError;
use foxwedge_run::{MachineInput, MachineSettings, SessionMachine};
use foxwedge_store::{ListFilter, ListPage, RunRow, Store};
use serde_json::Value;

use super::{json_reply, lookup, shape, store_error};
use crate::{HttpReply, api_request::ApiRequest, gateway_state::GatewayState};

/// Page size, and maximum number of events to replay. Longer runs are shown up to that point.
const PAGE: usize = 1_000;
const MAX_EVENTS: u64 = 20_000;

/// `GET /v1/sessions/{id}`.
pub(super) async fn session(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
) -> Result<HttpReply, ApiError> {
    let limit = request.limit()?;
    app.engine.recorder().flush().await;
    let row = lookup::visible_session(app, request, id).await?;
    let after = match request.parameter("after")? {
        Some(id) => Some(lookup::visible_run(app, request, &id).await?.id),
        None => None,
    };
    let filter = ListFilter { session: Some(row.id.clone()), ..ListFilter::default() };
    let page = ListPage { after, limit: limit + 1 };
    let runs = app.store.runs(filter, page).await.map_err(store_error)?;
    let mut value = shape::page(runs, limit, |run| run.id.clone(), shape::run);
    value["session"] = shape::session(&row);
    Ok(json_reply(&value))
}

/// `GET /v1/runs/{id}`.
pub(super) async fn run(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
) -> Result<HttpReply, ApiError> {
    app.engine.recorder().flush().await;
    let row = lookup::visible_run(app, request, id).await?;
    let machine = replay_run(app, &row).await?;
    Ok(json_reply(&run_json(&row, &machine)))
}

/// A run as JSON, with its tool calls and texts from the log.
fn run_json(row: &RunRow, machine: &SessionMachine) -> Value {
    let mut value = shape::run(row);
    if let Some(run) = machine.run(&row.id) {
        value["tools"] = run.tools().iter().map(shape::tool).collect();
        value["texts"] = run.texts().iter().map(shape::text).collect();
        if value["calls"].is_null() {
            value["calls"] = shape::summary(&run.summary());
            value["usage"] = shape::usage(&run.usage());
        }
    }
    value
}

pub(super) async fn replay_run(
    app: &GatewayState,
    row: &RunRow,
) -> Result<SessionMachine, ApiError> {
    let mut machine = SessionMachine::new(MachineSettings::default());
    let (mut last, mut effects) = (0, Vec::new());
    while last < MAX_EVENTS {
        let page = app.store.events(&row.id, last, PAGE).await.map_err(store_error)?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        for stored in page {
            // A log has no gaps, so the time does not matter.
            machine.apply(0, MachineInput::Event(stored.event), &mut effects);
            effects.clear();
        }
    }
    Ok(machine)
}
