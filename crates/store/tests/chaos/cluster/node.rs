//! A node of the cluster: it runs agents, closes what others left, and watches what everybody
//! writes. Whatever the store has acknowledged it says.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use foxwedge_run::EventPayload;
use foxwedge_store::{
    ArchiveStore, CloseAuthority, FinalizeResult, Lease, ListFilter, ListPage, PostgresStore,
    Result, RunState, StartResult, Store, StoreError, StoreWake, close_run, sweep,
};
use tokio::time::sleep;

use crate::{
    process::{number, say, told, value},
    random::Random,
    settings::wait_for,
    story::{End, Story, Tale, Weight},
    writer::{SEED, STORE},
};

/// How the node is called, with a number that is another one each time it is started.
pub(crate) const NAME: &str = "FOXWEDGE_CHAOS_NAME";

/// How long a lease holds, in milliseconds.
pub(crate) const TTL: u64 = 1_500;

/// How often a node looks for runs that were left, and tries again what could not be done.
const LOOK: Duration = Duration::from_millis(100);
const AGAIN: Duration = Duration::from_millis(20);

/// How many agents a node runs at once.
pub(crate) const WORKERS: usize = 3;

/// Works until it is killed. Once it is told to finish, it begins nothing new.
pub(crate) fn play() {
    let told = told();
    let finish = Arc::new(AtomicBool::new(false));
    wait_for(async {
        let store = Arc::new(patiently(open).await);
        say("opened");
        let watching = tokio::spawn(watch(store.clone()));
        let sweeping = tokio::spawn(keep_sweeping(store.clone()));
        let mut workers = tokio::task::JoinSet::new();
        for worker in 0..WORKERS {
            workers.spawn(work(store.clone(), worker, finish.clone()));
        }
        let told = tokio::task::spawn_blocking(move || told.recv());
        told.await.expect("no panic").expect("a word");
        finish.store(true, Ordering::Relaxed);
        while let Some(worker) = workers.join_next().await {
            worker.expect("no worker panics");
        }
        say("finished");
        sweeping.await.expect("no panic");
        watching.await.expect("no panic");
    });
}

async fn open() -> Result<PostgresStore> {
    PostgresStore::open(&value(STORE)).await
}

/// Runs one agent after the other.
async fn work(store: Arc<PostgresStore>, worker: usize, finish: Arc<AtomicBool>) {
    let story = Story { seed: number(SEED), weight: Weight::Light };
    let name = value(NAME);
    let mut random = Random::of(story.seed, &[&name, &worker.to_string()]);
    for run in 0.. {
        if finish.load(Ordering::Relaxed) {
            return;
        }
        let tale = story.tale(&format!("{name}-{worker}-{run}"));
        let agent = Agent { store: &store, story, tale };
        if let Err(error) = agent.runs(&mut random).await {
            match error {
                StoreError::Fenced { .. } | StoreError::Ended(_) => {
                    say(&format!("refused {}", agent.tale.run));
                }
                error => say(&format!("failed {}: {error:?}", agent.tale.run).replace('\n', " ")),
            }
        }
    }
}

struct Agent<'a> {
    store: &'a PostgresStore,
    story: Story,
    tale: Tale,
}

