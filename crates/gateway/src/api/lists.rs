//! Lists, newest first, in pages: a page begins after the last id of the previous one.

use std::collections::HashMap;

use crate::ApiError;
use foxwedge_store::{ListFilter, ListPage, RunRow, RunState, Store};
use serde_json::Value;

use super::{details, json_reply, lookup, shape, store_error};
use crate::{HttpReply, api_request::ApiRequest, gateway_state::GatewayState};

/// `GET /v1/sessions`.
pub(super) async fn sessions(
    app: &GatewayState,
    request: &ApiRequest<'_>,
) -> Result<HttpReply, ApiError> {
    let limit = request.limit()?;
    let open = request.flag("open")?;
    app.engine.recorder().flush().await;
    let after = match request.parameter("after")? {
        Some(id) => Some(lookup::visible_session(app, request, &id).await?.id),
        None => None,
    };
    let filter = ListFilter { owner: request.owner().map(str::to_owned), session: None, open };
    // One extra row shows whether there are more.
    let page = ListPage { after, limit: limit + 1 };
    let rows = app.store.sessions(filter, page).await.map_err(store_error)?;
    Ok(json_reply(&shape::page(rows, limit, |row| row.id.clone(), shape::session)))
}

/// `GET /v1/runs`.
pub(super) async fn runs(
    app: &GatewayState,
    request: &ApiRequest<'_>,
) -> Result<HttpReply, ApiError> {
    let limit = request.limit()?;
    let open = request.flag("open")?;
    app.engine.recorder().flush().await;
    let session = match request.parameter("session")? {
        Some(id) => Some(lookup::visible_session(app, request, &id).await?.id),
        None => None,
    };
    let after = match request.parameter("after")? {
        Some(id) => Some(lookup::visible_run(app, request, &id).await?.id),
        None => None,
    };
    let filter = ListFilter { owner: request.owner().map(str::to_owned), session, open };
    let page = ListPage { after, limit: limit + 1 };
    let rows = app.store.runs(filter, page).await.map_err(store_error)?;
    let counts = open_calls(app, rows.get(..limit).unwrap_or(&rows)).await?;
    let shape = |row: &RunRow| {
        let mut value = shape::run(row);
        if let Some(counts) = counts.get(&row.id) {
            value["calls"] = counts.clone();
        }
        value
    };
    Ok(json_reply(&shape::page(rows, limit, |row| row.id.clone(), shape)))
}

/// Call counts of open runs. These require reading the logs, so long logs and all but the first
/// 50 runs are skipped.
async fn open_calls(
    app: &GatewayState,
    rows: &[RunRow],
) -> Result<HashMap<String, Value>, ApiError> {
    const MAX_RUNS: usize = 50;
    const MAX_EVENTS: u64 = 2_000;
    let is_short = |row: &&RunRow| row.state == RunState::Open && row.last <= MAX_EVENTS;
    let mut counts = HashMap::new();
    for row in rows.iter().filter(is_short).take(MAX_RUNS) {
        let machine = details::replay_run(app, row).await?;
        let run = machine.run(&row.id);
        counts.extend(run.map(|run| (row.id.clone(), shape::summary(&run.summary()))));
    }
    Ok(counts)
}
