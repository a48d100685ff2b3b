//! What is kept of requests: a run in the store for each task that a model works on, and a record of
//! every repair. Written behind the request's back: nothing here makes anybody wait.
//!
//! A run begins with a request that brings words and ends with a reply without calls. Between them
//! it waits for the answers to its calls, which come with the next request of the session. Requests
//! say what happens over a queue with an end; one task writes it down.

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
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_store::{AnyStore, EventTextSource, FeedRegistry, StoreError};
use tokio::{task::JoinHandle, time::timeout};

use crate::{
    GuardedRequest,
    config::{self, ContentRecording, GuardMode, RunRecording},
    metrics::{DroppedItem, Metrics},
    session::SessionHead,
};
use live_text::LiveText;
use queue::{RecordQueue, RequestStart};
use recording::RunPosition;
use waiting_runs::{RunClaim, RunsAwaitingTools};

pub(crate) use open_run::retry_unavailable;
pub use recording::RequestRecording;
pub use repairs::{RepairHistory, RepairRecord};
pub(crate) use side_channel::SideChannel;

/// How long somebody who looks waits for what is about to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the last of it is waited for.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);

/// Keeps runs and repairs. A copy is the same.
#[derive(Clone, Debug)]
pub struct GatewayRecorder(Arc<RecorderShared>);

#[derive(Debug)]
struct RecorderShared {
    config: config::RecordConfig,
    /// How long calls may stay unanswered.
    call_timeout: Duration,
    queue: RecordQueue,
    waiting_runs: Arc<RunsAwaitingTools>,
    repairs: RepairHistory,
    feeds: FeedRegistry<AnyStore>,
    /// What was said, where it is not stored.
    live_text: Option<LiveText>,
    metrics: Metrics,
    run_ids: RunIdSource,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// A request that begins.
#[derive(Clone, Copy, Debug)]
pub struct RecordingStart<'a> {
    /// Its session.
    pub session: &'a Arc<str>,
    /// The session that its session branched off from.
    pub forked: Option<&'a Arc<str>>,
    /// Whose it is.
    pub owner: &'a Arc<str>,
    /// The id of the request.
    pub request: &'a Arc<str>,
    /// The model that the client asked for.
    pub model: &'a Arc<str>,
    /// What the client calls itself.
    pub agent: Option<&'a str>,
    /// The calls that the end of the history answers.
    pub answered_calls: &'a [Arc<str>],
    /// Those of them whose answer says that the tool failed.
    pub failed_calls: &'a [Arc<str>],
    /// The body as it came.
    pub original_body: &'a Bytes,
    /// What was found in it and done about it.
    pub guarded: &'a GuardedRequest,
    /// What the route does about findings.
    pub mode: GuardMode,
    /// The client's format.
    pub wire: Format,
}

/// How a reply ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyCompletion {
    /// It is whole.
    Complete,
    /// The provider failed.
    Failed,
    /// The bytes ended before it did.
    Cut,
}