impl Agent<'_> {
    async fn runs(&self, random: &mut Random) -> Result<()> {
        let Tale { run, session, portions, notes, .. } = &self.tale;
        let new = Story::session(session);
        again(|| self.store.create_session(new.clone())).await?;
        say(&format!("session {session}"));
        let lease = self.begin().await?;
        let mut last = 1;
        for (portion, count) in portions.iter().enumerate() {
            let next = last + *count as u64;
            let events: Vec<_> = (last + 1..=next).filter_map(|seq| self.tale.event(seq)).collect();
            again(|| self.store.append(run, &lease, events.clone())).await?;
            say(&format!("appended {run} {next} {}", lease.fence));
            last = next;
            if portion < *notes {
                let note = self.story.note(run, portion);
                again(|| self.store.append_records(session, vec![note.clone()])).await?;
                say(&format!("noted {session} {}", note.id));
            }
            // Agents think.
            sleep(Duration::from_millis(random.below(30))).await;
            if random.chance(20) {
                again(|| self.store.renew(run, &lease, TTL)).await?;
            }
        }
        // Some think for longer than a lease lasts.
        if random.chance(10) {
            for _ in 0..6 {
                sleep(Duration::from_millis(TTL / 4)).await;
                again(|| self.store.renew(run, &lease, TTL)).await?;
            }
        }
        match self.tale.end {
            End::Left => Ok(()),
            End::Replayed | End::ByHand => self.end(lease).await,
        }
    }

    async fn begin(&self) -> Result<Lease> {
        let run = &self.tale.run;
        let lease = match again(|| self.store.start_run(self.tale.start(&value(NAME), TTL))).await?
        {
            StartResult::New { run: row, lease } => {
                say(&format!("started {run} {}", row.epoch));
                lease
            }
            // An attempt that was not acknowledged, and took place all the same.
            StartResult::Existing(row) => match row.lease.clone() {
                Some(lease) if lease.owner == value(NAME) => lease,
                Some(_) | None => return Err(StoreError::Ended(Box::new(row))),
            },
        };
        Ok(lease)
    }

    async fn end(&self, lease: Lease) -> Result<()> {
        let run = &*self.tale.run;
        let authority = CloseAuthority::Holder(lease);
        let finalized = match self.tale.end {
            End::ByHand => {
                let closing = self.tale.closing(&self.story);
                again(|| self.store.finalize(run, authority.clone(), closing.clone())).await?
            }
            End::Replayed | End::Left => {
                let ended = EventPayload::Ended(self.tale.ended());
                again(|| close_run(self.store, run, ended.clone(), authority.clone())).await?
            }
        };
        match finalized {
            FinalizeResult::Recorded(row) => {
                let head = again(|| self.store.log_head(run)).await?.expect("a run");
                let chain: String = head.chain.iter().map(|byte| format!("{byte:02x}")).collect();
                say(&format!("ended {run} {} {chain}", row.last));
            }
            FinalizeResult::AlreadyEnded(_) => say(&format!("lost {run}")),
        }
        Ok(())
    }
}

/// Closes what others left, for ever.
async fn keep_sweeping(store: Arc<PostgresStore>) {
    loop {
        // What could not be done now is done the next time.
        if let Ok(swept) = sweep(&*store, &value(NAME), 100).await {
            swept.iter().for_each(|swept| say(&format!("swept {}", swept.run.id)));
        }
        sleep(LOOK).await;
    }
}

/// Reads what it is woken for, for ever, and nothing else: it never looks by itself.
async fn watch(store: Arc<PostgresStore>) {
    let mut watcher = patiently(|| store.watch()).await;
    let mut seen = BTreeMap::new();
    catch_up_all(&store, &mut seen).await;
    while let Some(wake) = watcher.next().await {
        match wake {
            StoreWake::Run { run, .. } => catch_up(&store, &run, &mut seen).await,
            StoreWake::All => catch_up_all(&store, &mut seen).await,
        }
    }
}

/// How far a run was seen.
#[derive(Clone, Copy, Default)]
struct Seen {
    last: u64,
    ended: bool,
}

async fn catch_up_all(store: &PostgresStore, seen: &mut BTreeMap<String, Seen>) {
    let mut page = ListPage { after: None, limit: 500 };
    loop {
        let runs = patiently(|| store.runs(ListFilter::default(), page.clone())).await;
        let Some(last) = runs.last() else { return };
        page.after = Some(last.id.clone());
        for run in &runs {
            let known = seen.get(&run.id).copied().unwrap_or_default();
            if !known.ended && known.last < run.last {
                catch_up(store, &run.id, seen).await;
            }
        }
    }
}

async fn catch_up(store: &PostgresStore, run: &str, seen: &mut BTreeMap<String, Seen>) {
    let known = seen.entry(run.to_owned()).or_default();
    loop {
        let events = patiently(|| store.events(run, known.last, 500)).await;
        let Some(last) = events.last() else { break };
        if !events.iter().map(|event| event.seq).eq(known.last + 1..=last.seq) {
            say(&format!("failed watch: {run} has a gap behind {}", known.last));
        }
        known.last = last.seq;
        known.ended = matches!(last.event.body, EventPayload::Ended(_));
        say(&format!("saw {run} {}", known.last));
    }
    // Nobody ended a run without an end in its log.
    if known.ended {
        let row = patiently(|| store.run(run)).await;
        let open = row.is_none_or(|row| row.state == RunState::Open);
        if open {
            say(&format!("failed watch: {run} has an end in its log, and is open"));
        }
    }
}

/// Does something, again and again while the server is away.
async fn again<T, F: Future<Output = Result<T>>>(work: impl Fn() -> F) -> Result<T> {
    loop {
        match work().await {
            Err(StoreError::Unavailable(_)) => sleep(AGAIN).await,
            done => return done,
        }
    }
}

/// Does something that nobody can refuse.
async fn patiently<T, F: Future<Output = Result<T>>>(work: impl Fn() -> F) -> T {
    again(work).await.unwrap_or_else(|error| panic!("{error:?}"))
}
