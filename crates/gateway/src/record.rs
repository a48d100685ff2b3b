//! Records requests: a run in the store for each task that a model works on, and an entry for every
//! repair. Recording happens in the background: requests never wait for it.
//!
//! A run starts with a request with new user content and ends with a reply without calls. In
//! between it waits for its tool results, which come with the next request of the session. Requests
//! send commands over a bounded queue; one task writes them to the store.

mod annotations;
mod reply_block;
mod reply_recorder;
mod queue;
mod recording;
mod side_channel;
mod waiting_runs;
mod tool_results;
mod run_log;
mod open_run;
mod session_writer;
mod complete_runs;
mod delay;
mod writer;
mod session_heads;
mod repairs;
mod live_text;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_store::{AnyStore, EventTextSource, FeedRegistry, Store, StoreError};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout},
};

use crate::{
    GuardedRequest,
    config::{self, ContentRecording, GuardMode},
    log::{RecordLoss, StoreNotices},
    metrics::Metrics,
    ordered_id::{OrderedId, unix_millis},
    session::{SessionHead, SessionMatchKind, SharedRun},
};
use live_text::LiveText;
use open_run::LEASE_MILLIS;
use queue::{RecordCommand, RecordQueue, RequestStart};
use recording::RunPosition;
use session_writer::StoppedRunListener;
use waiting_runs::{RunAwaitingTools, RunClaim, RunsAwaitingTools};

pub use recording::RequestRecording;
pub use repairs::{RepairHistory, RepairRecord};
pub(crate) use side_channel::SideChannel;

/// How long a reader waits for pending writes.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// How long shutdown waits for pending writes.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);

/// Records runs and repairs. Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct GatewayRecorder(Arc<RecorderShared>);

#[derive(Debug)]
struct RecorderShared {
    config: config::RecordConfig,
    /// How long calls may wait for their results.
    call_timeout: Duration,
    queue: RecordQueue,
    waiting_runs: Arc<RunsAwaitingTools>,
    store: Arc<AnyStore>,
    node_id: String,
    repairs: RepairHistory,
    feeds: FeedRegistry<AnyStore>,
    /// Recent text of runs whose content is not stored.
    live_text: Option<LiveText>,
    notices: StoreNotices,
    stopped_runs: StoppedRunListener,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The start of a request.
#[derive(Clone, Copy, Debug)]
pub struct RecordingStart<'a> {
    /// The session.
    pub session: &'a Arc<str>,
    /// How it was found.
    pub match_kind: SessionMatchKind,
    /// The session that its session branched off from.
    pub forked: Option<&'a Arc<str>>,
    /// The owner.
    pub owner: &'a Arc<str>,
    /// The id of the request.
    pub request: &'a Arc<str>,
    /// The model in the client's request.
    pub model: &'a Arc<str>,
    /// The user agent of the client.
    pub agent: Option<&'a str>,
    /// Ids of the calls whose results end the history.
    pub answered_calls: &'a [Arc<str>],
    /// Those of them whose result is marked as an error.
    pub failed_calls: &'a [Arc<str>],
    /// The body as received.
    pub original_body: &'a Bytes,
    /// The guarded request, with its findings and changes.
    pub guarded: &'a GuardedRequest,
    /// How the route handles findings.
    pub mode: GuardMode,
    /// The client's format.
    pub format: Format,
}

/// How a reply ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyCompletion {
    /// It is complete.
    Complete,
    /// The provider reported an error.
    Failed,
    /// It was cut off.
    Cut,
    /// It was passed on as it came, and an event of it cannot be read.
    Unread,
}

