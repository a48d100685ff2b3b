//! Checks that a store contains what was acknowledged, and nothing that was not written. Errors are
//! texts, so that a planted bug can be seen to be found.

use std::collections::{BTreeMap, BTreeSet};

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, Run, SessionMachine, history, wire,
};
use foxwedge_store::{
    ArchiveStore, ListFilter, ListPage, RawEvent, Result, RunRow, RunState, StoredRecord,
    verify_log,
};

use crate::{
    ledger::{AcknowledgedEnd, AcknowledgedRun, Ledger},
    story::{End, Workload},
};

/// Rows read per page.
const PAGE: usize = 500;

/// Runs that were checked before, have ended, and need no further check.
pub(crate) type Settled = BTreeSet<String>;

/// All errors of a store, compared with the acknowledgements and the workload.
pub(crate) async fn breaches<A: ArchiveStore>(
    store: &A,
    workload: &Workload,
    ledger: &Ledger,
    settled: &Settled,
) -> Vec<String> {
    let mut judge = Judge { store, workload, settled, breaches: Vec::new() };
    if let Err(error) = judge.all(ledger).await {
        judge.breach(format!("the store cannot be read: {error:?}"));
    }
    judge.breaches
}

/// All errors after everything that was left open has been closed.
pub(crate) async fn breaches_after_close<A: ArchiveStore>(
    store: &A,
    workload: &Workload,
    settled: &Settled,
) -> Vec<String> {
    let mut judge = Judge { store, workload, settled, breaches: Vec::new() };
    if let Err(error) = judge.closed().await {
        judge.breach(format!("the store cannot be read: {error:?}"));
    }
    judge.breaches
}

/// All runs of a store.
pub(crate) async fn runs<A: ArchiveStore>(store: &A) -> Result<Vec<RunRow>> {
    let mut page = ListPage { after: None, limit: PAGE };
    let mut runs = Vec::new();
    loop {
        let more = store.runs(ListFilter::default(), page.clone()).await?;
        let Some(last) = more.last() else { return Ok(runs) };
        page.after = Some(last.id.clone());
        runs.extend(more);
    }
}

/// The log of a run, unverified.
pub(crate) async fn log<A: ArchiveStore>(store: &A, run: &str) -> Result<Vec<RawEvent>> {
    let mut events: Vec<RawEvent> = Vec::new();
    loop {
        let after = events.last().map_or(0, |last| last.seq);
        let more = store.raw_events(run, after, PAGE).await?;
        if more.is_empty() {
            return Ok(events);
        }
        events.extend(more);
    }
}

/// All records of a session.
pub(crate) async fn records<A: ArchiveStore>(
    store: &A,
    session: &str,
) -> Result<Vec<StoredRecord>> {
    let mut records: Vec<StoredRecord> = Vec::new();
    loop {
        let after = records.last().map_or(0, |last| last.ordinal);
        let more = store.records(session, after, PAGE).await?;
        if more.is_empty() {
            return Ok(records);
        }
        records.extend(more);
    }
}

/// The run after the machine has read its log.
pub(crate) fn replayed(run: &str, log: &[RawEvent]) -> Option<Run> {
    let mut session = SessionMachine::new(MachineSettings::default());
    for event in log {
        session.apply(0, MachineInput::Event(wire::read(&event.body).ok()?), &mut Vec::new());
    }
    session.run(run).cloned()
}

struct Judge<'a, A> {
    store: &'a A,
    workload: &'a Workload,
    settled: &'a Settled,
    breaches: Vec<String>,
}

