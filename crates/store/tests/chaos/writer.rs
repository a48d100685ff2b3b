//! A process that writes: several writers at once, so that commits come in groups. Whatever the
//! store has acknowledged it says, and nothing else.

use std::{future::Future, sync::Arc};

use foxwedge_run::EventPayload;
use foxwedge_store::{
    AnyStore, ArchiveStore, CloseAuthority, FinalizeResult, Lease, Result, StartResult, Store,
    StoreError, close_run, sweep,
};
use tokio::task::JoinSet;

use crate::{
    process::{number, say, told, value},
    settings::wait_for,
    story::{End, Story, Tale, Weight},
};

pub(crate) const PART: &str = "writer";

/// Where the store is.
pub(crate) const STORE: &str = "FOXWEDGE_CHAOS_STORE";
/// The seed of the story.
pub(crate) const SEED: &str = "FOXWEDGE_CHAOS_STORY";
/// How much is written at once.
pub(crate) const WEIGHT: &str = "FOXWEDGE_CHAOS_WEIGHT";
/// What the names of runs begin with.
pub(crate) const ROUND: &str = "FOXWEDGE_CHAOS_ROUND";
/// How many write at once.
pub(crate) const WRITERS: &str = "FOXWEDGE_CHAOS_WRITERS";
/// How many runs each of them writes each time.
pub(crate) const RUNS: &str = "FOXWEDGE_CHAOS_RUNS";
/// How often the store is opened and closed.
pub(crate) const TIMES: &str = "FOXWEDGE_CHAOS_TIMES";
/// Whether it is honest: a liar says that something is done before it is.
pub(crate) const HONEST: &str = "FOXWEDGE_CHAOS_HONEST";

/// How often something is tried that the store could not do.
const TRIES: usize = 3;

/// Writes until everything is written.
pub(crate) fn play() {
    let _told = told();
    wait_for(async {
        for time in 0..number(TIMES) {
            match AnyStore::open(&value(STORE).parse().expect("an address")).await {
                Ok(store) => write(Arc::new(store), time).await,
                Err(error) => say(&failed("open", &error)),
            }
        }
    });
    say("done");
}

/// Why something was not done.
fn failed(what: &str, error: &StoreError) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    format!("failed {what}: {error}: {source}").replace('\n', " ")
}

async fn write(store: Arc<AnyStore>, time: u64) {
    say("opened");
    // Whoever was here before may have been killed.
    match sweep(&*store, "writer", 1_000).await {
        Ok(swept) => swept.iter().for_each(|swept| say(&format!("swept {}", swept.run.id))),
        Err(error) => say(&failed("sweep", &error)),
    }
    let mut writers = JoinSet::new();
    for writer in 0..number(WRITERS) {
        let store = store.clone();
        writers.spawn(async move {
            let story = Story { seed: number(SEED), weight: Weight::from_name(&value(WEIGHT)) };
            let round = value(ROUND);
            for run in 0..number(RUNS) {
                let tale = story.tale(&format!("{round}-{time}-{writer}-{run}"));
                let teller = Teller { store: &store, story, tale };
                // What could not be stored was said; the next run may fare better.
                if teller.tell().await.is_some() {
                    teller.keep(&format!("agent-{round}-{writer}"), time * 1_000 + run).await;
                }
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.expect("no writer panics");
    }
}

/// Tells one run to the store. `None` means that something could not be stored.
struct Teller<'a> {
    store: &'a AnyStore,
    story: Story,
    tale: Tale,
}

impl Teller<'_> {
    async fn tell(&self) -> Option<()> {
        let Tale { run, session, end, portions, notes, .. } = &self.tale;
        let new = Story::session(session);
        self.acknowledged(format!("session {session}"), || self.store.create_session(new.clone()))
            .await?;
        let lease = self.begin().await?;
        let mut last = 1;
        for (portion, count) in portions.iter().enumerate() {
            let next = last + *count as u64;
            let events: Vec<_> = (last + 1..=next).filter_map(|seq| self.tale.event(seq)).collect();
            let done = format!("appended {run} {next}");
            self.acknowledged(done, || self.store.append(run, &lease, events.clone())).await?;
            last = next;
            if portion < *notes {
                let note = self.story.note(run, portion);
                let done = format!("noted {session} {}", note.id);
                self.acknowledged(done, || self.store.append_records(session, vec![note.clone()]))
                    .await?;
            }
        }
        match end {
            End::Left => Some(()),
            End::Replayed | End::ByHand => self.end(lease).await,
        }
    }

    async fn begin(&self) -> Option<Lease> {
        // Nobody waits for a lease here: whoever sweeps comes after us.
        let start = || self.store.start_run(self.tale.start("writer", 0));
        let run = &self.tale.run;
        match self.done("start", start).await? {
            StartResult::New { run: row, lease } => {
                say(&format!("started {run} {}", row.epoch));
                Some(lease)
            }
            // An attempt that was not acknowledged, and took place all the same.
            StartResult::Existing(row) => {
                say(&format!("started {run} {}", row.epoch));
                row.lease
            }
        }
    }

    async fn end(&self, lease: Lease) -> Option<()> {
        let run = &*self.tale.run;
        let authority = CloseAuthority::Holder(lease);
        let finalized = match self.tale.end {
            End::ByHand => {
                let closing = self.tale.closing(&self.story);
                let end = || self.store.finalize(run, authority.clone(), closing.clone());
                self.done("finalize", end).await?
            }
            End::Replayed | End::Left => {
                let ended = EventPayload::Ended(self.tale.ended());
                let end = || close_run(self.store, run, ended.clone(), authority.clone());
                self.done("close", end).await?
            }
        };
        let (FinalizeResult::Recorded(row) | FinalizeResult::AlreadyEnded(row)) = finalized;
        let head = self.done("head", || self.store.log_head(run)).await??;
        let chain: String = head.chain.iter().map(|byte| format!("{byte:02x}")).collect();
        say(&format!("ended {run} {} {chain}", row.last));
        Some(())
    }

    async fn keep(&self, name: &str, version: u64) {
        let session = &self.tale.session;
        let snapshot = self.story.snapshot(name, version);
        let done = format!("kept {session} {name} {version}");
        self.acknowledged(done, || self.store.put_snapshot(session, snapshot.clone())).await;
    }

    /// Does something, and says so once the store has acknowledged it.
    async fn acknowledged<T, F>(&self, line: String, work: impl Fn() -> F) -> Option<()>
    where
        F: Future<Output = Result<T>>,
    {
        if value(HONEST) == "no" {
            say(&line);
        }
        self.done(&line, work).await?;
        say(&line);
        Some(())
    }

    /// Does something, again if the store could not.
    async fn done<T, F>(&self, what: &str, work: impl Fn() -> F) -> Option<T>
    where
        F: Future<Output = Result<T>>,
    {
        for _ in 0..TRIES {
            match work().await {
                Ok(done) => return Some(done),
                Err(error @ StoreError::Unavailable(_)) => say(&failed(what, &error)),
                Err(error) => {
                    say(&failed(what, &error));
                    return None;
                }
            }
        }
        None
    }
}
