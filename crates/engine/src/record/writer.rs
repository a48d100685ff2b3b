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

use foxwedge_store::{AnyStore, SweepSchedule, sweep_on_time};
use tokio::{
    sync::oneshot,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

use super::{
    delay::{self, Ends, age},
    desk::Desk,
    live::{Kept, Live},
    now,
    queue::{Beginning, Haste, Note, Notes, What},
    waiting::Waiting,
    whole,
};
use crate::meter::Meter;

/// So many notes are written together.
const BATCH: usize = 1_024;
/// How often is looked for calls without an answer.
const TICK: Duration = Duration::from_secs(1);
/// Every so many ticks leases are looked at.
const ROUND: u32 = 10;
/// So many runs of others are closed at the start.
pub(super) const SWEPT: usize = 1_000;
/// So many of them at once later: what happens here does not wait for that.
const SWEPT_AT_ONCE: usize = 100;
/// How long the last requests are waited for at the end.
const LAST: Duration = Duration::from_millis(500);

/// The writer.
pub(super) struct Writer {
    desk: Arc<Desk>,
    notes: Notes,
    waiting: Arc<Waiting>,
    live: HashMap<Arc<str>, Box<Live>>,
    /// Requests that have only begun, by session. Their end may come at once.
    held: HashMap<Arc<str>, Box<Beginning>>,
}

/// A run that goes on, and its session.
type Still = (Arc<str>, Box<Live>);

/// What happened, by session.
type Sorted = HashMap<Arc<str>, Vec<What>>;

/// Whether somebody will still say something.
enum More {
    Yes,
    No,
}

impl Writer {
    pub(super) fn new(
        store: Arc<AnyStore>,
        me: String,
        notes: Notes,
        waiting: Arc<Waiting>,
        meter: Meter,
    ) -> Writer {
        let desk = Arc::new(Desk::new(store, me, meter));
        Writer { desk, notes, waiting, live: HashMap::new(), held: HashMap::new() }
    }

    /// Writes until nobody says anything any more. Then nothing of ours is open.
    pub(super) async fn run(mut self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut notes, mut round) = (Vec::new(), 0_u32);
        let mut schedule = SweepSchedule::new(&self.desk.me);
        let mut next_sweep = Instant::now() + schedule.wait(None);
        loop {
            let haste = tokio::select! {
                biased;
                _ = ticks.tick() => {
                    self.close_late().await;
                    round = round.wrapping_add(1);
                    if round.is_multiple_of(ROUND) {
                        self.renew().await;
                    }
                    continue;
                }
                () = sleep_until(next_sweep) => {
                    // First what is ours: after a long pause our own leases have run out, too.
                    self.renew().await;
                    next_sweep = Instant::now() + self.sweep(&mut schedule).await;
                    continue;
                }
                gathered = self.gather(&mut notes) => match gathered {
                    Some(haste) => haste,
                    None => break,
                },
            };
            if let More::No = self.take(std::mem::take(&mut notes), haste).await {
                break;
            }
        }
        self.notes.close();
        while let Ok(1..) = timeout(LAST, self.notes.next(&mut notes, BATCH)).await {
            self.take(std::mem::take(&mut notes), Haste::Yes).await;
        }
        self.close_all().await;
    }

    /// Waits for notes, and a little for more of them. `None` if nobody is left who could say
    /// something.
    async fn gather(&mut self, notes: &mut Vec<Note>) -> Option<Haste> {
        let idle = notes.is_empty() && self.held.is_empty();
        if idle && self.notes.next(notes, BATCH).await == 0 {
            return None;
        }
        let haste = match (notes.len(), self.pause(notes)) {
            (BATCH.., _) | (_, Duration::ZERO) => Haste::No,
            (_, pause) => self.notes.linger(pause).await,
        };
        self.notes.more(notes, BATCH);
        Some(haste)
    }

    /// How long more notes may be waited for.
    fn pause(&self, notes: &[Note]) -> Duration {
        let held = self.held.values().map(|begin| begin.at);
        let oldest = notes.iter().filter_map(Note::at).chain(held).min();
        let age = oldest.map_or(Duration::ZERO, |oldest| age(oldest, now()));
        let ends = notes.iter().any(|note| match note {
            Note::Of(session, What::End(..)) => self.live.contains_key(session),
            Note::Of(..) | Note::Flush(_) | Note::Stop => false,
        });
        delay::pause(age, if ends { Ends::OpenRun } else { Ends::Nothing })
    }

    /// Writes what came together, but what has only just begun.
    async fn take(&mut self, notes: Vec<Note>, mut haste: Haste) -> More {
        let held = self.held.drain();
        let mut sorted: Sorted =
            held.map(|(session, begin)| (session, vec![What::Begin(begin)])).collect();
        let old: HashSet<Arc<str>> = sorted.keys().cloned().collect();
        let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
        let mut more = More::Yes;
        for note in notes {
            match note {
                Note::Of(session, what) => sorted.entry(session).or_default().push(what),
                Note::Flush(whoever) => {
                    waiting.push(whoever);
                    haste = Haste::Yes;
                }
                Note::Stop => (more, haste) = (More::No, Haste::Yes),
            }
        }
        if haste == Haste::No {
            self.hold(&mut sorted, &old);
        }
        self.write(sorted).await;
        for whoever in waiting {
            // It may have stopped waiting.
            let _ = whoever.send(());
        }
        more
    }

    /// Keeps back what has just begun, once.
    fn hold(&mut self, sorted: &mut Sorted, old: &HashSet<Arc<str>>) {
        let now = now();
        for (session, whats) in sorted.iter_mut() {
            if whats.len() == 1 && old.contains(session) {
                continue;
            }
            // One with a body may be large.
            let fresh = |what: &mut What| match what {
                What::Begin(begin) => begin.body.is_none() && delay::may_hold(age(begin.at, now)),
                What::More(..) | What::End(..) => false,
                What::Late(..) | What::Lost(_) | What::Forget(_) => false,
            };
            if let Some(What::Begin(begin)) = whats.pop_if(fresh) {
                self.held.insert(session.clone(), begin);
            }
        }
    }

    async fn write(&mut self, sorted: Sorted) {
        let (mut over, mut behind) = (Vec::new(), Vec::new());
        let mut work = JoinSet::new();
        for (session, mut whats) in sorted {
            let done = match self.live.contains_key(&session) {
                true => 0,
                false => whole::over(&whats),
            };
            let rest = whats.split_off(done);
            match (whats.is_empty(), rest.is_empty()) {
                (true, true) => {}
                (true, false) => self.spawn(&mut work, session, rest),
                (false, true) => over.push((session, whats)),
                (false, false) => {
                    over.push((session.clone(), whats));
                    behind.push((session, rest));
                }
            }
        }
        if !over.is_empty() {
            let desk = self.desk.clone();
            work.spawn(async move {
                desk.keep(over).await;
                None
            });
        }
        self.collect(work).await;
        let mut work = JoinSet::new();
        behind.into_iter().for_each(|(session, rest)| self.spawn(&mut work, session, rest));
        self.collect(work).await;
    }

    fn spawn(&mut self, work: &mut JoinSet<Option<Still>>, session: Arc<str>, whats: Vec<What>) {
        let (desk, live) = (self.desk.clone(), self.live.remove(&session));
        work.spawn(async move {
            let live = desk.session(&session, live, whats).await;
            live.map(|live| (session, live))
        });
    }

    /// Ends runs whose calls nobody answered.
    async fn close_late(&mut self) {
        let mut sorted = Sorted::new();
        for (session, what) in self.waiting.due(Instant::now()) {
            sorted.entry(session).or_default().push(what);
        }
        self.write(sorted).await;
    }

    /// Closes what others left open. Returns how long to wait until the next time.
    async fn sweep(&self, schedule: &mut SweepSchedule) -> Duration {
        let Desk { store, me, .. } = &*self.desk;
        sweep_on_time(&**store, me, SWEPT_AT_ONCE, schedule).await.1
    }

    /// Keeps what is ours.
    async fn renew(&mut self) {
        let now = Instant::now();
        let stale: Vec<Arc<str>> = self
            .live
            .iter()
            .filter(|(_, live)| live.is_stale(now))
            .map(|(session, _)| session.clone())
            .collect();
        let mut work = JoinSet::new();
        for session in stale {
            let (desk, live) = (self.desk.clone(), self.live.remove(&session));
            let Some(live) = live else { continue };
            let waiting = self.waiting.clone();
            work.spawn(async move {
                let run = live.run.clone();
                let kept = live.renew(&desk.store).await;
                if let Ok(Kept::Taken) = &kept {
                    waiting.forget(&run);
                }
                desk.settled(kept).map(|live| (session, live))
            });
        }
        self.collect(work).await;
    }

    /// Nobody will go on with what is open.
    async fn close_all(&mut self) {
        let open = std::mem::take(&mut self.live);
        let lost = open.into_iter().map(|(session, live)| {
            let what = vec![What::Lost(live.run.clone())];
            self.live.insert(session.clone(), live);
            (session, what)
        });
        let sorted = lost.collect();
        self.write(sorted).await;
    }

    async fn collect(&mut self, mut work: JoinSet<Option<Still>>) {
        while let Some(done) = work.join_next().await {
            // Of a task that panicked nothing is left; its run is closed when its lease runs out.
            if let Ok(Some((session, live))) = done {
                self.live.insert(session, live);
            }
        }
    }
}
