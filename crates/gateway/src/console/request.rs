//! Who may look at session files, and what a request of the console says. Nothing of it is trusted.

use std::{sync::Arc, time::Duration};

use foxwedge_engine::{
    ApiError, ApiErrorKind,
    config::{SessionFileAccess, TokenScope},
};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::{task::spawn_blocking, time::timeout};

use super::{LocalSessionError, LocalSessions, RowRange};
use crate::{access, error, routes::ApiRequest, serve::GatewayState};

/// How long a place is waited for.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Rows of a page, if nobody says how many; and the most.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;

/// Whether session files may be seen, for whoever asks.
pub(super) fn file_access(app: &GatewayState, call: &ApiRequest<'_>) -> Value {
    match allowed_sessions(app, call) {
        Ok(_) => json!({ "enabled": true, "why": null }),
        Err(fault) => json!({ "enabled": false, "why": fault.code }),
    }
}

/// The machine, if the caller may look at it: an administrator with a token, who sits at it.
pub(super) fn allowed_sessions<'a>(
    app: &'a GatewayState,
    call: &ApiRequest<'_>,
) -> Result<&'a Arc<dyn LocalSessions>, ApiError> {
    let no = |code, words: &str| ApiError::new(ApiErrorKind::Permission, code, words);
    let machine = match (&app.console.local_sessions, app.config.console.files) {
        (Some(machine), SessionFileAccess::Shown) => machine,
        (None, SessionFileAccess::Shown | SessionFileAccess::Hidden)
        | (Some(_), SessionFileAccess::Hidden) => {
            return Err(no("files_off", "session files are not shown by this gateway"));
        }
    };
    // Without tokens everybody on this machine is let in, and files are their owner's alone.
    if app.config.access.tokens.is_empty() {
        return Err(no("files_need_token", "session files are shown to holders of a token only"));
    }
    match call.principal.scope {
        TokenScope::Admin => {}
        TokenScope::User => {
            return Err(no("files_for_admins", "session files are shown to administrators only"));
        }
    }
    if !access::is_local(call.headers, call.peer) {
        let words = "session files are shown on the machine itself only, under a loopback name";
        return Err(no("files_for_loopback", words));
    }
    Ok(machine)
}

/// Lets the machine work where that holds up nobody. It goes on to its end, whoever waits.
pub(super) async fn run_blocking<T: Send + 'static>(
    app: &GatewayState,
    machine: &Arc<dyn LocalSessions>,
    job: impl FnOnce(&dyn LocalSessions) -> Result<T, LocalSessionError> + Send + 'static,
) -> Result<T, ApiError> {
    let waiting = timeout(PERMIT_TIMEOUT, app.console.permits.clone().acquire_owned()).await;
    let Ok(Ok(permit)) = waiting else {
        return Err(busy());
    };
    let machine = machine.clone();
    let done = spawn_blocking(move || {
        let _permit = permit;
        job(&*machine)
    });
    match done.await {
        Ok(done) => done.map_err(session_error),
        Err(_) => Err(error::internal_error()),
    }
}

/// A page of a list with a fixed order.
pub(super) fn row_range(call: &ApiRequest<'_>, first: i64) -> Result<RowRange, ApiError> {
    let from = match call.parameter("from")? {
        None => first,
        Some(text) => text.parse().map_err(|_| error::bad_request("`from` is a whole number"))?,
    };
    let limit = match call.parameter("limit")? {
        None => DEFAULT_LIMIT,
        Some(text) => match text.parse::<usize>() {
            Ok(0) | Err(_) => return Err(error::bad_request("`limit` is a number from 1 on")),
            Ok(limit) => limit.min(MAX_LIMIT),
        },
    };
    Ok(RowRange { from, limit })
}

/// What the address says under a name, if that is anything.
pub(super) fn text_parameter(
    call: &ApiRequest<'_>,
    name: &str,
) -> Result<Option<String>, ApiError> {
    let text = call.parameter(name)?;
    Ok(text.filter(|text| !text.trim().is_empty()).map(|text| text.trim().to_owned()))
}

fn busy() -> ApiError {
    let words = "too much is looked at already";
    let mut fault = ApiError::new(ApiErrorKind::Unavailable, "console_busy", words);
    fault.retry_after = Some(5);
    fault
}

fn session_error(refusal: LocalSessionError) -> ApiError {
    let words = refusal.to_string();
    let unprocessable = |code, words| {
        let mut fault = ApiError::new(ApiErrorKind::InvalidRequest, code, words);
        fault.status = Some(StatusCode::UNPROCESSABLE_ENTITY);
        fault
    };
    match refusal {
        LocalSessionError::NotFound => {
            ApiError::new(ApiErrorKind::NotFound, "session_not_found", words)
        }
        LocalSessionError::Unreadable(_) => unprocessable("session_unreadable", words),
        LocalSessionError::CannotShrink(_) => unprocessable("cannot_shrink", words),
        LocalSessionError::TooLarge(_) => {
            ApiError::new(ApiErrorKind::TooLarge, "session_too_large", words)
        }
        LocalSessionError::Live(_) => ApiError::new(ApiErrorKind::Conflict, "session_live", words),
        LocalSessionError::Changed => ApiError::new(ApiErrorKind::Conflict, "file_changed", words),
        LocalSessionError::NothingToRepair => {
            ApiError::new(ApiErrorKind::Conflict, "nothing_to_repair", words)
        }
        LocalSessionError::NothingToUndo => {
            ApiError::new(ApiErrorKind::Conflict, "nothing_to_undo", words)
        }
        LocalSessionError::ChangedSince => {
            ApiError::new(ApiErrorKind::Conflict, "changed_since_repair", words)
        }
        LocalSessionError::Failed(_) => ApiError::new(ApiErrorKind::Server, "repair_failed", words),
    }
}
