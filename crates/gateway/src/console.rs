//! The console: a web page and its API below `/v1/console`. The page and its files are public; the
//! API is not.
//!
//! Nothing here reads session files directly. [`LocalSessions`] does, and only for an
//! administrator on this machine.

mod local_sessions;
mod request;
mod assets;
mod routes;
mod about;
mod sessions;
mod files;
mod monitor;
mod feed;
mod stream;
mod series;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::SystemTime};

use crate::ApiError;
use foxwedge_core::Format;
use http::StatusCode;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::{
    HttpReply, error,
    response_body::{JSON, ResponseBody},
    routes::ApiRequest,
    serve::GatewayState,
};

pub(crate) use assets::{asset_reply, has_asset};
pub use local_sessions::{
    CompactionAmount, CompactionPreviewOptions, CompactionSubject, LocalSessionError,
    LocalSessions, RecordFilter, RowRange, ScanProgress, SessionFileCheck, SessionFileHealth,
    SessionFileList, SessionFileSummary,
};
pub(crate) use monitor::{FinishedRequest, RequestMonitor};
pub(crate) use routes::ConsoleRoute;

/// Maximum number of concurrent reads of session files, which can be large.
const MAX_CONCURRENT_READS: usize = 2;

/// State of the console that is not in the store.
pub(crate) struct ConsoleState {
    /// Recent requests of this process.
    pub(crate) monitor: Arc<RequestMonitor>,
    /// Session files on this machine, if the console may show them.
    local_sessions: Option<Arc<dyn LocalSessions>>,
    permits: Arc<Semaphore>,
    /// When this process started to serve, in milliseconds since 1970.
    started: u64,
}

impl ConsoleState {
    /// Creates the state; `None` hides session files.
    pub(crate) fn new(local_sessions: Option<Arc<dyn LocalSessions>>) -> ConsoleState {
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_READS));
        let started = monitor::milliseconds(SystemTime::now());
        ConsoleState { monitor: Arc::new(RequestMonitor::new()), local_sessions, permits, started }
    }
}

/// Handles a request to the console API; `None` if the path does not exist.
pub(crate) async fn route(app: &GatewayState, request: ApiRequest<'_>) -> Option<HttpReply> {
    let route = ConsoleRoute::find(request.path)?;
    let reply = match route.check_method(request.method) {
        Ok(()) => answer(app, &request, route).await,
        Err(error) => Err(error),
    };
    Some(reply.unwrap_or_else(|error| error::reply(&error, Format::OpenaiChat, request.id)))
}

async fn answer(
    app: &GatewayState,
    http_request: &ApiRequest<'_>,
    route: ConsoleRoute<'_>,
) -> Result<HttpReply, ApiError> {
    match route {
        ConsoleRoute::About => Ok(about::about(app, http_request)),
        ConsoleRoute::Rule(code) => about::rule(code),
        ConsoleRoute::Sessions => sessions::list(app, http_request).await,
        ConsoleRoute::File(id, file_route) => {
            files::answer(app, http_request, id, file_route).await
        }
        ConsoleRoute::Compaction => files::compaction(app, http_request).await,
        ConsoleRoute::Feed => feed::list(app, http_request),
        ConsoleRoute::Request(id) => feed::one(app, http_request, id),
        ConsoleRoute::Stream => stream::follow(app, http_request),
        ConsoleRoute::Series => series::answer(app, http_request),
    }
}

fn json_reply(value: &Value) -> HttpReply {
    ResponseBody::reply(StatusCode::OK, JSON, value.to_string())
}
