//! Records followed runs. Every event is stored before it is shown, and the end is recorded once.

use std::{collections::HashMap, future::Future, time::Duration};

use foxwedge_run::{
    EventPayload, RunEffect, RunEnd, RunEvent, RunStart, RunSummary, SessionMachine, SharedId,
};
use foxwedge_store::{
    CloseAuthority, FinalizeResult, Lease, NewRecord, NewRun, NewSession, RunClosing, RunRow,
    StartResult as StartedRun, Store, StoreError, run_records,
};
use tokio::sync::mpsc;

use super::{batch, lease_renewal::FollowLeaseRenewal};
use foxwedge_local::{
    output::HelpfulError,
    runs::{LEASE, OpenStore, current_owner, is_store_id, to_store_id},
};

/// Pauses between retries while the store is unavailable.
const RETRY_PAUSES_MILLIS: [u64; 5] = [100, 300, 1_000, 3_000, 5_000];

/// Records the runs of one stream in a store.
pub(super) struct FollowRecorder {
    pub(super) open_store: OpenStore,
    /// The session from `--session`.
    named_session: Option<String>,
    /// The session of this stream.
    session: Option<String>,
    runs: HashMap<SharedId, FollowedRun>,
    /// Problems that did not stop the recording.
    pub(super) notes: Vec<String>,
    lost_sender: mpsc::UnboundedSender<SharedId>,
    lost_runs: mpsc::UnboundedReceiver<SharedId>,
}

/// A run that this process records.
struct FollowedRun {
    epoch: u64,
    lease: Lease,
    /// Renews the lease until it is dropped.
    _renewal: FollowLeaseRenewal,
    pending: Vec<RunEvent>,
    end: Option<(RunEnd, RunSummary)>,
}

/// Why the recording of a run ended.
pub(super) enum FollowRecordError {
    /// Another process ended it or holds its lease.
    TakenOver(SharedId),
    /// The store failed.
    StoreFailed(anyhow::Error),
}

impl FollowRecorder {
    pub(super) fn new(open_store: OpenStore, named_session: Option<String>) -> FollowRecorder {
        let (lost_sender, lost_runs) = mpsc::unbounded_channel();
        let (runs, session) = (HashMap::new(), None);
        FollowRecorder {
            open_store,
            named_session,
            session,
            runs,
            notes: Vec::new(),
            lost_sender,
            lost_runs,
        }
    }

    /// The session that runs are recorded in, once it is known.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Waits for a run that another process has ended or taken over.
    pub(super) async fn next_lost_run(&mut self) -> Option<SharedId> {
        self.lost_runs.recv().await
    }

    /// Prepares an event for the machine. A new run starts in the store first, which assigns its
    /// epoch.
    pub(super) async fn prepare_event(&mut self, event: &mut RunEvent) -> anyhow::Result<()> {
        if let Some(run_state) = self.runs.get(&event.run) {
            event.epoch = Some(run_state.epoch);
            return Ok(());
        }
        let EventPayload::Started(started) = &mut event.body else { return Ok(()) };
        let session = self.make_session(started, &event.run).await?;
        started.session = Some(session.as_str().into());
        let new_run = NewRun {
            id: event.run.to_string(),
            session,
            key: None,
            owner: current_owner(),
            ttl: LEASE,
            start: started.clone(),
            at: event.at,
        };
        let (row, lease) = match self
            .open_store
            .with_store_error(self.open_store.store.start_run(new_run).await)?
        {
            StartedRun::New { run, lease } => (run, lease),
            StartedRun::Existing(row) => return Err(run_exists_error(&row).into()),
        };
        event.epoch = Some(row.epoch);
        let renewal = FollowLeaseRenewal::new(
            &self.open_store.store,
            &event.run,
            &lease,
            self.lost_sender.clone(),
        );
        let run_state = FollowedRun {
            epoch: row.epoch,
            lease,
            _renewal: renewal,
            pending: Vec::new(),
            end: None,
        };
        self.runs.insert(event.run.clone(), run_state);
        Ok(())
    }

