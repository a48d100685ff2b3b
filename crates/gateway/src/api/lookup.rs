//! Parses and checks request parameters, and finds the rows a caller may see.

use std::borrow::Cow;

use crate::{ApiError, config::TokenScope};
use foxwedge_store::{RunRow, SessionRow, Store};

use super::{not_found, store_error};
use crate::{
    api_request::{ApiRequest, decode_parameter, query_parameter},
    error,
    gateway_state::GatewayState,
};

/// Default and maximum number of rows of a page.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// Maximum length of an id in bytes.
const MAX_ID_BYTES: usize = 128;

/// The name and the value of a query parameter.
pub(crate) type QueryParameter<'r> = (Cow<'r, str>, Cow<'r, str>);

impl ApiRequest<'_> {
    /// The owner whose objects are visible; `None` for all owners.
    pub(crate) fn owner(&self) -> Option<&str> {
        match self.principal.scope {
            TokenScope::Admin => None,
            TokenScope::User => Some(&self.principal.caller.owner),
        }
    }

    /// The value of a query parameter.
    pub(crate) fn parameter(&self, name: &str) -> Result<Option<Cow<'_, str>>, ApiError> {
        query_parameter(self.query, name)
    }

    /// All query parameters, each given once.
    pub(crate) fn parameters(&self) -> Result<Vec<QueryParameter<'_>>, ApiError> {
        let mut parameters: Vec<QueryParameter<'_>> = Vec::new();
        let pairs = self.query.unwrap_or_default().split('&');
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode_parameter(name)?;
            if parameters.iter().any(|(earlier, _)| *earlier == name) {
                return Err(error::bad_parameter(&name, "is given more than once"));
            }
            let value = decode_parameter(value)
                .map_err(|_| error::bad_parameter(&name, "cannot be decoded"))?;
            parameters.push((name, value));
        }
        Ok(parameters)
    }

    /// The number of rows of a page.
    pub(crate) fn limit(&self) -> Result<usize, ApiError> {
        match self.parameter("limit")? {
            None => Ok(DEFAULT_LIMIT),
            Some(text) => match text.parse::<usize>() {
                Ok(0) | Err(_) => Err(error::bad_parameter("limit", "must be a positive number")),
                Ok(limit) => Ok(limit.min(MAX_LIMIT)),
            },
        }
    }

    /// A boolean query parameter.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.parameter(name)?.as_deref() {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(error::bad_parameter(name, "must be `true` or `false`")),
        }
    }
}

/// A session that the caller may see.
pub(super) async fn visible_session(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
) -> Result<SessionRow, ApiError> {
    if !is_id(id) {
        return Err(not_found("session"));
    }
    let row = app.store.session(id).await.map_err(store_error)?;
    let is_visible = |row: &SessionRow| request.owner().is_none_or(|owner| row.owner == owner);
    row.filter(is_visible).ok_or_else(|| not_found("session"))
}

/// A run that the caller may see.
pub(super) async fn visible_run(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
) -> Result<RunRow, ApiError> {
    if !is_id(id) {
        return Err(not_found("run"));
    }
    let row = app.store.run(id).await.map_err(store_error)?;
    let row = row.ok_or_else(|| not_found("run"))?;
    visible_session(app, request, &row.session).await.map_err(|error| match error.code {
        "session_not_found" => not_found("run"),
        _ => error,
    })?;
    Ok(row)
}

/// Whether the caller owns the run.
pub(super) async fn owns_run(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    row: &RunRow,
) -> Result<bool, ApiError> {
    let session = app.store.session(&row.session).await.map_err(store_error)?;
    Ok(session.is_some_and(|session| *session.owner == *request.principal.caller.owner))
}

/// Whether a text can be an id.
pub(crate) fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(plain)
}
