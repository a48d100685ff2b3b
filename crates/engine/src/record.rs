//! What is kept of requests: a run in the store for each task that a model works on, and a record of
//! every repair. Written behind the request's back: nothing here makes anybody wait.
//!
//! A run begins with a request that brings words and ends with a reply without calls. Between them
//! it waits for the answers to its calls, which come with the next request of the session. Requests
//! say what happens over a queue with an end; one task writes it down.

mod cards;
mod block;
mod heard;
mod queue;
mod recording;
mod side;
mod waiting;
mod answers;
mod story;
mod live;
mod desk;
mod whole;
mod delay;
mod writer;
mod tips;
mod repairs;
mod words;
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
use foxwedge_core::Wire;
use foxwedge_store::{AnyStore, EventWords, Feeds, StoreError};
use tokio::{task::JoinHandle, time::timeout};

use crate::{
    Guarded,
    config::{self, Content, Mode, Runs},
    meter::{Dropped, Meter},
    session::Tip,
};
use queue::{Beginning, Queue};
use recording::Place;
use waiting::{Claimed, Waiting};
use words::LiveWords;

pub(crate) use live::again;
pub use recording::Recording;
pub use repairs::{Repair, Repairs};
pub(crate) use side::Side;

/// How long somebody who looks waits for what is about to be written.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the last of it is waited for.
const LAST: Duration = Duration::from_secs(15);

/// Keeps runs and repairs. A copy is the same.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: config::Record,
    /// How long calls may stay unanswered.
    call: Duration,
    queue: Queue,
    waiting: Arc<Waiting>,
    repairs: Repairs,
    feeds: Feeds<AnyStore>,
    /// What was said, where it is not stored.
    words: Option<LiveWords>,
    meter: Meter,
    names: Names,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// A request that begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
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
    pub answers: &'a [Arc<str>],
    /// Those of them whose answer says that the tool failed.
    pub failed: &'a [Arc<str>],
    /// The body as it came.
    pub before: &'a Bytes,
    /// What was found in it and done about it.
    pub guarded: &'a Guarded,
    /// What the route does about findings.
    pub mode: Mode,
    /// The client's format.
    pub wire: Wire,
}

/// How a reply ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It is whole.
    Replied,
    /// The provider failed.
    Failed,
    /// The bytes ended before it did.
    Cut,
}

