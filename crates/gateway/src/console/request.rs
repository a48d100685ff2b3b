//! Access to session files, and parameters of console requests.

use std::{sync::Arc, time::Duration};

use crate::{ApiError, ApiErrorKind, config::TokenScope};
use foxwedge_local::console::{LocalSessionError, LocalSessions, RowRange};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use crate::{access, api_request::ApiRequest, error, gateway_state::GatewayState};

/// How long to wait for a permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Default and maximum number of rows of a page.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;

/// Whether the caller may see session files.
pub(super) fn file_access(app: &GatewayState, request: &ApiRequest<'_>) -> Value {
    match allowed_sessions(app, request) {
        Ok(_) => json!({ "enabled": true, "why": null }),
        Err(error) => json!({ "enabled": false, "why": error.code }),
    }
}

/// The session files, if the caller may see them: an administrator with a token, on this machine.
pub(super) fn allowed_sessions<'a>(
    app: &'a GatewayState,
    request: &ApiRequest<'_>,
) -> Result<&'a Arc<LocalSessions>, ApiError> {
    let denied = |code, message: &str| ApiError::new(ApiErrorKind::Permission, code, message);
    let sessions = match (&app.console.local_sessions, app.engine.config().console.session_files) {
        (Some(sessions), true) => sessions,
        (None, _) | (Some(_), false) => {
            return Err(denied("files_off", "session files are not shown by this gateway"));
        }
    };
    // Without tokens every user of this machine has access, but files belong to one user.
    if app.engine.config().access.tokens.is_empty() {
        return Err(denied(
            "files_need_token",
            "session files are shown to holders of a token only",
        ));
    }
    match request.principal.scope {
        TokenScope::Admin => {}
        TokenScope::User => {
            return Err(denied(
                "files_for_admins",
                "session files are shown to administrators only",
            ));
        }
    }
    if !access::is_local(request.headers, request.peer) {
        let message = "session files are shown on the machine itself only, under a loopback name";
        return Err(denied("files_for_loopback", message));
    }
    Ok(sessions)
}

/// Runs a job on a blocking thread. It runs to its end even if the client disconnects.
pub(super) async fn run_blocking<T: Send + 'static>(
    app: &GatewayState,
    sessions: &Arc<LocalSessions>,
    job: impl FnOnce(&LocalSessions) -> Result<T, LocalSessionError> + Send + 'static,
) -> Result<T, ApiError> {
    let sessions = sessions.clone();
    run_permitted(app.console.permits.clone(), move || job(&sessions)).await
}

async fn run_permitted<T: Send + 'static>(
    permits: Arc<Semaphore>,
    job: impl FnOnce() -> Result<T, LocalSessionError> + Send + 'static,
) -> Result<T, ApiError> {
    let Ok(Ok(permit)) = timeout(PERMIT_TIMEOUT, permits.acquire_owned()).await else {
        return Err(busy());
    };
    let result = spawn_blocking(move || {
        let _permit = permit;
        job()
    });
    match result.await {
        Ok(result) => result.map_err(session_error),
        Err(_) => Err(error::internal_error()),
    }
}

/// The range of rows that the request asks for.
pub(super) fn row_range(request: &ApiRequest<'_>, first: i64) -> Result<RowRange, ApiError> {
    let from = match request.parameter("from")? {
        None => first,
        Some(text) => text.parse().map_err(|_| error::bad_request("`from` is a whole number"))?,
    };
    let limit = match request.parameter("limit")? {
        None => DEFAULT_LIMIT,
        Some(text) => match text.parse::<usize>() {
            Ok(0) | Err(_) => return Err(error::bad_request("`limit` is a number from 1 on")),
            Ok(limit) => limit.min(MAX_LIMIT),
        },
    };
    Ok(RowRange { from, limit })
}

/// The trimmed value of a query parameter; `None` if it is blank.
pub(super) fn text_parameter(
    request: &ApiRequest<'_>,
    name: &str,
) -> Result<Option<String>, ApiError> {
    let text = request.parameter(name)?;
    Ok(text.filter(|text| !text.trim().is_empty()).map(|text| text.trim().to_owned()))
}

fn busy() -> ApiError {
    let message = "too many files are being read";
    let mut error = ApiError::new(ApiErrorKind::Unavailable, "console_busy", message);
    error.retry_after = Some(5);
    error
}

fn session_error(error: LocalSessionError) -> ApiError {
    let message = error.to_string();
    let unprocessable = |code, message| {
        let mut api_error = ApiError::new(ApiErrorKind::InvalidRequest, code, message);
        api_error.status = Some(StatusCode::UNPROCESSABLE_ENTITY);
        api_error
    };
    match error {
        LocalSessionError::NotFound => {
            ApiError::new(ApiErrorKind::NotFound, "session_not_found", message)
        }
        LocalSessionError::Unreadable(_) => unprocessable("session_unreadable", message),
        LocalSessionError::CannotShrink(_) => unprocessable("cannot_shrink", message),
        LocalSessionError::TooLarge(_) => {
            ApiError::new(ApiErrorKind::TooLarge, "session_too_large", message)
        }
        LocalSessionError::Live(_) => {
            ApiError::new(ApiErrorKind::Conflict, "session_live", message)
        }
        LocalSessionError::Changed => {
            ApiError::new(ApiErrorKind::Conflict, "file_changed", message)
        }
        LocalSessionError::NothingToRepair => {
            ApiError::new(ApiErrorKind::Conflict, "nothing_to_repair", message)
        }
        LocalSessionError::NothingToUndo => {
            ApiError::new(ApiErrorKind::Conflict, "nothing_to_undo", message)
        }
        LocalSessionError::ChangedSince => {
            ApiError::new(ApiErrorKind::Conflict, "changed_since_repair", message)
        }
        LocalSessionError::Failed(_) => {
            ApiError::new(ApiErrorKind::Server, "repair_failed", message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_error_without_details_and_returns_its_permit() {
        let permits = Arc::new(Semaphore::new(1));
        let failed = run_permitted::<()>(permits.clone(), || panic!("canary-panic")).await;
        let error = failed.expect_err("it panicked");
        assert_eq!(error.code, "internal_error");
        assert!(!error.message.contains("canary"), "{}", error.message);
        let next = run_permitted(permits, || Ok(7)).await;
        assert_eq!(next.map_err(|error| error.message), Ok(7));
    }
}
