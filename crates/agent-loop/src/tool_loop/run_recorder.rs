//! Records one run: events go through the run machine into the store, and only then to the
//! observer.

use std::{sync::Arc, time::SystemTime};

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Run, RunEffect, RunEnd, RunEvent, RunSummary,
    SessionMachine, SharedId,
};
use foxwedge_store::{
    CloseAuthority, FinalizeResult, Lease, NewRecord, RunClosing, RunRow, Store, StoreError,
};
use tokio::time::Instant;

use super::{FinishedRun, LoopError, LoopEvent, LoopLimits, LoopNotice, LoopObserver};
use foxwedge_store::retry_unavailable;

/// Events per read.
const EVENT_PAGE: usize = 1_000;

/// Records the events of one run in progress.
pub(super) struct RunRecorder<'a, S> {
    store: Arc<S>,
    observer: &'a mut dyn LoopObserver,
    run: SharedId,
    epoch: u64,
    lease: Lease,
    machine: SessionMachine,
    /// Events that are not in the store yet.
    unsaved: Vec<RunEvent>,
    /// Effects that the observer has not seen yet.
    unpublished: Vec<RunEffect>,
    /// Sequence number of the last stored event.
    last_sequence: u64,
    end: Option<(RunEnd, RunSummary)>,
    /// When the lease was renewed last.
    lease_renewed: Instant,
}

/// Why a run can no longer be recorded.
#[derive(Debug)]
pub(super) enum RunRecordError {
    /// Another process ended it, or holds its lease.
    TakenOver,
    /// The loop failed.
    Loop(LoopError),
}

impl From<LoopError> for RunRecordError {
    fn from(error: LoopError) -> RunRecordError {
        RunRecordError::Loop(error)
    }
}

impl From<StoreError> for RunRecordError {
    fn from(error: StoreError) -> RunRecordError {
        match error {
            StoreError::Ended(_) | StoreError::Fenced { .. } | StoreError::NoRun(_) => {
                RunRecordError::TakenOver
            }
            error => RunRecordError::Loop(LoopError::Store(error)),
        }
    }
}

