//! One session with its runs, one run with its calls.

use foxwedge_engine::Fault;
use foxwedge_run::{Input, Session, Settings};
use foxwedge_store::{Filter, Page, RunRow, Store};
use serde_json::Value;

use super::{ask, json, shape, trouble};
use crate::{Reply, routes::Call, serve::App};

/// Events are read in such pages, and no more of them: a run with more is told up to there.
const PAGE: usize = 1_000;
const EVENTS: u64 = 20_000;

/// `GET /v1/sessions/{id}`.
pub(super) async fn session(app: &App, call: &Call<'_>, id: &str) -> Result<Reply, Fault> {
    let limit = call.limit()?;
    app.engine.recorder().flush().await;
    let row = ask::session(app, call, id).await?;
    let after = match call.parameter("after")? {
        Some(id) => Some(ask::run(app, call, &id).await?.id),
        None => None,
    };
    let filter = Filter { session: Some(row.id.clone()), ..Filter::default() };
    let page = Page { after, limit: limit + 1 };
    let runs = app.store.runs(filter, page).await.map_err(trouble)?;
    let mut value = shape::page(runs, limit, |run| run.id.clone(), shape::run);
    value["session"] = shape::session(&row);
    Ok(json(&value))
}

/// `GET /v1/runs/{id}`.
pub(super) async fn run(app: &App, call: &Call<'_>, id: &str) -> Result<Reply, Fault> {
    app.engine.recorder().flush().await;
    let row = ask::run(app, call, id).await?;
    let machine = read(app, &row).await?;
    Ok(json(&told(&row, &machine)))
}

/// A run, with what its log says.
fn told(row: &RunRow, machine: &Session) -> Value {
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

pub(super) async fn read(app: &App, row: &RunRow) -> Result<Session, Fault> {
    let mut machine = Session::new(Settings::default());
    let (mut last, mut effects) = (0, Vec::new());
    while last < EVENTS {
        let page = app.store.events(&row.id, last, PAGE).await.map_err(trouble)?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        for stored in page {
            // A log has no gaps, so that nothing depends on the time.
            machine.apply(0, Input::Event(stored.event), &mut effects);
            effects.clear();
        }
    }
    Ok(machine)
}