    /// Stores the effects of one batch of input.
    pub(super) async fn record_effects(
        &mut self,
        machine: &SessionMachine,
        effects: &[RunEffect],
    ) -> Result<(), FollowRecordError> {
        let mut touched: Vec<SharedId> = Vec::new();
        for effect in effects {
            match effect {
                RunEffect::Emit(event) => {
                    let Some(run_state) = self.runs.get_mut(&event.run) else { continue };
                    // The store has already written the start event.
                    if event.seq > Some(1) {
                        run_state.pending.push(event.clone());
                    }
                    if !touched.contains(&event.run) {
                        touched.push(event.run.clone());
                    }
                }
                RunEffect::Announce { run, ended, summary } => {
                    if let Some(run_state) = self.runs.get_mut(run) {
                        run_state.end = Some((ended.clone(), *summary));
                    }
                }
                RunEffect::Show { .. }
                | RunEffect::Resolve { .. }
                | RunEffect::CancelTool { .. }
                | RunEffect::Drain { .. }
                | RunEffect::Warn(_) => {}
            }
        }
        for run in touched {
            self.record_run(machine, &run).await?;
        }
        Ok(())
    }

    async fn record_run(
        &mut self,
        machine: &SessionMachine,
        run: &SharedId,
    ) -> Result<(), FollowRecordError> {
        let Some(run_state) = self.runs.get_mut(run) else { return Ok(()) };
        let (events, end) = (std::mem::take(&mut run_state.pending), run_state.end.take());
        let lease = run_state.lease.clone();
        let mut batches = batch::event_batches(events);
        let last = batches.pop().unwrap_or_default();
        for batch in batches {
            self.append_events(run, &lease, batch).await?;
        }
        let Some((ended, summary)) = end else {
            return self.append_events(run, &lease, last).await;
        };
        let records = self.session_records(machine, run).await?;
        let closing = RunClosing { events: last, ended, summary, records };
        self.finalize_run(run, lease, closing).await?;
        self.runs.remove(run);
        Ok(())
    }

    /// Stores all batches of records except the last, which is stored together with the end.
    async fn append_early_records(
        &self,
        records: Vec<NewRecord>,
    ) -> foxwedge_store::Result<Vec<NewRecord>> {
        let mut batches = batch::record_batches(records);
        let last = batches.pop().unwrap_or_default();
        let (Some(session), store) = (&self.session, &self.open_store.store) else {
            return Ok(last);
        };
        for batch in batches {
            retry_unavailable(|| store.append_records(session, batch.clone())).await?;
        }
        Ok(last)
    }

    async fn append_events(
        &self,
        run: &SharedId,
        lease: &Lease,
        events: Vec<RunEvent>,
    ) -> Result<(), FollowRecordError> {
        if events.is_empty() {
            return Ok(());
        }
        let store = &self.open_store.store;
        let stored = retry_unavailable(|| store.append(run, lease, events.clone())).await;
        stored.map(drop).map_err(|error| self.record_error(error))
    }

    async fn finalize_run(
        &mut self,
        run: &SharedId,
        lease: Lease,
        closing: RunClosing,
    ) -> Result<(), FollowRecordError> {
        let without_records = RunClosing { records: Vec::new(), ..closing.clone() };
        let authority = CloseAuthority::Holder(lease);
        let store = self.open_store.store.clone();
        let finalize =
            |closing: &RunClosing| store.finalize(run, authority.clone(), closing.clone());
        let first_try = match self.append_early_records(closing.records).await {
            Ok(records) => {
                retry_unavailable(|| {
                    finalize(&RunClosing { records: records.clone(), ..without_records.clone() })
                })
                .await
            }
            Err(error) => Err(error),
        };
        let result = match first_try {
            // The store refuses the session records; the end is stored without them.
            Err(StoreError::Invalid(error)) => {
                self.notes.push(format!(
                    "the history of run `{run}` was not added to its session: {error}"
                ));
                retry_unavailable(|| finalize(&without_records)).await
            }
            Err(StoreError::Conflict(id)) => {
                self.notes.push(format!(
                    "the history of run `{run}` was not added to its session: `{id}` already \
                     exists"
                ));
                retry_unavailable(|| finalize(&without_records)).await
            }
            result => result,
        };
        match result {
            Ok(FinalizeResult::Recorded(_)) => Ok(()),
            // The store recorded our end before, but its acknowledgement was lost.
            Ok(FinalizeResult::AlreadyEnded(row)) if is_own_end(&row, &without_records) => Ok(()),
            Ok(FinalizeResult::AlreadyEnded(_)) => Err(FollowRecordError::TakenOver(run.clone())),
            Err(error) => Err(self.record_error(error)),
        }
    }