impl<'a, S: Store> RunRecorder<'a, S> {
    /// A recorder for a run that the store has started.
    pub(super) fn new(
        store: Arc<S>,
        row: &RunRow,
        lease: Lease,
        start: foxwedge_run::RunStart,
        observer: &'a mut dyn LoopObserver,
    ) -> RunRecorder<'a, S> {
        let run = SharedId::from(row.id.as_str());
        let mut recorder = RunRecorder {
            store,
            observer,
            run: run.clone(),
            epoch: row.epoch,
            lease,
            machine: SessionMachine::new(MachineSettings::default()),
            unsaved: Vec::new(),
            unpublished: Vec::new(),
            last_sequence: row.last,
            end: None,
            lease_renewed: Instant::now(),
        };
        let event = RunEvent {
            epoch: Some(row.epoch),
            at: Some(row.started),
            ..RunEvent::new(&run, EventPayload::Started(start))
        };
        recorder.apply(MachineInput::Event(event));
        // The store wrote the start itself.
        recorder.unsaved.clear();
        recorder
    }

    /// Applies an event to the run.
    pub(super) fn record_event(&mut self, body: EventPayload) {
        let event = RunEvent { at: Some(now_millis()), ..RunEvent::new(&self.run, body) };
        self.apply(MachineInput::Event(event));
    }

    fn apply(&mut self, input: MachineInput) {
        let mut effects = Vec::with_capacity(4);
        self.machine.apply(now_millis(), input, &mut effects);
        for effect in effects {
            match &effect {
                RunEffect::Emit(event) => self.unsaved.push(event.clone()),
                RunEffect::Announce { ended, summary, .. } => {
                    self.end = Some((ended.clone(), *summary));
                }
                RunEffect::Show { .. }
                | RunEffect::Resolve { .. }
                | RunEffect::CancelTool { .. }
                | RunEffect::Drain { .. }
                | RunEffect::Warn(_) => {}
            }
            self.unpublished.push(effect);
        }
    }

    /// The state of the run.
    pub(super) fn run(&self) -> Option<&Run> {
        self.machine.run(&self.run)
    }

    /// The run ID.
    pub(super) fn id(&self) -> &SharedId {
        &self.run
    }

    /// The number of the run in its session.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether the run machine has reached the end of the run.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Stores new events and publishes them. [`RunRecorder::finish`] stores the end of a run.
    pub(super) async fn save(&mut self) -> Result<(), RunRecordError> {
        if self.has_ended() {
            return Ok(());
        }
        if !self.unsaved.is_empty() {
            let events = &self.unsaved;
            self.last_sequence =
                retry_unavailable(|| self.store.append(&self.run, &self.lease, events.clone()))
                    .await?;
            self.unsaved.clear();
        }
        self.publish();
        Ok(())
    }

    /// Sends a notice to the observer.
    pub(super) fn notify(&mut self, notice: LoopNotice) {
        self.observer.on_event(LoopEvent::Notice(notice));
    }

    /// Checks that the run is still ours, and renews the lease when due. An unavailable store is
    /// tolerated until the lease expires.
    pub(super) async fn check_lease(&mut self, limits: &LoopLimits) -> Result<(), RunRecordError> {
        let since = self.lease_renewed.elapsed();
        let still_ours = match since >= limits.lease / 3 {
            true => {
                let ttl = u64::try_from(limits.lease.as_millis()).unwrap_or(u64::MAX);
                self.store.renew(&self.run, &self.lease, ttl).await.map(|()| {
                    self.lease_renewed = Instant::now();
                    true
                })
            }
            false => self.store.run(&self.run).await.map(|row| {
                let lease = row.and_then(|row| row.lease);
                lease.is_some_and(|lease| lease.fence == self.lease.fence)
            }),
        };
        match still_ours {
            Ok(true) => Ok(()),
            Ok(false) => Err(RunRecordError::TakenOver),
            Err(StoreError::Unavailable(_)) if since < limits.lease => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the run in the store together with its session records, and publishes the end.
    pub(super) async fn finish(
        &mut self,
        records: Vec<NewRecord>,
    ) -> Result<FinishedRun, RunRecordError> {
        let Some((ended, summary)) = self.end.clone() else {
            return Err(RunRecordError::TakenOver);
        };
        let events = std::mem::take(&mut self.unsaved);
        let closing = RunClosing { events, ended: ended.clone(), summary, records };
        let authority = CloseAuthority::Holder(self.lease.clone());
        let finalized = retry_unavailable(|| {
            self.store.finalize(&self.run, authority.clone(), closing.clone())
        })
        .await?;
        match finalized {
            FinalizeResult::Recorded(_) => {}
            // The acknowledgement of our own close was lost.
            FinalizeResult::AlreadyEnded(row) if row.state.outcome() == ended.outcome => {}
            FinalizeResult::AlreadyEnded(_) => return Err(RunRecordError::TakenOver),
        }
        self.publish();
        Ok(FinishedRun { run: self.run.to_string(), ended, summary })
    }

    /// Another process ended the run: publishes the events that it stored.
    pub(super) async fn finish_taken_over(&mut self) -> Result<FinishedRun, LoopError> {
        self.unpublished.clear();
        self.unsaved.clear();
        let mut machine = SessionMachine::new(MachineSettings::default());
        let (mut sequence, mut end) = (0, None);
        loop {
            let page = self.store.events(&self.run, sequence, EVENT_PAGE).await?;
            let Some(newest) = page.last() else { break };
            sequence = newest.seq;
            for stored in page {
                let (is_new, mut effects) = (stored.seq > self.last_sequence, Vec::new());
                machine.apply(now_millis(), MachineInput::Event(stored.event), &mut effects);
                for effect in effects {
                    if let RunEffect::Announce { ended, summary, .. } = &effect {
                        end = Some((ended.clone(), *summary));
                    }
                    if is_new {
                        self.observer.on_event(LoopEvent::Run(effect));
                    }
                }
            }
        }
        let (ended, summary) = end.unwrap_or_default();
        Ok(FinishedRun { run: self.run.to_string(), ended, summary })
    }

    fn publish(&mut self) {
        for effect in self.unpublished.drain(..) {
            self.observer.on_event(LoopEvent::Run(effect));
        }
    }
}

/// Milliseconds since the Unix epoch.
pub(super) fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
