//! The writer task. It takes queued items, groups them by session, and writes all sessions
//! concurrently; the commands of one session stay in order.
//!
//! It waits a little for more items: a request that ends within that time is written once and not
//! twice. A longer request is written while it runs, so that readers do not wait for its end.

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
    session_writer::{SessionWriter, StoppedRunListener},
    unix_millis,
    waiting_runs::RunsAwaitingTools,
};
use crate::{log::StoreNotices, metrics::Metrics};

/// How many items are written together.
const BATCH_SIZE: usize = 1_024;
/// How often expired calls are checked.
const TICK_INTERVAL: Duration = Duration::from_secs(1);
/// After how many ticks leases are renewed.
const RENEW_EVERY_TICKS: u32 = 10;
/// After how many ticks runs with a request in progress are checked: another process may have stopped
/// them, and nothing may be written for a long time. The request ends within that time.
const CHECK_EVERY_TICKS: u32 = 3;
/// How many runs of other processes are closed at the start.
pub(super) const START_SWEEP_LIMIT: usize = 1_000;
/// How many of them are closed at a time later, so that own writes do not wait.
const SWEEP_LIMIT: usize = 100;
/// How long shutdown waits for the last requests.
const FINAL_WAIT: Duration = Duration::from_millis(500);

/// The writer.
pub(super) struct RecordWriter {
    session_writer: Arc<SessionWriter>,
    queue: RecordQueueReader,
    waiting_runs: Arc<RunsAwaitingTools>,
    open_runs: HashMap<Arc<str>, Box<OpenRun>>,
    /// Starts of requests that are held back, by session. Their end may follow soon.
    held_starts: HashMap<Arc<str>, Box<RequestStart>>,
}

/// An open run and its session.
type SessionOpenRun = (Arc<str>, Box<OpenRun>);

/// Commands by session.
type CommandsBySession = HashMap<Arc<str>, Vec<RecordCommand>>;

/// What the store is asked about a run.
#[derive(Clone, Copy)]
enum OwnershipWork {
    RenewLease,
    Check,
}

/// Whether the writer continues.
enum WriterFlow {
    Continue,
    Stop,
}

impl RecordWriter {
    pub(super) fn new(
        store: Arc<AnyStore>,
        node_id: String,
        queue: RecordQueueReader,
        waiting_runs: Arc<RunsAwaitingTools>,
        metrics: Metrics,
        notices: StoreNotices,
        stopped_runs: StoppedRunListener,
    ) -> RecordWriter {
        let session_writer = SessionWriter::new(store, node_id, metrics, notices, stopped_runs);
        let session_writer = Arc::new(session_writer);
        RecordWriter {
            session_writer,
            queue,
            waiting_runs,
            open_runs: HashMap::new(),
            held_starts: HashMap::new(),
        }
    }

    /// Writes until all senders are gone or a stop is queued. Then all own runs are closed.
    pub(super) async fn run(mut self) {
        let mut ticks = interval(TICK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut items, mut round) = (Vec::new(), 0_u32);
        let mut schedule = SweepSchedule::new(&self.session_writer.node_id);
        let mut next_sweep = Instant::now() + schedule.wait(None);
        loop {
            let urgency = tokio::select! {
                biased;
                _ = ticks.tick() => {
                    self.session_writer.notices.check();
                    self.close_late().await;
                    round = round.wrapping_add(1);
                    if round.is_multiple_of(RENEW_EVERY_TICKS) {
                        self.renew_leases().await;
                    }
                    if round.is_multiple_of(CHECK_EVERY_TICKS) {
                        self.check_runs().await;
                    }
                    continue;
                }
                () = sleep_until(next_sweep) => {
                    // Own leases first: after a long pause they have expired, too.
                    self.renew_leases().await;
                    next_sweep = Instant::now() + self.sweep(&mut schedule).await;
                    continue;
                }
                collected = self.collect_items(&mut items) => match collected {
                    Some(urgency) => urgency,
                    None => break,
                },
            };
            if let WriterFlow::Stop = self.write_batch(std::mem::take(&mut items), urgency).await {
                break;
            }
        }
        self.queue.close();
        while let Ok(1..) = timeout(FINAL_WAIT, self.queue.next(&mut items, BATCH_SIZE)).await {
            self.write_batch(std::mem::take(&mut items), WriteUrgency::Urgent).await;
        }
        self.close_all().await;
    }