    /// The records that a run appends to its session.
    async fn session_records(
        &self,
        machine: &SessionMachine,
        run: &SharedId,
    ) -> Result<Vec<NewRecord>, FollowRecordError> {
        let (Some(run), Some(session)) = (machine.run(run), &self.session) else {
            return Ok(Vec::new());
        };
        let store = &self.open_store.store;
        let row = retry_unavailable(|| store.session(session))
            .await
            .map_err(|error| self.record_error(error))?;
        let count = row.map_or(0, |row| row.records);
        let newest = retry_unavailable(|| store.records(session, count.saturating_sub(1), 1)).await;
        let newest = newest.map_err(|error| self.record_error(error))?;
        Ok(run_records(run, newest.first().map(|record| record.record.id.as_str())))
    }

    async fn make_session(&mut self, started: &RunStart, run: &SharedId) -> anyhow::Result<String> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let id = match (&self.named_session, &started.session) {
            (Some(id), _) if is_store_id(id) => id.clone(),
            (Some(id), _) => {
                return Err(HelpfulError::new(format!("`{id}` is not a valid session id"))
                    .help("an id has 1 to 128 characters of A-Z a-z 0-9 _ -")
                    .into());
            }
            (None, Some(source_id)) => to_store_id(source_id),
            (None, None) => to_store_id(run),
        };
        let new_session = NewSession { id: id.clone(), ..NewSession::default() };
        self.open_store
            .with_store_error(self.open_store.store.create_session(new_session).await)?;
        self.session = Some(id.clone());
        Ok(id)
    }

    fn record_error(&self, error: StoreError) -> FollowRecordError {
        match error {
            StoreError::Ended(row) => FollowRecordError::TakenOver(row.id.as_str().into()),
            StoreError::Fenced { run, .. } => FollowRecordError::TakenOver(run.as_str().into()),
            error => match self.open_store.with_store_error::<()>(Err(error)) {
                Err(error) => FollowRecordError::StoreFailed(error),
                Ok(()) => FollowRecordError::StoreFailed(anyhow::anyhow!("the store failed")),
            },
        }
    }
}

fn run_exists_error(row: &RunRow) -> HelpfulError {
    HelpfulError::new(format!("run `{}` already exists", row.id))
        .help(format!("omit --run, or choose another id; `foxwedge runs show {}` shows it", row.id))
}

/// Whether the stored end is the one that this process tried to record.
fn is_own_end(row: &RunRow, closing: &RunClosing) -> bool {
    let last = closing.events.last().and_then(|event| event.seq);
    let same = row.state.outcome() == closing.ended.outcome;
    same && last.is_some_and(|last| last == row.last)
}

/// Retries while the store is unavailable. Store operations are idempotent.
async fn retry_unavailable<T, F: Future<Output = foxwedge_store::Result<T>>>(
    mut work: impl FnMut() -> F,
) -> foxwedge_store::Result<T> {
    for pause in RETRY_PAUSES_MILLIS {
        match work().await {
            Err(StoreError::Unavailable(_)) => {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            result => return result,
        }
    }
    work().await
}
