//! `POST /v1/runs/{id}/stop`: ends a run, wherever it is at work.

use std::time::Duration;

use foxwedge_engine::Fault;
use foxwedge_run::{Body, Stop};
use foxwedge_store::{Authority, Finalized, RunRow, RunState, close};
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{ask, shape, trouble};
use crate::{
    Reply, error,
    outgoing::{JSON, Outgoing},
    routes::Call,
    serve::App,
};

/// How often, and how long between, is looked whether a run at work here has ended.
const LOOKS: usize = 40;
const PAUSE: Duration = Duration::from_millis(25);

pub(super) async fn stop(app: &App, call: &Call<'_>, id: &str) -> Result<Reply, Fault> {
    if !is_empty(&call.body) {
        return Err(error::bad_request("a stop has no body, or an empty object"));
    }
    app.engine.recorder().flush().await;
    let row = ask::run(app, call, id).await?;
    if row.state != RunState::Open {
        return Ok(told(&row, false));
    }
    if app.engine.stop(id) {
        return wait(app, call, row).await;
    }
    let wish = Body::Stop(Stop { grace: 0 });
    let done = close(&*app.store, id, wish, Authority::Operator).await.map_err(trouble)?;
    app.engine.recorder().forget(id);
    app.engine.release(id);
    Ok(match done {
        Finalized::Won(row) => told(&row, true),
        Finalized::Lost(row) => told(&row, false),
    })
}

/// It is at work here, and ends as soon as whoever works on it notices.
async fn wait(app: &App, call: &Call<'_>, mut row: RunRow) -> Result<Reply, Fault> {
    for _ in 0..LOOKS {
        app.engine.recorder().flush().await;
        row = ask::run(app, call, &row.id).await?;
        if row.state != RunState::Open {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(told(&row, true))
}

/// Nobody may believe that something was understood that was not.
fn is_empty(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    body.is_empty()
        || serde_json::from_slice::<Map<String, Value>>(body).is_ok_and(|it| it.is_empty())
}

fn told(row: &RunRow, stopped: bool) -> Reply {
    let status = match row.state {
        RunState::Open => StatusCode::ACCEPTED,
        RunState::Ended { .. } => StatusCode::OK,
    };
    let value = json!({ "stopped": stopped, "run": shape::run(row) });
    Outgoing::reply(status, JSON, value.to_string())
}