    /// Waits for items, and a little for more of them. `None` if all senders are gone.
    async fn collect_items(&mut self, items: &mut Vec<RecordQueueItem>) -> Option<WriteUrgency> {
        let idle = items.is_empty() && self.held_starts.is_empty();
        if idle && self.queue.next(items, BATCH_SIZE).await == 0 {
            return None;
        }
        let urgency = match (items.len(), self.pause(items)) {
            (BATCH_SIZE.., _) | (_, Duration::ZERO) => WriteUrgency::Normal,
            (_, pause) => self.queue.wait_unless_urgent(pause).await,
        };
        self.queue.take_ready(items, BATCH_SIZE);
        Some(urgency)
    }

    /// How long to wait for more items.
    fn pause(&self, items: &[RecordQueueItem]) -> Duration {
        let held_times = self.held_starts.values().map(|start| start.at);
        let oldest = items.iter().filter_map(RecordQueueItem::at).chain(held_times).min();
        let age = oldest.map_or(Duration::ZERO, |oldest| age(oldest, unix_millis()));
        let ends_open_run = items.iter().any(|item| match item {
            RecordQueueItem::Command(session, RecordCommand::FinishRequest(..)) => {
                self.open_runs.contains_key(session)
            }
            RecordQueueItem::Command(..) | RecordQueueItem::Flush(_) | RecordQueueItem::Stop => {
                false
            }
        });
        delay::pause(age, if ends_open_run { QueuedRunEnd::OpenRun } else { QueuedRunEnd::Nothing })
    }

    /// Writes a batch, except for requests that have only just started.
    async fn write_batch(
        &mut self,
        items: Vec<RecordQueueItem>,
        mut urgency: WriteUrgency,
    ) -> WriterFlow {
        let held_starts = self.held_starts.drain();
        let mut commands: CommandsBySession = held_starts
            .map(|(session, start)| (session, vec![RecordCommand::StartRequest(start)]))
            .collect();
        let held_before: HashSet<Arc<str>> = commands.keys().cloned().collect();
        let mut flush_senders: Vec<oneshot::Sender<()>> = Vec::new();
        let mut flow = WriterFlow::Continue;
        for item in items {
            match item {
                RecordQueueItem::Command(session, command) => {
                    commands.entry(session).or_default().push(command)
                }
                RecordQueueItem::Flush(sender) => {
                    flush_senders.push(sender);
                    urgency = WriteUrgency::Urgent;
                }
                RecordQueueItem::Stop => (flow, urgency) = (WriterFlow::Stop, WriteUrgency::Urgent),
            }
        }
        if urgency == WriteUrgency::Normal {
            self.hold_starts(&mut commands, &held_before);
        }
        self.write_commands(commands).await;
        for sender in flush_senders {
            // The reader may have stopped waiting.
            let _ = sender.send(());
        }
        flow
    }

    /// Holds back requests that have just started, once.
    fn hold_starts(
        &mut self,
        commands_by_session: &mut CommandsBySession,
        held_before: &HashSet<Arc<str>>,
    ) {
        let now = unix_millis();
        for (session, commands) in commands_by_session.iter_mut() {
            if commands.len() == 1 && held_before.contains(session) {
                continue;
            }
            // A start with a body may be large.
            let is_recent = |command: &mut RecordCommand| match command {
                RecordCommand::StartRequest(start) => {
                    start.body.is_none() && delay::may_hold(age(start.at, now))
                }
                RecordCommand::AppendEvents(..) | RecordCommand::FinishRequest(..) => false,
                RecordCommand::ExpireCalls(..)
                | RecordCommand::MarkInterrupted(_)
                | RecordCommand::ForgetRun(_)
                | RecordCommand::AdoptRun(..) => false,
            };
            if let Some(RecordCommand::StartRequest(start)) = commands.pop_if(is_recent) {
                self.held_starts.insert(session.clone(), start);
            }
        }
    }

