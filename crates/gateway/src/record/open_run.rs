//! A run in the store that this process owns: its log is written to the store.

use std::{sync::Arc, time::Duration};

use foxwedge_run::{EventPayload, Outcome, RunEvent};
use foxwedge_store::{
    AnyStore, CloseAuthority, FinalizeResult, Lease, NewRecord, Result, RunClosing, RunRow,
    RunState, Store, StoreError, retry_unavailable,
};
use tokio::time::{Instant, timeout};

use super::run_log::RunLog;

/// The duration of a lease, in milliseconds.
pub(super) const LEASE_MILLIS: u64 = 60_000;

/// How long the writer waits for the answer whether a run is open.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// How many events are read at a time.
const EVENTS_PER_READ: usize = 1_000;

/// A run that this process owns.
#[derive(Debug)]
pub(super) struct OpenRun {
    pub(super) run: Arc<str>,
    pub(super) session: Arc<str>,
    epoch: u64,
    lease: Lease,
    /// When the lease was renewed last.
    renewed_at: Instant,
    pub(super) log: RunLog,
}

/// Whether a run is still owned after an operation.
#[derive(Debug)]
pub(super) enum RunOwnership {
    /// It is open.
    Open(Box<OpenRun>),
    /// It has ended.
    Ended(Outcome),
    /// Another process has ended it or owns it. The outcome, if it is known.
    Taken(Option<Outcome>),
}

impl OpenRun {
    /// An open run for a row of the store, with its log.
    pub(super) fn new(row: &RunRow, log: RunLog, lease: Lease) -> OpenRun {
        OpenRun {
            run: log.run.clone(),
            session: row.session.as_str().into(),
            epoch: row.epoch,
            lease,
            renewed_at: Instant::now(),
            log,
        }
    }

    /// A run that another node has started. `None` if it does not exist.
    ///
    /// # Errors
    /// If its log cannot be read.
    pub(super) async fn adopt(
        store: &AnyStore,
        run: &Arc<str>,
        lease: Lease,
    ) -> Result<Option<Box<OpenRun>>> {
        let Some(row) = store.run(run).await? else { return Ok(None) };
        let mut log = RunLog::resume(run);
        let mut last = 0;
        loop {
            let events = store.events(run, last, EVENTS_PER_READ).await?;
            let Some(newest) = events.last() else { break };
            last = newest.seq;
            events.into_iter().for_each(|stored| log.replay_event(stored.event));
        }
        Ok(Some(Box::new(OpenRun::new(&row, log, lease))))
    }

    /// Writes the new events, and the end if there is one.
    ///
    /// # Errors
    /// If the store fails.
    pub(super) async fn save_events(
        mut self: Box<Self>,
        store: &AnyStore,
        records: Vec<NewRecord>,
    ) -> Result<RunOwnership> {
        let result = match self.log.take_new_events(Some(self.epoch)) {
            (events, Some((ended, summary))) => {
                let closing = RunClosing { events, ended, summary, records };
                return finalize(store, &self.run, &self.lease, closing).await;
            }
            (events, None) => {
                // Concurrently, so that one commit takes both.
                let (events, records) = tokio::join!(
                    append_events(store, &self.run, &self.lease, events),
                    append_records(store, &self.session, records),
                );
                events.and(records)
            }
        };
        match result {
            Ok(()) => Ok(RunOwnership::Open(self)),
            Err(error) => taken_or_error(error),
        }
    }

    /// Renews the lease.
    ///
    /// # Errors
    /// If the store fails.
    pub(super) async fn renew_lease(mut self: Box<Self>, store: &AnyStore) -> Result<RunOwnership> {
        let now = Instant::now();
        match retry_unavailable(|| store.renew(&self.run, &self.lease, LEASE_MILLIS)).await {
            Ok(()) => {
                self.renewed_at = now;
                Ok(RunOwnership::Open(self))
            }
            Err(error) => taken_or_error(error),
        }
    }

    /// Checks whether another process has ended the run. Of a store that does not answer soon, nothing
    /// is known.
    pub(super) async fn check(self: Box<Self>, store: &AnyStore) -> RunOwnership {
        match timeout(CHECK_TIMEOUT, store.run(&self.run)).await {
            Ok(Ok(Some(row))) if row.state != RunState::Open => {
                RunOwnership::Taken(row.state.outcome())
            }
            Ok(Ok(None)) => RunOwnership::Taken(None),
            Ok(Ok(Some(_)) | Err(_)) | Err(_) => RunOwnership::Open(self),
        }
    }

    /// Whether its lease should be renewed.
    pub(super) fn is_stale(&self, now: Instant) -> bool {
        now.duration_since(self.renewed_at) >= Duration::from_millis(LEASE_MILLIS / 2)
    }
}

async fn append_events(
    store: &AnyStore,
    run: &str,
    lease: &Lease,
    events: Vec<RunEvent>,
) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    retry_unavailable(|| store.append(run, lease, events.clone())).await.map(drop)
}

async fn append_records(store: &AnyStore, session: &str, records: Vec<NewRecord>) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    retry_unavailable(|| store.append_records(session, records.clone())).await.map(drop)
}

async fn finalize(
    store: &AnyStore,
    run: &str,
    lease: &Lease,
    mut closing: RunClosing,
) -> Result<RunOwnership> {
    let outcome = closing.ended.outcome.unwrap_or(Outcome::Failed);
    let authority = CloseAuthority::Holder(lease.clone());
    let finalize = |closing: &RunClosing| store.finalize(run, authority.clone(), closing.clone());
    let result = match retry_unavailable(|| finalize(&closing)).await {
        // Too large for the store: the end itself always fits.
        Err(StoreError::Invalid(_) | StoreError::Conflict(_)) => {
            drop_optional_content(&mut closing);
            retry_unavailable(|| finalize(&closing)).await
        }
        result => result,
    };
    match result {
        Ok(FinalizeResult::Recorded(_)) => Ok(RunOwnership::Ended(outcome)),
        // The acknowledgement was lost, and it was our own end.
        Ok(FinalizeResult::AlreadyEnded(row)) if row.state.outcome() == Some(outcome) => {
            Ok(RunOwnership::Ended(outcome))
        }
        Ok(FinalizeResult::AlreadyEnded(row)) => Ok(RunOwnership::Taken(row.state.outcome())),
        Err(error) => taken_or_error(error),
    }
}

/// Drops content that is not required.
pub(super) fn drop_optional_content(closing: &mut RunClosing) {
    closing.records.clear();
    closing.ended.text = None;
    for event in &mut closing.events {
        if let EventPayload::Ended(ended) = &mut event.body {
            ended.text = None;
        }
    }
}

fn taken_or_error(error: StoreError) -> Result<RunOwnership> {
    match error {
        StoreError::Ended(row) => Ok(RunOwnership::Taken(row.state.outcome())),
        StoreError::Fenced { .. } | StoreError::NoRun(_) => Ok(RunOwnership::Taken(None)),
        error => Err(error),
    }
}
