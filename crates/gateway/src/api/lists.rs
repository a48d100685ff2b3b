//! Lists, the newest first, page by page: a page begins behind the last id of the one before.

use std::collections::HashMap;

use foxwedge_engine::Fault;
use foxwedge_store::{Filter, Page, RunRow, RunState, Store};
use serde_json::Value;

use super::{ask, json, one, shape, trouble};
use crate::{Reply, routes::Call, serve::App};

/// `GET /v1/sessions`.
pub(super) async fn sessions(app: &App, call: &Call<'_>) -> Result<Reply, Fault> {
    let limit = call.limit()?;
    let open = call.flag("open")?;
    app.engine.recorder().flush().await;
    let after = match call.parameter("after")? {
        Some(id) => Some(ask::session(app, call, &id).await?.id),
        None => None,
    };
    let filter = Filter { owner: call.owner().map(str::to_owned), session: None, open };
    // One more tells whether there are more.
    let page = Page { after, limit: limit + 1 };
    let rows = app.store.sessions(filter, page).await.map_err(trouble)?;
    Ok(json(&shape::page(rows, limit, |row| row.id.clone(), shape::session)))
}

/// `GET /v1/runs`.
pub(super) async fn runs(app: &App, call: &Call<'_>) -> Result<Reply, Fault> {
    let limit = call.limit()?;
    let open = call.flag("open")?;
    app.engine.recorder().flush().await;
    let session = match call.parameter("session")? {
        Some(id) => Some(ask::session(app, call, &id).await?.id),
        None => None,
    };
    let after = match call.parameter("after")? {
        Some(id) => Some(ask::run(app, call, &id).await?.id),
        None => None,
    };
    let filter = Filter { owner: call.owner().map(str::to_owned), session, open };
    let page = Page { after, limit: limit + 1 };
    let rows = app.store.runs(filter, page).await.map_err(trouble)?;
    let counts = open_calls(app, rows.get(..limit).unwrap_or(&rows)).await?;
    let shape = |row: &RunRow| {
        let mut value = shape::run(row);
        if let Some(counts) = counts.get(&row.id) {
            value["calls"] = counts.clone();
        }
        value
    };
    Ok(json(&shape::page(rows, limit, |row| row.id.clone(), shape)))
}

/// The calls of runs that are at work, in numbers. Their logs have to be read for that: of long ones
/// and of many nothing is said.
async fn open_calls(app: &App, rows: &[RunRow]) -> Result<HashMap<String, Value>, Fault> {
    const MOST: usize = 50;
    const EVENTS: u64 = 2_000;
    let short = |row: &&RunRow| row.state == RunState::Open && row.last <= EVENTS;
    let mut counts = HashMap::new();
    for row in rows.iter().filter(short).take(MOST) {
        let machine = one::read(app, row).await?;
        let run = machine.run(&row.id);
        counts.extend(run.map(|run| (row.id.clone(), shape::summary(&run.summary()))));
    }
    Ok(counts)
}
