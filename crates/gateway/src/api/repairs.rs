//! What the guard found and changed.

use foxwedge_engine::{Fault, record::Repair};

use super::{json, shape, unknown};
use crate::{Reply, routes::Call, serve::App};

/// `GET /v1/repairs`.
pub(super) fn list(app: &App, call: &Call<'_>) -> Result<Reply, Fault> {
    let limit = call.limit()?;
    let after = match call.parameter("after")? {
        Some(id) => Some(Repair::number(&id).ok_or_else(|| unknown("repair"))?),
        None => None,
    };
    let rows = app.engine.recorder().repairs().list(call.owner(), after, limit + 1);
    Ok(json(&shape::page(rows, limit, |repair| repair.id(), |repair| repair.summary())))
}

/// `GET /v1/repairs/{id}`.
pub(super) fn one(app: &App, call: &Call<'_>, id: &str) -> Result<Reply, Fault> {
    let repair = Repair::number(id).and_then(|number| app.engine.recorder().repairs().get(number));
    let mine = repair.filter(|repair| call.owner().is_none_or(|owner| *repair.owner == *owner));
    mine.map(|repair| json(&repair.detail())).ok_or_else(|| unknown("repair"))
}
