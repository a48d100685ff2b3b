//! The one task that writes. It takes what waits, sorts it by session, and writes all sessions at
//! once: what happened in one of them stays in order.
//!
//! It takes its time, a little: a request that is over by then is written once and not twice. What
//! goes on for longer is in the store while it goes on, and whoever looks does not wait for that.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use foxwedge_store::{AnyStore, SweepSchedule, sweep_and_schedule};
use tokio::{
    sync::oneshot,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

use super::{
    complete_runs,
    delay::{self, QueuedRunEnd, age},
    open_run::{OpenRun, RunOwnership},
    queue::{RecordCommand, RecordQueueItem, RecordQueueReader, RequestStart, WriteUrgency},
    session_writer::SessionWriter,
    unix_millis,
    waiting_runs::RunsAwaitingTools,
};
use crate::metrics::Metrics;

/// So many notes are written together.
const BATCH_SIZE: usize = 1_024;
/// How often is looked for calls without an answer.
const TICK_INTERVAL: Duration = Duration::from_secs(1);
/// Every so many ticks leases are looked at.
const RENEW_EVERY_TICKS: u32 = 10;
/// So many runs of others are closed at the start.
pub(super) const START_SWEEP_LIMIT: usize = 1_000;
/// So many of them at once later: what happens here does not wait for that.
const SWEEP_LIMIT: usize = 100;
/// How long the last requests are waited for at the end.
const FINAL_WAIT: Duration = Duration::from_millis(500);

/// The writer.
pub(super) struct RecordWriter {
    session_writer: Arc<SessionWriter>,
    queue: RecordQueueReader,
    waiting_runs: Arc<RunsAwaitingTools>,
    open_runs: HashMap<Arc<str>, Box<OpenRun>>,
    /// Requests that have only begun, by session. Their end may come at once.
    held_starts: HashMap<Arc<str>, Box<RequestStart>>,
}

/// A run that goes on, and its session.
type SessionOpenRun = (Arc<str>, Box<OpenRun>);

/// What happened, by session.
type CommandsBySession = HashMap<Arc<str>, Vec<RecordCommand>>;

/// Whether somebody will still say something.
enum WriterFlow {
    Continue,
    Stop,
}

impl RecordWriter {
    pub(super) fn new(
        store: Arc<AnyStore>,
        me: String,
        notes: RecordQueueReader,
        waiting: Arc<RunsAwaitingTools>,
        meter: Metrics,
    ) -> RecordWriter {
        let desk = Arc::new(SessionWriter::new(store, me, meter));
        RecordWriter {
            session_writer: desk,
            queue: notes,
            waiting_runs: waiting,
            open_runs: HashMap::new(),
            held_starts: HashMap::new(),
        }
    }

    /// Writes until nobody says anything any more. Then nothing of ours is open.
    pub(super) async fn run(mut self) {
        let mut ticks = interval(TICK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut notes, mut round) = (Vec::new(), 0_u32);
        let mut schedule = SweepSchedule::new(&self.session_writer.node_id);
        let mut next_sweep = Instant::now() + schedule.wait(None);
        loop {
            let haste = tokio::select! {
                biased;
                _ = ticks.tick() => {
                    self.close_late().await;
                    round = round.wrapping_add(1);
                    if round.is_multiple_of(RENEW_EVERY_TICKS) {
                        self.renew_leases().await;
                    }
                    continue;
                }
                () = sleep_until(next_sweep) => {
                    // First what is ours: after a long pause our own leases have run out, too.
                    self.renew_leases().await;
                    next_sweep = Instant::now() + self.sweep(&mut schedule).await;
                    continue;
                }
                gathered = self.collect_items(&mut notes) => match gathered {
                    Some(haste) => haste,
                    None => break,
                },
            };
            if let WriterFlow::Stop = self.write_batch(std::mem::take(&mut notes), haste).await {
                break;
            }
        }
        self.queue.close();
        while let Ok(1..) = timeout(FINAL_WAIT, self.queue.next(&mut notes, BATCH_SIZE)).await {
            self.write_batch(std::mem::take(&mut notes), WriteUrgency::Urgent).await;
        }
        self.close_all().await;
    }

    /// Waits for notes, and a little for more of them. `None` if nobody is left who could say
    /// something.
    async fn collect_items(&mut self, notes: &mut Vec<RecordQueueItem>) -> Option<WriteUrgency> {
        let idle = notes.is_empty() && self.held_starts.is_empty();
        if idle && self.queue.next(notes, BATCH_SIZE).await == 0 {
            return None;
        }
        let haste = match (notes.len(), self.pause(notes)) {
            (BATCH_SIZE.., _) | (_, Duration::ZERO) => WriteUrgency::Normal,
            (_, pause) => self.queue.wait_unless_urgent(pause).await,
        };
        self.queue.take_ready(notes, BATCH_SIZE);
        Some(haste)
    }

    /// How long more notes may be waited for.
    fn pause(&self, notes: &[RecordQueueItem]) -> Duration {
        let held = self.held_starts.values().map(|begin| begin.at);
        let oldest = notes.iter().filter_map(RecordQueueItem::at).chain(held).min();
        let age = oldest.map_or(Duration::ZERO, |oldest| age(oldest, unix_millis()));
        let ends = notes.iter().any(|note| match note {
            RecordQueueItem::Command(session, RecordCommand::FinishRequest(..)) => {
                self.open_runs.contains_key(session)
            }
            RecordQueueItem::Command(..) | RecordQueueItem::Flush(_) | RecordQueueItem::Stop => {
                false
            }
        });
        delay::pause(age, if ends { QueuedRunEnd::OpenRun } else { QueuedRunEnd::Nothing })
    }

    /// Writes what came together, but what has only just begun.
    async fn write_batch(
        &mut self,
        notes: Vec<RecordQueueItem>,
        mut haste: WriteUrgency,
    ) -> WriterFlow {
        let held = self.held_starts.drain();
        let mut sorted: CommandsBySession = held
            .map(|(session, begin)| (session, vec![RecordCommand::StartRequest(begin)]))
            .collect();
        let old: HashSet<Arc<str>> = sorted.keys().cloned().collect();
        let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
        let mut more = WriterFlow::Continue;
        for note in notes {
            match note {
                RecordQueueItem::Command(session, what) => {
                    sorted.entry(session).or_default().push(what)
                }
                RecordQueueItem::Flush(whoever) => {
                    waiting.push(whoever);
                    haste = WriteUrgency::Urgent;
                }
                RecordQueueItem::Stop => (more, haste) = (WriterFlow::Stop, WriteUrgency::Urgent),
            }
        }
        if haste == WriteUrgency::Normal {
            self.hold_starts(&mut sorted, &old);
        }
        self.write_commands(sorted).await;
        for whoever in waiting {
            // It may have stopped waiting.
            let _ = whoever.send(());
        }
        more
    }

    /// Keeps back what has just begun, once.
    fn hold_starts(&mut self, sorted: &mut CommandsBySession, old: &HashSet<Arc<str>>) {
        let now = unix_millis();
        for (session, whats) in sorted.iter_mut() {
            if whats.len() == 1 && old.contains(session) {
                continue;
            }
            // One with a body may be large.
            let fresh = |what: &mut RecordCommand| match what {
                RecordCommand::StartRequest(begin) => {
                    begin.body.is_none() && delay::may_hold(age(begin.at, now))
                }
                RecordCommand::AppendEvents(..) | RecordCommand::FinishRequest(..) => false,
                RecordCommand::ExpireCalls(..)
                | RecordCommand::MarkInterrupted(_)
                | RecordCommand::ForgetRun(_) => false,
            };
            if let Some(RecordCommand::StartRequest(begin)) = whats.pop_if(fresh) {
                self.held_starts.insert(session.clone(), begin);
            }
        }
    }

    async fn write_commands(&mut self, sorted: CommandsBySession) {
        let (mut over, mut behind) = (Vec::new(), Vec::new());
        let mut work = JoinSet::new();
        for (session, mut whats) in sorted {
            let done = match self.open_runs.contains_key(&session) {
                true => 0,
                false => complete_runs::count_complete(&whats),
            };
            let rest = whats.split_off(done);
            match (whats.is_empty(), rest.is_empty()) {
                (true, true) => {}
                (true, false) => self.spawn_session(&mut work, session, rest),
                (false, true) => over.push((session, whats)),
                (false, false) => {
                    over.push((session.clone(), whats));
                    behind.push((session, rest));
                }
            }
        }
        if !over.is_empty() {
            let desk = self.session_writer.clone();
            work.spawn(async move {
                desk.write_complete_runs(over).await;
                None
            });
        }
        self.collect_open_runs(work).await;
        let mut work = JoinSet::new();
        behind.into_iter().for_each(|(session, rest)| self.spawn_session(&mut work, session, rest));
        self.collect_open_runs(work).await;
    }

    fn spawn_session(
        &mut self,
        work: &mut JoinSet<Option<SessionOpenRun>>,
        session: Arc<str>,
        whats: Vec<RecordCommand>,
    ) {
        let (desk, live) = (self.session_writer.clone(), self.open_runs.remove(&session));
        work.spawn(async move {
            let live = desk.apply_commands(&session, live, whats).await;
            live.map(|live| (session, live))
        });
    }

    /// Ends runs whose calls nobody answered.
    async fn close_late(&mut self) {
        let mut sorted = CommandsBySession::new();
        for (session, what) in self.waiting_runs.take_due(Instant::now()) {
            sorted.entry(session).or_default().push(what);
        }
        self.write_commands(sorted).await;
    }

    /// Closes what others left open. Returns how long to wait until the next time.
    async fn sweep(&self, schedule: &mut SweepSchedule) -> Duration {
        let SessionWriter { store, node_id: me, .. } = &*self.session_writer;
        sweep_and_schedule(&**store, me, SWEEP_LIMIT, schedule).await.1
    }

    /// Keeps what is ours.
    async fn renew_leases(&mut self) {
        let now = Instant::now();
        let stale: Vec<Arc<str>> = self
            .open_runs
            .iter()
            .filter(|(_, live)| live.is_stale(now))
            .map(|(session, _)| session.clone())
            .collect();
        let mut work = JoinSet::new();
        for session in stale {
            let (desk, live) = (self.session_writer.clone(), self.open_runs.remove(&session));
            let Some(live) = live else { continue };
            let waiting = self.waiting_runs.clone();
            work.spawn(async move {
                let run = live.run.clone();
                let kept = live.renew_lease(&desk.store).await;
                if let Ok(RunOwnership::Taken) = &kept {
                    waiting.forget_run(&run);
                }
                desk.count_outcome(kept).map(|live| (session, live))
            });
        }
        self.collect_open_runs(work).await;
    }

    /// Nobody will go on with what is open.
    async fn close_all(&mut self) {
        let open = std::mem::take(&mut self.open_runs);
        let lost = open.into_iter().map(|(session, live)| {
            let what = vec![RecordCommand::MarkInterrupted(live.run.clone())];
            self.open_runs.insert(session.clone(), live);
            (session, what)
        });
        let sorted = lost.collect();
        self.write_commands(sorted).await;
    }

    async fn collect_open_runs(&mut self, mut work: JoinSet<Option<SessionOpenRun>>) {
        while let Some(done) = work.join_next().await {
            // Of a task that panicked nothing is left; its run is closed when its lease runs out.
            if let Ok(Some((session, live))) = done {
                self.open_runs.insert(session, live);
            }
        }
    }
}
