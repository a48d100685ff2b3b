//! Lists, the newest first, page by page: a page begins behind the last id of the one before.

use foxwedge_engine::Fault;
use foxwedge_store::{Filter, Page, Store};

use super::{ask, json, shape, trouble};
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
    Ok(json(&shape::page(rows, limit, |row| row.id.clone(), shape::run)))
}
