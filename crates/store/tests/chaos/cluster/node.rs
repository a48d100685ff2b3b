//! A node of the cluster: it runs agents, closes abandoned runs, and watches all runs. It reports
//! what the store has acknowledged.

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
    process::{input_lines, number, print_line, value},
    random::Random,
    settings::wait_for,
    story::{End, RunPlan, Weight, Workload},
    writer::{SEED, STORE},
};

/// Name of the node, with a number that changes at each start.
pub(crate) const NAME: &str = "FOXWEDGE_CHAOS_NAME";

/// How long a lease is valid, in milliseconds.
pub(crate) const TTL: u64 = 1_500;

/// How often a node looks for abandoned runs, and the pause before a retry.
const SWEEP_INTERVAL: Duration = Duration::from_millis(100);
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Number of parallel agents of a node.
pub(crate) const WORKERS: usize = 3;

/// Works until it is killed. After the command to finish it starts nothing new.
pub(crate) fn play() {
    let input = input_lines();
    let finish = Arc::new(AtomicBool::new(false));
    wait_for(async {
        let store = Arc::new(retry_or_panic(open).await);
        print_line("opened");
        let watching = tokio::spawn(watch(store.clone()));
        let sweeping = tokio::spawn(keep_sweeping(store.clone()));
        let mut workers = tokio::task::JoinSet::new();
        for worker in 0..WORKERS {
            workers.spawn(work(store.clone(), worker, finish.clone()));
        }
        let input = tokio::task::spawn_blocking(move || input.recv());
        input.await.expect("no panic").expect("a word");
        finish.store(true, Ordering::Relaxed);
        while let Some(worker) = workers.join_next().await {
            worker.expect("no worker panics");
        }
        print_line("finished");
        sweeping.await.expect("no panic");
        watching.await.expect("no panic");
    });
}

async fn open() -> Result<PostgresStore> {
    PostgresStore::open(&value(STORE)).await
}

/// Runs one agent after the other.
async fn work(store: Arc<PostgresStore>, worker: usize, finish: Arc<AtomicBool>) {
    let workload = Workload { seed: number(SEED), weight: Weight::Light };
    let name = value(NAME);
    let mut random = Random::of(workload.seed, &[&name, &worker.to_string()]);
    for run in 0.. {
        if finish.load(Ordering::Relaxed) {
            return;
        }
        let plan = workload.plan(&format!("{name}-{worker}-{run}"));
        let agent = Agent { store: &store, workload, plan };
        if let Err(error) = agent.runs(&mut random).await {
            match error {
                StoreError::Fenced { .. } | StoreError::Ended(_) => {
                    print_line(&format!("refused {}", agent.plan.run));
                }
                error => {
                    print_line(&format!("failed {}: {error:?}", agent.plan.run).replace('\n', " "))
                }
            }
        }
    }
}

struct Agent<'a> {
    store: &'a PostgresStore,
    workload: Workload,
    plan: RunPlan,
}