impl Recorder {
    /// Starts: closes what an earlier process left open, and finds the newest places of sessions.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn start(
        store: Arc<AnyStore>,
        record: config::Record,
        sessions: config::Sessions,
        meter: Meter,
    ) -> Result<(Recorder, Vec<(Tip, Duration)>), StoreError> {
        let me = format!("gateway-{:016x}", random());
        Recorder::start_as(me, store, record, sessions, meter).await
    }

    /// The same, under a name by which others can tell whether this process is gone: they need not
    /// wait then until what it left runs out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn start_as(
        me: String,
        store: Arc<AnyStore>,
        record: config::Record,
        sessions: config::Sessions,
        meter: Meter,
    ) -> Result<(Recorder, Vec<(Tip, Duration)>), StoreError> {
        Recorder::with_room(me, store, record, sessions, meter, queue::NOTES).await
    }

    async fn with_room(
        me: String,
        store: Arc<AnyStore>,
        record: config::Record,
        sessions: config::Sessions,
        meter: Meter,
        notes: usize,
    ) -> Result<(Recorder, Vec<(Tip, Duration)>), StoreError> {
        foxwedge_store::sweep(&*store, &me, writer::SWEPT).await?;
        let tips = tips::newest(&store, sessions.session, now()).await?;
        let (queue, notes) = queue::open(notes);
        let waiting = Arc::new(Waiting::new(waiting::MOST, meter.clone()));
        let task = writer::Writer::new(store.clone(), me, notes, waiting.clone(), meter.clone());
        let task = tokio::spawn(task.run());
        let inner = Inner {
            config: record,
            call: sessions.call,
            queue,
            waiting,
            repairs: Repairs::new(record.repairs, record.repair_bytes),
            feeds: Feeds::new(store),
            words: match record.content {
                Content::Left => Some(LiveWords::new()),
                Content::Kept => None,
            },
            meter,
            names: Names::new(),
            task: Mutex::new(Some(task)),
        };
        Ok((Recorder(Arc::new(inner)), tips))
    }

    /// A request begins.
    pub fn begin(&self, begin: Begin<'_>) -> Recording {
        let inner = &self.0;
        let (run, turn, open, answered) = match inner.claim(&begin) {
            Claimed::Continues { run, turn, answered, left } => (run, turn + 1, left, answered),
            Claimed::Nothing => (inner.names.fresh(), 1, Vec::new(), Vec::new()),
        };
        let line = match inner.config.runs {
            Runs::None => None,
            Runs::All => {
                let line = inner.queue.line(begin.session, || {
                    Box::new(inner.beginning(&begin, &run, turn, answered))
                });
                if line.is_none() {
                    inner.meter.dropped(Dropped::Records, 1);
                    if turn > 1 {
                        inner.waiting.give_up(begin.session, &run);
                    }
                }
                line
            }
        };
        Recording::new(self, &begin, Place { run, turn, open }, line)
    }

    /// What was found and changed.
    pub fn repairs(&self) -> &Repairs {
        &self.0.repairs
    }

    /// Runs as user interfaces follow them.
    pub fn feeds(&self) -> &Feeds<AnyStore> {
        &self.0.feeds
    }

    /// What was said lately and is not stored: for the owner of a run, and nobody else.
    pub fn words(&self) -> Option<Arc<dyn EventWords>> {
        let words = self.0.words.clone()?;
        Some(Arc::new(words))
    }

    /// Forgets what was said too long ago.
    pub(crate) fn sweep(&self) {
        if let Some(words) = &self.0.words {
            words.sweep();
        }
    }

    /// Somebody else has ended a run: nobody here goes on with it.
    pub fn forget(&self, run: &str) {
        if let Some(session) = self.0.waiting.forget(run) {
            self.0.queue.forget(&session, run);
        }
    }

    /// Waits until everything that was handed in up to now is written, but not for ever.
    pub async fn flush(&self) {
        // A store that does not work must not hold up whoever only wants to look.
        let _ = timeout(PATIENCE, self.0.queue.flush()).await;
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
        if timeout(LAST, written).await.is_err() {
            task.abort();
        }
    }
}

impl Inner {
    fn claim(&self, begin: &Begin<'_>) -> Claimed {
        match self.config.runs {
            Runs::All => self.waiting.claim(begin.session, begin.answers),
            Runs::None => Claimed::Nothing,
        }
    }

    fn beginning(
        &self,
        begin: &Begin<'_>,
        run: &Arc<str>,
        turn: u32,
        answered: Vec<Arc<str>>,
    ) -> Beginning {
        let body = match self.config.content {
            Content::Kept if !answered.is_empty() => Some((begin.before.clone(), begin.wire)),
            Content::Kept | Content::Left => None,
        };
        Beginning {
            run: run.clone(),
            turn,
            at: now(),
            owner: begin.owner.clone(),
            model: begin.model.clone(),
            agent: begin.agent.map(Arc::from),
            forked: begin.forked.cloned(),
            wire: begin.wire,
            failed: begin.failed.to_vec(),
            answered,
            body,
            cards: cards::of(begin.guarded, turn),
        }
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Names of runs that nobody else gives. The system is asked for chance once: that takes its time.
#[derive(Debug)]
struct Names {
    seeds: [u64; 2],
    next: AtomicU64,
}

impl Names {
    fn new() -> Names {
        Names { seeds: [random(), random()], next: AtomicU64::new(0) }
    }

    fn fresh(&self) -> Arc<str> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let [high, low] = self.seeds.map(|seed| mixed(seed.wrapping_add(number)));
        format!("r-{high:016x}{low:016x}").into()
    }
}

/// Another number for every number.
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Chance of the system. Without it, what is left is the time.
fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| now())
}
