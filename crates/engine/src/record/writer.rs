//! The one task that writes. It takes what waits, sorts it by session, and writes all sessions at
//! once: what happened in one of them stays in order.

use std::{collections::HashMap, sync::Arc, time::Duration};

use foxwedge_store::AnyStore;
use tokio::{
    sync::oneshot,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use super::{
    desk::Desk,
    live::{Kept, Live},
    queue::{Note, Notes, What},
    waiting::Waiting,
};
use crate::meter::Meter;

/// So many notes are written together.
const BATCH: usize = 1_024;
/// How often is looked for calls without an answer.
const TICK: Duration = Duration::from_secs(1);
/// Every so many ticks leases are looked at, and runs that others left open.
const ROUND: u32 = 10;
/// So many runs of others are closed at once.
pub(super) const SWEPT: usize = 1_000;
/// How long the last requests are waited for at the end.
const LAST: Duration = Duration::from_millis(500);

/// The writer.
pub(super) struct Writer {
    desk: Arc<Desk>,
    notes: Notes,
    waiting: Arc<Waiting>,
    live: HashMap<Arc<str>, Box<Live>>,
}

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
        Writer { desk, notes, waiting, live: HashMap::new() }
    }

    /// Writes until nobody says anything any more. Then nothing of ours is open.
    pub(super) async fn run(mut self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut notes, mut round) = (Vec::new(), 0_u32);
        loop {
            tokio::select! {
                biased;
                number = self.notes.next(&mut notes, BATCH) => {
                    let more = self.take(std::mem::take(&mut notes)).await;
                    if number == 0 || matches!(more, More::No) {
                        break;
                    }
                }
                _ = ticks.tick() => {
                    self.close_late().await;
                    round = round.wrapping_add(1);
                    if round.is_multiple_of(ROUND) {
                        self.look_after().await;
                    }
                }
            }
        }
        self.notes.close();
        while let Ok(1..) = timeout(LAST, self.notes.next(&mut notes, BATCH)).await {
            self.take(std::mem::take(&mut notes)).await;
        }
        self.close_all().await;
    }

    /// Writes what came together.
    async fn take(&mut self, notes: Vec<Note>) -> More {
        let mut sorted: HashMap<Arc<str>, Vec<What>> = HashMap::new();
        let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
        let mut more = More::Yes;
        for note in notes {
            match note {
                Note::Of(session, what) => sorted.entry(session).or_default().push(what),
                Note::Flush(whoever) => waiting.push(whoever),
                Note::Stop => more = More::No,
            }
        }
        self.write(sorted).await;
        for whoever in waiting {
            // It may have stopped waiting.
            let _ = whoever.send(());
        }
        more
    }

    async fn write(&mut self, sorted: HashMap<Arc<str>, Vec<What>>) {
        let mut work = JoinSet::new();
        for (session, whats) in sorted {
            let (desk, live) = (self.desk.clone(), self.live.remove(&session));
            work.spawn(async move {
                let live = desk.session(&session, live, whats).await;
                live.map(|live| (session, live))
            });
        }
        self.collect(work).await;
    }

    /// Ends runs whose calls nobody answered.
    async fn close_late(&mut self) {
        let mut sorted: HashMap<Arc<str>, Vec<What>> = HashMap::new();
        for (session, what) in self.waiting.due(Instant::now()) {
            sorted.entry(session).or_default().push(what);
        }
        self.write(sorted).await;
    }

    /// Keeps what is ours, and closes what others left open.
    async fn look_after(&mut self) {
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
        // What cannot be closed now is closed the next time.
        let _ =
            foxwedge_store::sweep(&*self.desk.store, &self.desk.me, SWEPT / ROUND as usize).await;
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

    async fn collect(&mut self, mut work: JoinSet<Option<(Arc<str>, Box<Live>)>>) {
        while let Some(done) = work.join_next().await {
            // Of a task that panicked nothing is left; its run is closed when its lease runs out.
            if let Ok(Some((session, live))) = done {
                self.live.insert(session, live);
            }
        }
    }
}