impl<A: ArchiveStore> Judge<'_, A> {
    fn breach(&mut self, what: impl Into<String>) {
        self.breaches.push(what.into());
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.breach(what());
        }
    }

    async fn all(&mut self, ledger: &Ledger) -> Result<()> {
        for error in self.store.examine().await? {
            self.breach(format!("the engine complains: {error}"));
        }
        let mut stored = BTreeMap::new();
        for run in runs(self.store).await? {
            let is_settled = self.settled.contains(&run.id);
            let matching = if is_settled { u64::MAX } else { self.run(&run).await? };
            stored.insert(run.id.clone(), (run, matching));
        }
        for (id, acked) in &ledger.runs {
            match stored.get(id) {
                Some((run, matching)) => self.check_acknowledged(run, *matching, acked).await?,
                None => self.breach(format!("run {id} is gone")),
            }
        }
        for session in &ledger.sessions {
            match self.store.session(session).await? {
                Some(row) => self.session(session, row.records, ledger).await?,
                None => self.breach(format!("session {session} is gone")),
            }
        }
        for ((session, name), version) in &ledger.snapshots {
            self.snapshot(session, name, *version).await?;
        }
        Ok(())
    }

    /// Checks a run by itself: its log is complete, matches the workload, and ends at most once.
    /// Returns how many events match the workload.
    async fn run(&mut self, row: &RunRow) -> Result<u64> {
        let id = &row.id;
        for defect in verify_log(self.store, id).await? {
            self.breach(format!("run {id}, place {}: {}", defect.place, defect.why));
        }
        let log = log(self.store, id).await?;
        let is_gapless = log.iter().map(|event| event.seq).eq(1..=row.last);
        self.expect(is_gapless, || format!("run {id}: its places have a gap"));
        let plan = self.workload.plan(id);
        self.expect(row.session == plan.session, || format!("run {id} is in {}", row.session));
        let matching = |event: &&RawEvent| {
            let expected = match event.seq {
                1 => Some(plan.first(row.epoch)),
                seq => plan.event(seq),
            };
            expected.is_some_and(|expected| wire::write(&expected) == event.body)
        };
        let matching = log.iter().take_while(matching).count();
        let ends = |event: &RawEvent| {
            wire::read(&event.body).is_ok_and(|event| matches!(event.body, EventPayload::Ended(_)))
        };
        let count = log.iter().filter(|event| ends(event)).count();
        match row.state {
            RunState::Open => {
                self.expect(count == 0, || format!("run {id} is open, and {count} ends are told"));
                self.expect(matching == log.len(), || {
                    format!("run {id}: place {} is not what was written", matching + 1)
                });
            }
            RunState::Ended { .. } => {
                let once = count == 1 && log.last().is_some_and(ends);
                self.expect(once, || format!("run {id} has ended, and {count} ends are told"));
            }
        }
        Ok(matching as u64)
    }

    /// Checks a run against its acknowledgements.
    async fn check_acknowledged(
        &mut self,
        run: &RunRow,
        matching: u64,
        acked: &AcknowledgedRun,
    ) -> Result<()> {
        let id = &run.id;
        self.expect(acked.epoch == 0 || acked.epoch == run.epoch, || {
            format!("run {id} has the epoch {}, not {}", run.epoch, acked.epoch)
        });
        self.expect(acked.last <= matching, || {
            format!("run {id}: {} places were acknowledged, {matching} are kept", acked.last)
        });
        match &acked.end {
            None => {}
            Some(AcknowledgedEnd::Swept) => {
                let ended = run.state.outcome().is_some();
                self.expect(ended, || format!("run {id} was closed, and is open"));
            }
            Some(AcknowledgedEnd::Ended { last, chain }) => {
                let head = self.store.log_head(&run.id).await?;
                let head = head.map(|head| (head.last, hex(&head.chain)));
                self.expect(head == Some((*last, chain.clone())), || {
                    format!("run {id} ended with {last} {chain}, and now with {head:?}")
                });
                let outcome = run.state.outcome();
                self.expect(outcome == Some(Outcome::Completed), || {
                    format!("run {id} was completed, and is now {outcome:?}")
                });
            }
        }
        Ok(())
    }

    async fn session(&mut self, session: &str, count: u64, ledger: &Ledger) -> Result<()> {
        let records = records(self.store, session).await?;
        let is_gapless = records.iter().map(|record| record.ordinal).eq(1..=count);
        self.expect(is_gapless, || format!("session {session}: its records have a gap"));
        for StoredRecord { record, .. } in
            records.iter().filter(|record| record.record.kind == "note")
        {
            let expected = self.workload.note_of(&record.id);
            self.expect(expected.as_ref() == Some(record), || {
                format!("note {} is not what was written", record.id)
            });
        }
        let ids: BTreeSet<&str> = records.iter().map(|record| &*record.record.id).collect();
        for (note, _) in ledger.notes.iter().filter(|(_, owner)| *owner == session) {
            self.expect(ids.contains(&**note), || format!("note {note} is gone"));
        }
        Ok(())
    }

    async fn snapshot(&mut self, session: &str, name: &str, version: u64) -> Result<()> {
        let stored = self.store.snapshot(session, name).await?;
        let found = stored.as_ref().and_then(Workload::version);
        let holds = found.is_some_and(|found| {
            found >= version && stored == Some(self.workload.snapshot(name, found))
        });
        self.expect(holds, || format!("{name} kept version {version}, there is {found:?}"));
        Ok(())
    }

    async fn closed(&mut self) -> Result<()> {
        let mut sessions = BTreeMap::new();
        let rows = runs(self.store).await?;
        for row in rows.iter().filter(|row| !self.settled.contains(&row.id)) {
            let id = &row.id;
            self.expect(row.state != RunState::Open, || format!("run {id} is open"));
            let log = log(self.store, id).await?;
            let Some(run) = replayed(id, &log) else {
                self.breach(format!("run {id} cannot be replayed"));
                continue;
            };
            self.expect(run.is_over(), || format!("run {id} is not over for the machine"));
            for tool in run.tools().iter().filter(|tool| !tool.status().is_final()) {
                let (call, status) = (&tool.call, tool.status());
                self.breach(format!("run {id}: call {call} is {}", status.name()));
            }
            self.check_results(&run);
            let by_hand = self.workload.plan(id).end == End::ByHand
                && row.state.outcome() == Some(Outcome::Completed);
            if !by_hand {
                if !sessions.contains_key(&row.session) {
                    let records = records(self.store, &row.session).await?;
                    sessions.insert(&row.session, messages(records));
                }
                self.check_messages(&sessions[&row.session], &run);
            }
        }
        Ok(())
    }

    /// Every tool call has its result in the next message.
    fn check_results(&mut self, run: &Run) {
        let messages = history(run);
        for (index, message) in messages.iter().enumerate() {
            let ids = |index: usize, kind: &str, name: &str| -> Vec<String> {
                let blocks = messages.get(index).map_or(&[][..], |message| &message.content);
                let of_kind = blocks.iter().filter(|block| block["type"] == kind);
                of_kind.map(|block| block[name].to_string()).collect()
            };
            if message.role == "assistant" {
                let called = ids(index, "tool_use", "id");
                let results = ids(index + 1, "tool_result", "tool_use_id");
                self.expect(called == results, || {
                    format!("run {}: {called:?} are answered by {results:?}", run.id())
                });
            }
        }
    }

    /// The messages of a run in its session equal the history of its log.
    fn check_messages(&mut self, messages: &Messages, run: &Run) {
        let stored: &[String] = messages.get(&**run.id()).map_or(&[], Vec::as_slice);
        let expected: Vec<String> =
            history(run).iter().map(|message| message.value().to_string()).collect();
        self.expect(stored == expected, || {
            let (id, outcome) = (run.id(), run.outcome());
            let (stored, expected) = (stored.len(), expected.len());
            format!("run {id}, {outcome:?}: {stored} messages are kept, its history has {expected}")
        });
    }
}

/// Messages in sessions, by run.
type Messages = BTreeMap<String, Vec<String>>;

fn messages(records: Vec<StoredRecord>) -> Messages {
    let mut messages = Messages::new();
    for StoredRecord { record, .. } in
        records.into_iter().filter(|record| record.record.kind == "message")
    {
        messages.entry(record.run.unwrap_or_default()).or_default().push(record.body);
    }
    messages
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
