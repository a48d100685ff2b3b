//! State that the requests of a gateway share.

use std::{sync::Arc, time::SystemTime};

use foxwedge_local::console::LocalSessions;
use foxwedge_store::AnyStore;
use tokio::sync::{Semaphore, watch};

use crate::{
    GatewayEngine,
    caller_limit::CallerLimit,
    decisions::AnsweredQuestions,
    detached::DetachedRequests,
    log::RequestLog,
    metrics::Metrics,
    request_context::CutSignal,
    request_monitor::{RequestMonitor, milliseconds},
};

/// Maximum number of concurrent reads of session files, which can be large.
const MAX_CONCURRENT_READS: usize = 2;

/// Maximum number of documents that `/v1/fix` and its siblings process at the same time. Each needs
/// several times its size in memory.
pub(crate) const MAX_CONCURRENT_DOCUMENTS: usize = 4;

/// State of the console that is not in the store.
pub(crate) struct ConsoleState {
    /// Recent requests of this process.
    pub(crate) monitor: Arc<RequestMonitor>,
    /// Session files on this machine, if the console may show them.
    pub(crate) local_sessions: Option<Arc<LocalSessions>>,
    pub(crate) permits: Arc<Semaphore>,
    /// When this process started to serve, in milliseconds since 1970.
    pub(crate) started: u64,
}

impl ConsoleState {
    /// Creates the state; `None` hides session files.
    pub(crate) fn new(local_sessions: Option<Arc<LocalSessions>>) -> ConsoleState {
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_READS));
        let started = milliseconds(SystemTime::now());
        ConsoleState { monitor: Arc::new(RequestMonitor::new()), local_sessions, permits, started }
    }
}

/// State that all requests share.
pub(crate) struct GatewayState {
    pub(crate) engine: GatewayEngine,
    pub(crate) store: Arc<AnyStore>,
    pub(crate) console: ConsoleState,
    pub(crate) answered_questions: AnsweredQuestions,
    /// Permits to process a document.
    pub(crate) document_permits: Arc<Semaphore>,
    pub(crate) metrics: Metrics,
    pub(crate) owners: Arc<CallerLimit>,
    /// Requests that do not depend on their connection.
    pub(crate) detached: DetachedRequests,
    pub(crate) log: RequestLog,
    /// True once shutdown has begun. Event streams without an end watch it.
    pub(crate) draining: watch::Receiver<bool>,
    /// Sent when the requests in flight are cut off.
    pub(crate) cut: CutSignal,
}