impl GatewayRecorder {
    /// Starts the recorder: closes runs that an earlier process left open, and loads the heads of
    /// sessions.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn start(
        store: Arc<AnyStore>,
        record: config::RecordConfig,
        sessions: config::SessionConfig,
        metrics: Metrics,
    ) -> Result<(GatewayRecorder, Vec<(SessionHead, Duration)>), StoreError> {
        let node_id = format!("gateway-{:016x}", random_seed());
        GatewayRecorder::start_as(node_id, store, record, sessions, metrics).await
    }

    /// Like [`GatewayRecorder::start`], with a node id by which other processes can detect that
    /// this one is gone: they need not wait then until its leases expire.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn start_as(
        node_id: String,
        store: Arc<AnyStore>,
        record: config::RecordConfig,
        sessions: config::SessionConfig,
        metrics: Metrics,
    ) -> Result<(GatewayRecorder, Vec<(SessionHead, Duration)>), StoreError> {
        GatewayRecorder::start_with_capacity(
            node_id,
            store,
            record,
            sessions,
            metrics,
            queue::QUEUE_CAPACITY,
        )
        .await
    }

    async fn start_with_capacity(
        node_id: String,
        store: Arc<AnyStore>,
        record: config::RecordConfig,
        sessions: config::SessionConfig,
        metrics: Metrics,
        capacity: usize,
    ) -> Result<(GatewayRecorder, Vec<(SessionHead, Duration)>), StoreError> {
        foxwedge_store::sweep(&*store, &node_id, writer::START_SWEEP_LIMIT).await?;
        let heads = session_heads::load_heads(&store, sessions.session_ttl, unix_millis()).await?;
        let (queue, capacity) = queue::open(capacity);
        let own_node_id = node_id.clone();
        let waiting_runs =
            Arc::new(RunsAwaitingTools::new(waiting_runs::MAX_WAITING_RUNS, metrics.clone()));
        let stopped_runs = StoppedRunListener::default();
        let notices = StoreNotices::new(metrics.clone());
        let task = writer::RecordWriter::new(
            store.clone(),
            node_id,
            capacity,
            waiting_runs.clone(),
            metrics,
            notices.clone(),
            stopped_runs.clone(),
        );
        let task = tokio::spawn(task.run());
        let inner = RecorderShared {
            config: record,
            call_timeout: sessions.call_timeout,
            queue,
            waiting_runs,
            store: store.clone(),
            node_id: own_node_id,
            repairs: RepairHistory::new(record.max_repairs, record.max_repair_bytes),
            feeds: FeedRegistry::new(store),
            live_text: match record.store_content {
                ContentRecording::Omitted => Some(LiveText::new()),
                ContentRecording::Stored => None,
            },
            notices,
            stopped_runs,
            task: Mutex::new(Some(task)),
        };
        Ok((GatewayRecorder(Arc::new(inner)), heads))
    }

    /// Starts the recording of a request.
    pub fn start_request(&self, start: RecordingStart<'_>) -> RequestRecording {
        let inner = &self.0;
        let (run, turn, open_calls, answered_calls) = match inner.claim_run(&start) {
            RunClaim::Continue { run, turn, answered: answered_calls, left: open_calls } => {
                (run, turn + 1, open_calls, answered_calls)
            }
            RunClaim::NewRun => (OrderedId::next().with_prefix("r-"), 1, Vec::new(), Vec::new()),
        };
        let sender = match inner.config.store_runs {
            false => None,
            true => {
                let sender = inner.queue.start_request(start.session, || {
                    Box::new(inner.request_start(&start, &run, turn, answered_calls))
                });
                if sender.is_none() {
                    inner.notices.record_lost(RecordLoss::QueueFull);
                    if turn > 1 {
                        inner.waiting_runs.mark_lost(start.session, &run);
                    }
                }
                sender
            }
        };
        RequestRecording::new(self, &start, RunPosition { run, turn, open: open_calls }, sender)
    }

    /// Sets what is called with the id of a run that another process has stopped, within some seconds.
    pub(crate) fn on_stopped_run(&self, listener: impl Fn(&str) + Send + Sync + 'static) {
        self.0.stopped_runs.set(listener);
    }

    /// What the log says about the store.
    pub(crate) fn notices(&self) -> &StoreNotices {
        &self.0.notices
    }

    /// The recorded repairs.
    pub fn repairs(&self) -> &RepairHistory {
        &self.0.repairs
    }

    /// The live feeds of runs, for user interfaces.
    pub fn feeds(&self) -> &FeedRegistry<AnyStore> {
        &self.0.feeds
    }

    /// Recent text that is not stored: only for the owner of a run.
    pub fn live_text(&self) -> Option<Arc<dyn EventTextSource>> {
        let live_text = self.0.live_text.clone()?;
        Some(Arc::new(live_text))
    }

    /// Removes expired live text.
    pub(crate) fn sweep(&self) {
        if let Some(live_text) = &self.0.live_text {
            live_text.sweep();
        }
    }

    /// Forgets a run that another process or the user has ended.
    pub fn forget_run(&self, run: &str) {
        if let Some(session) = self.0.waiting_runs.forget_run(run) {
            self.0.queue.forget_run(&session, run);
        }
    }

    /// Whether a run waits for tool results, so that no reply of it is in progress on this node.
    pub(crate) fn awaits_results(&self, session: &str, run: &str) -> bool {
        self.0.waiting_runs.find(session).is_some_and(|waiting| &*waiting.run == run)
    }

    /// The run that waits for tool results in a session, for the node that will get them.
    pub(crate) fn waiting_run(&self, session: &str) -> Option<SharedRun> {
        let waiting = self.0.waiting_runs.find(session)?;
        let left = waiting.due.saturating_duration_since(Instant::now());
        Some(SharedRun {
            run: waiting.run.to_string(),
            turn: waiting.turn,
            calls: waiting.calls.iter().map(|call| call.to_string()).collect(),
            due: unix_millis().saturating_add(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
        })
    }

    /// Forgets the run of a session that another node has had since.
    pub(crate) fn forget_session(&self, session: &str) {
        self.0.waiting_runs.forget_session(session);
    }

    /// Takes over a run that waits for tool results, unless it has ended. An orphaned run, whose
    /// node was killed during a request, is closed.
    pub(crate) async fn adopt_run(&self, session: &Arc<str>, run: &SharedRun, is_orphaned: bool) {
        let inner = &self.0;
        let lease = inner.store.hand_over(&run.run, &inner.node_id, LEASE_MILLIS).await;
        // What cannot be taken over is closed when its lease expires.
        let Ok(Some(lease)) = lease else { return };
        let id: Arc<str> = run.run.as_str().into();
        inner.queue.send(session, RecordCommand::AdoptRun(id.clone(), lease)).await;
        if is_orphaned {
            return inner.queue.send(session, RecordCommand::MarkInterrupted(id)).await;
        }
        let left = Duration::from_millis(run.due.saturating_sub(unix_millis()));
        let waiting = RunAwaitingTools {
            run: id,
            turn: run.turn,
            calls: run.calls.iter().map(|call| call.as_str().into()).collect(),
            due: Instant::now() + left,
            agent: None,
        };
        inner.waiting_runs.insert(session, waiting);
    }

    /// Waits until everything queued so far is written, for a limited time.
    pub async fn flush(&self) {
        // A reader must not be blocked by a store that fails.
        let _ = timeout(FLUSH_TIMEOUT, self.0.queue.flush()).await;
    }

    /// Waits until everything is written, and closes runs that wait for tool results: this process
    /// will not see them.
    pub async fn drain(&self) {
        let task = self.0.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        let written = async {
            self.0.queue.stop().await;
            // A task that panicked writes nothing more.
            let _ = (&mut task).await;
        };
        if timeout(DRAIN_TIMEOUT, written).await.is_err() {
            task.abort();
            self.0.notices.records_unwritten();
        }
        self.0.notices.finish();
    }
}

