//! Replays a run's log through the run machine, to end the run and to get its messages.

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Run, RunEffect, RunEnd, RunEvent, RunSummary,
    SessionMachine, SharedId, history,
};

use crate::{Lease, NewRecord, Result, RunClosing, RunRow, Store, StoreError, chain, clock};

/// Events read per page.
const PAGE: usize = 1_000;

/// How often to retry a log that the database engine cannot read.
const READ_ATTEMPTS: usize = 3;

/// The records that a run leaves in its session: its messages, each the parent of the next.
/// `parent` is the record before the first.
pub fn run_records(run: &Run, parent: Option<&str>) -> Vec<NewRecord> {
    let mut parent = parent.map(str::to_owned);
    let mut records = Vec::new();
    for (index, message) in history(run).iter().enumerate() {
        let id = format!("{}-{}", run.epoch(), index + 1);
        records.push(NewRecord {
            id: id.clone(),
            parent: parent.replace(id),
            run: Some(run.id().to_string()),
            kind: "message".to_owned(),
            body: message.value().to_string(),
        });
    }
    records
}

/// A run's log, applied to a machine.
#[derive(Clone)]
pub(crate) struct RunReplay {
    run: SharedId,
    session: SessionMachine,
    /// Sequence number of the last event that was read.
    last: u64,
    now: u64,
    end: Option<(RunEnd, RunSummary)>,
}

impl RunReplay {
    /// A replay that has read nothing yet.
    pub(crate) fn new(run: &RunRow) -> RunReplay {
        let session = SessionMachine::new(MachineSettings::default());
        let (run, now) = (run.id.as_str().into(), clock::now());
        RunReplay { run, session, last: 0, now, end: None }
    }

    /// Reads the rest of the log, up to its end or to damage. Returns a description of the damage,
    /// if any. Renews the lease meanwhile if `holder` is given.
    pub(crate) async fn read<S: Store>(
        &mut self,
        store: &S,
        holder: Option<(&Lease, u64)>,
    ) -> Result<Option<String>> {
        let (mut limit, mut failures) = (PAGE, 0);
        loop {
            match store.events(&self.run, self.last, limit).await {
                Ok(page) => {
                    let Some(last) = page.last() else { return Ok(None) };
                    self.last = last.seq;
                    let full = page.len() == PAGE;
                    page.into_iter().for_each(|stored| {
                        self.apply_input(MachineInput::Event(stored.event));
                    });
                    if let (true, Some((lease, ttl))) = (full, holder) {
                        store.renew(&self.run, lease, ttl).await?;
                    }
                }
                // Read one by one, to find the damaged event.
                Err(error) if chain::is_damage(&error) && limit > 1 => limit = 1,
                Err(error) if chain::is_damage(&error) => return Ok(Some(error.to_string())),
                // What looks like damage may be a temporary error of the disk.
                Err(error @ StoreError::Corrupt { .. }) => {
                    failures += 1;
                    if failures == READ_ATTEMPTS {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Applies the end after the log. Returns `None` if the log has no start of the run.
    pub(crate) fn end_run(&mut self, end: EventPayload) -> Option<RunClosing> {
        let end = RunEvent { at: Some(self.now), ..RunEvent::new(&self.run, end) };
        let mut events = self.apply_input(MachineInput::Event(end));
        // A request to stop may give tools some time; here no tool runs any more.
        while self.end.is_none() {
            let Some(deadline) = self.session.deadline().filter(|moment| *moment > self.now) else {
                break;
            };
            self.now = deadline;
            events.extend(self.apply_input(MachineInput::Tick));
        }
        let (ended, summary) = self.end.clone()?;
        events.retain(|event| event.seq.is_some_and(|seq| seq > self.last));
        Some(RunClosing { events, ended, summary, records: Vec::new() })
    }

    /// The records that the run leaves in its session after `parent`, without the first `existing`
    /// messages.
    pub(crate) fn records(&self, parent: Option<&str>, existing: usize) -> Vec<NewRecord> {
        let run = self.session.run(&self.run);
        let mut records = run.map(|run| run_records(run, parent)).unwrap_or_default();
        records.drain(..existing.min(records.len()));
        if let Some(first) = records.first_mut() {
            first.parent = parent.map(str::to_owned);
        }
        records
    }

    /// Applies an input and returns the events for the log.
    fn apply_input(&mut self, input: MachineInput) -> Vec<RunEvent> {
        let mut effects = Vec::new();
        self.session.apply(self.now, input, &mut effects);
        let mut emitted = Vec::new();
        for effect in effects {
            match effect {
                RunEffect::Emit(event) => emitted.push(event),
                RunEffect::Announce { ended, summary, .. } => self.end = Some((ended, summary)),
                RunEffect::Show { .. }
                | RunEffect::Resolve { .. }
                | RunEffect::CancelTool { .. }
                | RunEffect::Drain { .. }
                | RunEffect::Warn(_) => {}
            }
        }
        emitted
    }
}

/// An end without other events.
pub(crate) fn bare_closing(run: &RunRow, ended: RunEnd, summary: RunSummary) -> RunClosing {
    let event = RunEvent {
        epoch: Some(run.epoch),
        seq: Some(run.last + 1),
        ..RunEvent::new(&run.id.as_str().into(), EventPayload::Ended(ended.clone()))
    };
    RunClosing { events: vec![event], ended, summary, records: Vec::new() }
}
