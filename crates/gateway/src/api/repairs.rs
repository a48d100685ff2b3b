//! `/v1/repairs`: what the guard found and changed.

use crate::{ApiError, record::RepairRecord};

use super::{json_reply, not_found, shape};
use crate::{HttpReply, api_request::ApiRequest, gateway_state::GatewayState};

/// `GET /v1/repairs`.
pub(super) fn list(app: &GatewayState, request: &ApiRequest<'_>) -> Result<HttpReply, ApiError> {
    let limit = request.limit()?;
    let after = match request.parameter("after")? {
        Some(id) => Some(RepairRecord::parse_id(&id).ok_or_else(|| not_found("repair"))?),
        None => None,
    };
    let rows = app.engine.recorder().repairs().list(request.owner(), after, limit + 1);
    Ok(json_reply(&shape::page(rows, limit, |repair| repair.id(), |repair| repair.summary())))
}

/// `GET /v1/repairs/{id}`.
pub(super) fn one(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
) -> Result<HttpReply, ApiError> {
    let repair =
        RepairRecord::parse_id(id).and_then(|number| app.engine.recorder().repairs().get(number));
    let visible =
        repair.filter(|repair| request.owner().is_none_or(|owner| *repair.owner == *owner));
    visible.map(|repair| json_reply(&repair.detail())).ok_or_else(|| not_found("repair"))
}