impl RecorderShared {
    fn claim_run(&self, start: &RecordingStart<'_>) -> RunClaim {
        match self.config.store_runs {
            true => self.waiting_runs.claim(start.session, start.answered_calls),
            false => RunClaim::NewRun,
        }
    }

    fn request_start(
        &self,
        start: &RecordingStart<'_>,
        run: &Arc<str>,
        turn: u32,
        answered_calls: Vec<Arc<str>>,
    ) -> RequestStart {
        let body = match self.config.store_content {
            ContentRecording::Stored if !answered_calls.is_empty() => {
                Some((start.original_body.clone(), start.format))
            }
            ContentRecording::Stored | ContentRecording::Omitted => None,
        };
        RequestStart {
            run: run.clone(),
            turn,
            at: unix_millis(),
            owner: start.owner.clone(),
            model: start.model.clone(),
            agent: start.agent.map(Arc::from),
            match_kind: start.match_kind,
            forked: start.forked.cloned(),
            format: start.format,
            failed_calls: start.failed_calls.to_vec(),
            answered_calls,
            body,
            annotations: annotations::annotations_for(start.guarded, turn),
        }
    }
}

/// A random number of the system, or else the time.
fn random_seed() -> u64 {
    getrandom::u64().unwrap_or_else(|_| unix_millis())
}