impl Agent<'_> {
    async fn runs(&self, random: &mut Random) -> Result<()> {
        let RunPlan { run, session, portions, notes, .. } = &self.plan;
        let new = Workload::session(session);
        retry(|| self.store.create_session(new.clone())).await?;
        print_line(&format!("session {session}"));
        let lease = self.begin().await?;
        let mut last = 1;
        for (portion, count) in portions.iter().enumerate() {
            let next = last + *count as u64;
            let events: Vec<_> = (last + 1..=next).filter_map(|seq| self.plan.event(seq)).collect();
            retry(|| self.store.append(run, &lease, events.clone())).await?;
            print_line(&format!("appended {run} {next} {}", lease.fence));
            last = next;
            if portion < *notes {
                let note = self.workload.note(run, portion);
                retry(|| self.store.append_records(session, vec![note.clone()])).await?;
                print_line(&format!("noted {session} {}", note.id));
            }
            // Agents think.
            sleep(Duration::from_millis(random.below(30))).await;
            if random.chance(20) {
                retry(|| self.store.renew(run, &lease, TTL)).await?;
            }
        }
        // Some think for longer than a lease lasts.
        if random.chance(10) {
            for _ in 0..6 {
                sleep(Duration::from_millis(TTL / 4)).await;
                retry(|| self.store.renew(run, &lease, TTL)).await?;
            }
        }
        match self.plan.end {
            End::Left => Ok(()),
            End::Replayed | End::ByHand => self.end(lease).await,
        }
    }

    async fn begin(&self) -> Result<Lease> {
        let run = &self.plan.run;
        let lease = match retry(|| self.store.start_run(self.plan.start(&value(NAME), TTL))).await?
        {
            StartResult::New { run: row, lease } => {
                print_line(&format!("started {run} {}", row.epoch));
                lease
            }
            // An attempt that was not acknowledged, but happened.
            StartResult::Existing(row) => match row.lease.clone() {
                Some(lease) if lease.owner == value(NAME) => lease,
                Some(_) | None => return Err(StoreError::Ended(Box::new(row))),
            },
        };
        Ok(lease)
    }

    async fn end(&self, lease: Lease) -> Result<()> {
        let run = &*self.plan.run;
        let authority = CloseAuthority::Holder(lease);
        let finalized = match self.plan.end {
            End::ByHand => {
                let closing = self.plan.closing(&self.workload);
                retry(|| self.store.finalize(run, authority.clone(), closing.clone())).await?
            }
            End::Replayed | End::Left => {
                let ended = EventPayload::Ended(self.plan.ended());
                retry(|| close_run(self.store, run, ended.clone(), authority.clone())).await?
            }
        };
        match finalized {
            FinalizeResult::Recorded(row) => {
                let head = retry(|| self.store.log_head(run)).await?.expect("a run");
                let chain: String = head.chain.iter().map(|byte| format!("{byte:02x}")).collect();
                print_line(&format!("ended {run} {} {chain}", row.last));
            }
            FinalizeResult::AlreadyEnded(_) => print_line(&format!("lost {run}")),
        }
        Ok(())
    }
}

/// Closes abandoned runs, for ever.
async fn keep_sweeping(store: Arc<PostgresStore>) {
    loop {
        // What failed now is done the next time.
        if let Ok(swept) = sweep(&*store, &value(NAME), 100).await {
            swept.iter().for_each(|swept| print_line(&format!("swept {}", swept.run.id)));
        }
        sleep(SWEEP_INTERVAL).await;
    }
}

/// Reads what it is woken for, for ever, and nothing else: it never polls.
async fn watch(store: Arc<PostgresStore>) {
    let mut watcher = retry_or_panic(|| store.watch()).await;
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
        let runs = retry_or_panic(|| store.runs(ListFilter::default(), page.clone())).await;
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
        let events = retry_or_panic(|| store.events(run, known.last, 500)).await;
        let Some(last) = events.last() else { break };
        if !events.iter().map(|event| event.seq).eq(known.last + 1..=last.seq) {
            print_line(&format!("failed watch: {run} has a gap behind {}", known.last));
        }
        known.last = last.seq;
        known.ended = matches!(last.event.body, EventPayload::Ended(_));
        print_line(&format!("saw {run} {}", known.last));
    }
    // A run with an end in its log must have ended.
    if known.ended {
        let row = retry_or_panic(|| store.run(run)).await;
        let open = row.is_none_or(|row| row.state == RunState::Open);
        if open {
            print_line(&format!("failed watch: {run} has an end in its log, and is open"));
        }
    }
}

/// Repeats an operation while the server is unavailable.
async fn retry<T, F: Future<Output = Result<T>>>(operation: impl Fn() -> F) -> Result<T> {
    loop {
        match operation().await {
            Err(StoreError::Unavailable(_)) => sleep(RETRY_PAUSE).await,
            result => return result,
        }
    }
}

/// Repeats an operation that must not fail.
async fn retry_or_panic<T, F: Future<Output = Result<T>>>(operation: impl Fn() -> F) -> T {
    retry(operation).await.unwrap_or_else(|error| panic!("{error:?}"))
}