    async fn write_commands(&mut self, commands_by_session: CommandsBySession) {
        let (mut complete, mut remaining) = (Vec::new(), Vec::new());
        let mut work = JoinSet::new();
        for (session, mut commands) in commands_by_session {
            let complete_count = match self.open_runs.contains_key(&session) {
                true => 0,
                false => complete_runs::count_complete(&commands),
            };
            let rest = commands.split_off(complete_count);
            match (commands.is_empty(), rest.is_empty()) {
                (true, true) => {}
                (true, false) => self.spawn_session(&mut work, session, rest),
                (false, true) => complete.push((session, commands)),
                (false, false) => {
                    complete.push((session.clone(), commands));
                    remaining.push((session, rest));
                }
            }
        }
        if !complete.is_empty() {
            let session_writer = self.session_writer.clone();
            work.spawn(async move {
                session_writer.write_complete_runs(complete).await;
                None
            });
        }
        self.collect_open_runs(work).await;
        let mut work = JoinSet::new();
        remaining
            .into_iter()
            .for_each(|(session, rest)| self.spawn_session(&mut work, session, rest));
        self.collect_open_runs(work).await;
    }

    fn spawn_session(
        &mut self,
        work: &mut JoinSet<Option<SessionOpenRun>>,
        session: Arc<str>,
        commands: Vec<RecordCommand>,
    ) {
        let (session_writer, open_run) =
            (self.session_writer.clone(), self.open_runs.remove(&session));
        work.spawn(async move {
            let open_run = session_writer.apply_commands(&session, open_run, commands).await;
            open_run.map(|open_run| (session, open_run))
        });
    }

    /// Ends runs whose calls have expired.
    async fn close_late(&mut self) {
        let mut commands = CommandsBySession::new();
        for (session, command) in self.waiting_runs.take_due(Instant::now()) {
            commands.entry(session).or_default().push(command);
        }
        self.write_commands(commands).await;
    }

    /// Closes runs that other processes left open. Returns the time until the next sweep.
    async fn sweep(&self, schedule: &mut SweepSchedule) -> Duration {
        let SessionWriter { store, node_id, .. } = &*self.session_writer;
        sweep_and_schedule(&**store, node_id, SWEEP_LIMIT, schedule).await.1
    }

    /// Renews the leases of own runs.
    async fn renew_leases(&mut self) {
        let now = Instant::now();
        let stale = self.open_runs.extract_if(|_, open_run| open_run.is_stale(now)).collect();
        self.update_runs(stale, OwnershipWork::RenewLease).await;
    }

    /// Finds runs with a request in progress that another process has ended.
    async fn check_runs(&mut self) {
        let waiting_runs = self.waiting_runs.clone();
        let is_in_progress = |session: &Arc<str>, open_run: &mut Box<OpenRun>| {
            waiting_runs.find(session).is_none_or(|waiting| waiting.run != open_run.run)
        };
        let in_progress = self.open_runs.extract_if(is_in_progress).collect();
        self.update_runs(in_progress, OwnershipWork::Check).await;
    }

    /// Asks the store about runs. Those that are still open are kept.
    async fn update_runs(&mut self, runs: Vec<SessionOpenRun>, work: OwnershipWork) {
        let mut tasks = JoinSet::new();
        for (session, open_run) in runs {
            let (session_writer, waiting_runs) =
                (self.session_writer.clone(), self.waiting_runs.clone());
            tasks.spawn(async move {
                let run = open_run.run.clone();
                let ownership = match work {
                    OwnershipWork::RenewLease => open_run.renew_lease(&session_writer.store).await,
                    OwnershipWork::Check => Ok(open_run.check(&session_writer.store).await),
                };
                if let Ok(RunOwnership::Taken(_)) = &ownership {
                    waiting_runs.forget_run(&run);
                }
                session_writer.count_outcome(&run, ownership).map(|open_run| (session, open_run))
            });
        }
        self.collect_open_runs(tasks).await;
    }

    /// Interrupts all open runs.
    async fn close_all(&mut self) {
        if self.session_writer.store.is_shared() {
            // They wait for tool results, which may arrive at another node.
            return;
        }
        let open_runs = std::mem::take(&mut self.open_runs);
        let interrupted = open_runs.into_iter().map(|(session, open_run)| {
            let commands = vec![RecordCommand::MarkInterrupted(open_run.run.clone())];
            self.open_runs.insert(session.clone(), open_run);
            (session, commands)
        });
        let commands_by_session = interrupted.collect();
        self.write_commands(commands_by_session).await;
    }

    async fn collect_open_runs(&mut self, mut work: JoinSet<Option<SessionOpenRun>>) {
        while let Some(result) = work.join_next().await {
            // A task that panicked returns nothing; its run is closed when its lease expires.
            if let Ok(Some((session, open_run))) = result {
                self.open_runs.insert(session, open_run);
            }
        }
    }
}
