//! A writing process: several writers at once, so that commits come in groups. It reports exactly
//! what the store has acknowledged.

use std::{future::Future, sync::Arc};

use foxwedge_run::EventPayload;
use foxwedge_store::{
    AnyStore, ArchiveStore, CloseAuthority, FinalizeResult, Lease, Result, StartResult, Store,
    StoreError, close_run, sweep,
};
use tokio::task::JoinSet;

use crate::{
    process::{input_lines, number, print_line, value},
    settings::wait_for,
    story::{End, RunPlan, Weight, Workload},
};

pub(crate) const PART: &str = "writer";

/// URL of the store.
pub(crate) const STORE: &str = "FOXWEDGE_CHAOS_STORE";
/// Seed of the workload.
pub(crate) const SEED: &str = "FOXWEDGE_CHAOS_STORY";
/// How much is written at once.
pub(crate) const WEIGHT: &str = "FOXWEDGE_CHAOS_WEIGHT";
/// Prefix of the run names.
pub(crate) const ROUND: &str = "FOXWEDGE_CHAOS_ROUND";
/// Number of parallel writers.
pub(crate) const WRITERS: &str = "FOXWEDGE_CHAOS_WRITERS";
/// Number of runs that each of them writes each time.
pub(crate) const RUNS: &str = "FOXWEDGE_CHAOS_RUNS";
/// How often the store is opened and closed.
pub(crate) const TIMES: &str = "FOXWEDGE_CHAOS_TIMES";
/// Whether it is honest: a dishonest writer reports success before it is certain.
pub(crate) const HONEST: &str = "FOXWEDGE_CHAOS_HONEST";

/// How often to retry an operation that failed.
const TRIES: usize = 3;

/// Writes until everything is written.
pub(crate) fn play() {
    let _input = input_lines();
    wait_for(async {
        for time in 0..number(TIMES) {
            match AnyStore::open(&value(STORE).parse().expect("an address")).await {
                Ok(store) => write(Arc::new(store), time).await,
                Err(error) => print_line(&failed("open", &error)),
            }
        }
    });
    print_line("done");
}

/// Describes a failure.
fn failed(what: &str, error: &StoreError) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    format!("failed {what}: {error}: {source}").replace('\n', " ")
}

async fn write(store: Arc<AnyStore>, time: u64) {
    print_line("opened");
    // An earlier process may have been killed.
    match sweep(&*store, "writer", 1_000).await {
        Ok(swept) => swept.iter().for_each(|swept| print_line(&format!("swept {}", swept.run.id))),
        Err(error) => print_line(&failed("sweep", &error)),
    }
    let mut writers = JoinSet::new();
    for writer in 0..number(WRITERS) {
        let store = store.clone();
        writers.spawn(async move {
            let workload =
                Workload { seed: number(SEED), weight: Weight::from_name(&value(WEIGHT)) };
            let round = value(ROUND);
            for run in 0..number(RUNS) {
                let plan = workload.plan(&format!("{round}-{time}-{writer}-{run}"));
                let run_writer = RunWriter { store: &store, workload, plan };
                // Failures were reported; the next run may succeed.
                if run_writer.write().await.is_some() {
                    run_writer.keep(&format!("agent-{round}-{writer}"), time * 1_000 + run).await;
                }
            }
        });
    }
    while let Some(result) = writers.join_next().await {
        result.expect("no writer panics");
    }
}

/// Writes one run to the store. `None` means that an operation failed.
struct RunWriter<'a> {
    store: &'a AnyStore,
    workload: Workload,
    plan: RunPlan,
}

impl RunWriter<'_> {
    async fn write(&self) -> Option<()> {
        let RunPlan { run, session, end, portions, notes, .. } = &self.plan;
        let new = Workload::session(session);
        self.run_and_report(format!("session {session}"), || {
            self.store.create_session(new.clone())
        })
        .await?;
        let lease = self.begin().await?;
        let mut last = 1;
        for (portion, count) in portions.iter().enumerate() {
            let next = last + *count as u64;
            let events: Vec<_> = (last + 1..=next).filter_map(|seq| self.plan.event(seq)).collect();
            let line = format!("appended {run} {next}");
            self.run_and_report(line, || self.store.append(run, &lease, events.clone())).await?;
            last = next;
            if portion < *notes {
                let note = self.workload.note(run, portion);
                let line = format!("noted {session} {}", note.id);
                self.run_and_report(line, || {
                    self.store.append_records(session, vec![note.clone()])
                })
                .await?;
            }
        }
        match end {
            End::Left => Some(()),
            End::Replayed | End::ByHand => self.end(lease).await,
        }
    }

    async fn begin(&self) -> Option<Lease> {
        // The lease expires at once: a sweep comes only after this process.
        let start = || self.store.start_run(self.plan.start("writer", 0));
        let run = &self.plan.run;
        match self.run_with_retry("start", start).await? {
            StartResult::New { run: row, lease } => {
                print_line(&format!("started {run} {}", row.epoch));
                Some(lease)
            }
            // An attempt that was not acknowledged, but happened.
            StartResult::Existing(row) => {
                print_line(&format!("started {run} {}", row.epoch));
                row.lease
            }
        }
    }

    async fn end(&self, lease: Lease) -> Option<()> {
        let run = &*self.plan.run;
        let authority = CloseAuthority::Holder(lease);
        let finalized = match self.plan.end {
            End::ByHand => {
                let closing = self.plan.closing(&self.workload);
                let end = || self.store.finalize(run, authority.clone(), closing.clone());
                self.run_with_retry("finalize", end).await?
            }
            End::Replayed | End::Left => {
                let ended = EventPayload::Ended(self.plan.ended());
                let end = || close_run(self.store, run, ended.clone(), authority.clone());
                self.run_with_retry("close", end).await?
            }
        };
        let (FinalizeResult::Recorded(row) | FinalizeResult::AlreadyEnded(row)) = finalized;
        let head = self.run_with_retry("head", || self.store.log_head(run)).await??;
        let chain: String = head.chain.iter().map(|byte| format!("{byte:02x}")).collect();
        print_line(&format!("ended {run} {} {chain}", row.last));
        Some(())
    }

    async fn keep(&self, name: &str, version: u64) {
        let session = &self.plan.session;
        let snapshot = self.workload.snapshot(name, version);
        let line = format!("kept {session} {name} {version}");
        self.run_and_report(line, || self.store.put_snapshot(session, snapshot.clone())).await;
    }

    /// Runs an operation, and reports it once the store has acknowledged it.
    async fn run_and_report<T, F>(&self, line: String, operation: impl Fn() -> F) -> Option<()>
    where
        F: Future<Output = Result<T>>,
    {
        if value(HONEST) == "no" {
            print_line(&line);
        }
        self.run_with_retry(&line, operation).await?;
        print_line(&line);
        Some(())
    }

    /// Runs an operation, with retries if the store is unavailable.
    async fn run_with_retry<T, F>(&self, what: &str, operation: impl Fn() -> F) -> Option<T>
    where
        F: Future<Output = Result<T>>,
    {
        for _ in 0..TRIES {
            match operation().await {
                Ok(done) => return Some(done),
                Err(error @ StoreError::Unavailable(_)) => print_line(&failed(what, &error)),
                Err(error) => {
                    print_line(&failed(what, &error));
                    return None;
                }
            }
        }
        None
    }
}
