//! The console: a page, and what it shows. The page and its files say nothing and are for anybody;
//! what they ask for is answered here, below `/v1/console`.
//!
//! Nothing here reads a session file of an agent: a [`Machine`] does, and is asked in the name of
//! an administrator who sits at this very machine, or not at all.

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

use foxwedge_core::Format;
use foxwedge_engine::ApiError;
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

/// How many may make the machine work at the same time: a session can be large.
const MAX_CONCURRENT_READS: usize = 2;

/// What the console shows beside what is stored.
pub(crate) struct ConsoleState {
    /// What was asked of this process.
    pub(crate) monitor: Arc<RequestMonitor>,
    /// The machine that we run on, if it may be looked at.
    local_sessions: Option<Arc<dyn LocalSessions>>,
    permits: Arc<Semaphore>,
    /// When this process began to serve, in milliseconds since 1970.
    started: u64,
}

impl ConsoleState {
    /// A console over a machine, or over none.
    pub(crate) fn new(machine: Option<Arc<dyn LocalSessions>>) -> ConsoleState {
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_READS));
        let started = monitor::milliseconds(SystemTime::now());
        ConsoleState {
            monitor: Arc::new(RequestMonitor::new()),
            local_sessions: machine,
            permits,
            started,
        }
    }
}

/// Answers a request of the console; `None` if there is no such thing.
pub(crate) async fn route(app: &GatewayState, call: ApiRequest<'_>) -> Option<HttpReply> {
    let place = ConsoleRoute::find(call.path)?;
    let reply = match place.check_method(call.method) {
        Ok(()) => answer(app, &call, place).await,
        Err(fault) => Err(fault),
    };
    Some(reply.unwrap_or_else(|fault| error::reply(&fault, Format::OpenaiChat, call.id)))
}

async fn answer(
    app: &GatewayState,
    call: &ApiRequest<'_>,
    place: ConsoleRoute<'_>,
) -> Result<HttpReply, ApiError> {
    match place {
        ConsoleRoute::About => Ok(about::about(app, call)),
        ConsoleRoute::Rule(code) => about::rule(code),
        ConsoleRoute::Sessions => sessions::list(app, call).await,
        ConsoleRoute::File(id, what) => files::answer(app, call, id, what).await,
        ConsoleRoute::Compaction => files::compaction(app, call).await,
        ConsoleRoute::Feed => feed::list(app, call),
        ConsoleRoute::Request(id) => feed::one(app, call, id),
        ConsoleRoute::Stream => stream::follow(app, call),
        ConsoleRoute::Series => series::answer(app, call),
    }
}

fn json_reply(value: &Value) -> HttpReply {
    ResponseBody::reply(StatusCode::OK, JSON, value.to_string())
}
