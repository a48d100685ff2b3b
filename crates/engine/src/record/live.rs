//! One run that the store has begun and that is ours: what its story says goes to the store.

use std::{future::Future, sync::Arc, time::Duration};

use foxwedge_run::{Body, Event, Outcome};
use foxwedge_store::{
    AnyStore, Authority, Closing, Finalized, Lease, NewRecord, Result, RunRow, Store, StoreError,
};
use tokio::time::Instant;

use super::story::Story;

/// How long a run is ours without a sign of life, in milliseconds.
pub(super) const LEASE: u64 = 60_000;

/// How long is waited before something is tried again that a store could not do just now.
pub(super) const PAUSES: [u64; 4] = [50, 200, 1_000, 2_000];

/// A run that is ours.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) run: Arc<str>,
    pub(super) session: Arc<str>,
    epoch: u64,
    lease: Lease,
    /// When the lease was renewed last.
    renewed: Instant,
    pub(super) story: Story,
}

/// Whether a run is still ours behind something that was done.
#[derive(Debug)]
pub(super) enum Kept {
    /// It goes on.
    Open(Box<Live>),
    /// It has ended, so.
    Ended(Outcome),
    /// Somebody else ended it, or has it.
    Taken,
}

impl Live {
    /// A run that the store has begun, with what was told of it.
    pub(super) fn new(row: &RunRow, story: Story, lease: Lease) -> Live {
        Live {
            run: story.run.clone(),
            session: row.session.as_str().into(),
            epoch: row.epoch,
            lease,
            renewed: Instant::now(),
            story,
        }
    }

    /// Writes what is new, and the end if there is one.
    ///
    /// # Errors
    /// If the store cannot.
    pub(super) async fn save(
        mut self: Box<Self>,
        store: &AnyStore,
        records: Vec<NewRecord>,
    ) -> Result<Kept> {
        let done = match self.story.news(Some(self.epoch)) {
            (events, Some((ended, summary))) => {
                let closing = Closing { events, ended, summary, records };
                return finalize(store, &self.run, &self.lease, closing).await;
            }
            (events, None) => {
                // Together, so that one commit takes both.
                let (events, records) = tokio::join!(
                    append(store, &self.run, &self.lease, events),
                    keep(store, &self.session, records),
                );
                events.and(records)
            }
        };
        match done {
            Ok(()) => Ok(Kept::Open(self)),
            Err(error) => taken(error),
        }
    }

    /// Keeps the run, if it was not kept for a while.
    ///
    /// # Errors
    /// If the store cannot.
    pub(super) async fn renew(mut self: Box<Self>, store: &AnyStore) -> Result<Kept> {
        let now = Instant::now();
        match again(|| store.renew(&self.run, &self.lease, LEASE)).await {
            Ok(()) => {
                self.renewed = now;
                Ok(Kept::Open(self))
            }
            Err(error) => taken(error),
        }
    }

    /// Whether its lease should be renewed.
    pub(super) fn is_stale(&self, now: Instant) -> bool {
        now.duration_since(self.renewed) >= Duration::from_millis(LEASE / 2)
    }
}

async fn append(store: &AnyStore, run: &str, lease: &Lease, events: Vec<Event>) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    again(|| store.append(run, lease, events.clone())).await.map(drop)
}

async fn keep(store: &AnyStore, session: &str, records: Vec<NewRecord>) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    again(|| store.append_records(session, records.clone())).await.map(drop)
}

async fn finalize(
    store: &AnyStore,
    run: &str,
    lease: &Lease,
    mut closing: Closing,
) -> Result<Kept> {
    let outcome = closing.ended.outcome.unwrap_or(Outcome::Failed);
    let authority = Authority::Holder(lease.clone());
    let finalize = |closing: &Closing| store.finalize(run, authority.clone(), closing.clone());
    let done = match again(|| finalize(&closing)).await {
        // More than a store takes: the end itself always fits.
        Err(StoreError::Invalid(_) | StoreError::Conflict(_)) => {
            shorten(&mut closing);
            again(|| finalize(&closing)).await
        }
        done => done,
    };
    match done {
        Ok(Finalized::Won(_)) => Ok(Kept::Ended(outcome)),
        // The acknowledgement was lost, and it was our end.
        Ok(Finalized::Lost(row)) if row.state.outcome() == Some(outcome) => {
            Ok(Kept::Ended(outcome))
        }
        Ok(Finalized::Lost(_)) => Ok(Kept::Taken),
        Err(error) => taken(error),
    }
}

/// Leaves out what can be left out.
pub(super) fn shorten(closing: &mut Closing) {
    closing.records.clear();
    closing.ended.text = None;
    for event in &mut closing.events {
        if let Body::Ended(ended) = &mut event.body {
            ended.text = None;
        }
    }
}

fn taken(error: StoreError) -> Result<Kept> {
    match error {
        StoreError::Ended(_) | StoreError::Fenced { .. } | StoreError::NoRun(_) => Ok(Kept::Taken),
        error => Err(error),
    }
}

/// Tries again what a store could not do just now. Telling a store something twice does no harm.
pub(crate) async fn again<T, F: Future<Output = Result<T>>>(
    mut work: impl FnMut() -> F,
) -> Result<T> {
    for pause in PAUSES {
        match work().await {
            Err(StoreError::Unavailable(_)) => {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            done => return done,
        }
    }
    work().await
}