impl GatewayRecorder {
    /// Starts: closes what an earlier process left open, and finds the newest places of sessions.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn start(
        store: Arc<AnyStore>,
        record: config::RecordConfig,
        sessions: config::SessionConfig,
        meter: Metrics,
    ) -> Result<(GatewayRecorder, Vec<(SessionHead, Duration)>), StoreError> {
        let me = format!("gateway-{:016x}", random_seed());
        GatewayRecorder::start_as(me, store, record, sessions, meter).await
    }

    /// The same, under a name by which others can tell whether this process is gone: they need not
    /// wait then until what it left runs out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn start_as(
        me: String,
        store: Arc<AnyStore>,
        record: config::RecordConfig,
        sessions: config::SessionConfig,
        meter: Metrics,
    ) -> Result<(GatewayRecorder, Vec<(SessionHead, Duration)>), StoreError> {
        GatewayRecorder::start_with_capacity(
            me,
            store,
            record,
            sessions,
            meter,
            queue::QUEUE_CAPACITY,
        )
        .await
    }

    async fn start_with_capacity(
        me: String,
        store: Arc<AnyStore>,
        record: config::RecordConfig,
        sessions: config::SessionConfig,
        meter: Metrics,
        notes: usize,
    ) -> Result<(GatewayRecorder, Vec<(SessionHead, Duration)>), StoreError> {
        foxwedge_store::sweep(&*store, &me, writer::START_SWEEP_LIMIT).await?;
        let tips = session_heads::load_heads(&store, sessions.session, unix_millis()).await?;
        let (queue, notes) = queue::open(notes);
        let waiting =
            Arc::new(RunsAwaitingTools::new(waiting_runs::MAX_WAITING_RUNS, meter.clone()));
        let task =
            writer::RecordWriter::new(store.clone(), me, notes, waiting.clone(), meter.clone());
        let task = tokio::spawn(task.run());
        let inner = RecorderShared {
            config: record,
            call_timeout: sessions.call,
            queue,
            waiting_runs: waiting,
            repairs: RepairHistory::new(record.repairs, record.repair_bytes),
            feeds: FeedRegistry::new(store),
            live_text: match record.content {
                ContentRecording::Omitted => Some(LiveText::new()),
                ContentRecording::Stored => None,
            },
            metrics: meter,
            run_ids: RunIdSource::new(),
            task: Mutex::new(Some(task)),
        };
        Ok((GatewayRecorder(Arc::new(inner)), tips))
    }

    /// A request begins.
    pub fn start_request(&self, begin: RecordingStart<'_>) -> RequestRecording {
        let inner = &self.0;
        let (run, turn, open, answered) = match inner.claim_run(&begin) {
            RunClaim::Continue { run, turn, answered, left } => (run, turn + 1, left, answered),
            RunClaim::NewRun => (inner.run_ids.next_id(), 1, Vec::new(), Vec::new()),
        };
        let line = match inner.config.runs {
            RunRecording::None => None,
            RunRecording::All => {
                let line = inner.queue.start_request(begin.session, || {
                    Box::new(inner.request_start(&begin, &run, turn, answered))
                });
                if line.is_none() {
                    inner.metrics.count_dropped(DroppedItem::Records, 1);
                    if turn > 1 {
                        inner.waiting_runs.mark_lost(begin.session, &run);
                    }
                }
                line
            }
        };
        RequestRecording::new(self, &begin, RunPosition { run, turn, open }, line)
    }

    /// What was found and changed.
    pub fn repairs(&self) -> &RepairHistory {
        &self.0.repairs
    }

    /// Runs as user interfaces follow them.
    pub fn feeds(&self) -> &FeedRegistry<AnyStore> {
        &self.0.feeds
    }

    /// What was said lately and is not stored: for the owner of a run, and nobody else.
    pub fn live_text(&self) -> Option<Arc<dyn EventTextSource>> {
        let words = self.0.live_text.clone()?;
        Some(Arc::new(words))
    }

    /// Forgets what was said too long ago.
    pub(crate) fn sweep(&self) {
        if let Some(words) = &self.0.live_text {
            words.sweep();
        }
    }

    /// Somebody else has ended a run: nobody here goes on with it.
    pub fn forget_run(&self, run: &str) {
        if let Some(session) = self.0.waiting_runs.forget_run(run) {
            self.0.queue.forget_run(&session, run);
        }
    }

    /// Waits until everything that was handed in up to now is written, but not for ever.
    pub async fn flush(&self) {
        // A store that does not work must not hold up whoever only wants to look.
        let _ = timeout(FLUSH_TIMEOUT, self.0.queue.flush()).await;
    }

    /// Waits until everything is written, and closes what waits for answers: nobody will be here
    /// when they come.
    pub async fn drain(&self) {
        let task = self.0.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        let written = async {
            self.0.queue.stop().await;
            // A task that panicked has nothing more to write.
            let _ = (&mut task).await;
        };
        if timeout(DRAIN_TIMEOUT, written).await.is_err() {
            task.abort();
        }
    }
}

impl RecorderShared {
    fn claim_run(&self, begin: &RecordingStart<'_>) -> RunClaim {
        match self.config.runs {
            RunRecording::All => self.waiting_runs.claim(begin.session, begin.answered_calls),
            RunRecording::None => RunClaim::NewRun,
        }
    }

    fn request_start(
        &self,
        begin: &RecordingStart<'_>,
        run: &Arc<str>,
        turn: u32,
        answered: Vec<Arc<str>>,
    ) -> RequestStart {
        let body = match self.config.content {
            ContentRecording::Stored if !answered.is_empty() => {
                Some((begin.original_body.clone(), begin.wire))
            }
            ContentRecording::Stored | ContentRecording::Omitted => None,
        };
        RequestStart {
            run: run.clone(),
            turn,
            at: unix_millis(),
            owner: begin.owner.clone(),
            model: begin.model.clone(),
            agent: begin.agent.map(Arc::from),
            forked: begin.forked.cloned(),
            wire: begin.wire,
            failed_calls: begin.failed_calls.to_vec(),
            answered_calls: answered,
            body,
            annotations: annotations::annotations_for(begin.guarded, turn),
        }
    }
}

/// Milliseconds since 1970.
fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Names of runs that nobody else gives. The system is asked for chance once: that takes its time.
#[derive(Debug)]
struct RunIdSource {
    seeds: [u64; 2],
    next: AtomicU64,
}

impl RunIdSource {
    fn new() -> RunIdSource {
        RunIdSource { seeds: [random_seed(), random_seed()], next: AtomicU64::new(0) }
    }

    fn next_id(&self) -> Arc<str> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let [high, low] = self.seeds.map(|seed| mix_bits(seed.wrapping_add(number)));
        format!("r-{high:016x}{low:016x}").into()
    }
}

/// Another number for every number.
fn mix_bits(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Chance of the system. Without it, what is left is the time.
fn random_seed() -> u64 {
    getrandom::u64().unwrap_or_else(|_| unix_millis())
}
