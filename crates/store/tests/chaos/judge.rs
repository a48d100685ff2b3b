//! Whether a store holds what was acknowledged, and nothing that nobody wrote. What is wrong is
//! told in sentences, so that a bug that was planted can be seen to be found.

use std::collections::{BTreeMap, BTreeSet};

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, Run, SessionMachine, history, wire,
};
use foxwedge_store::{
    ArchiveStore, ListFilter, ListPage, RawEvent, Result, RunRow, RunState, StoredRecord,
    verify_log,
};

use crate::{
    ledger::{Ledger, Told, ToldEnd},
    story::{End, Story},
};

/// How much is read at once.
const PAGE: usize = 500;

/// Runs that were judged before, have ended, and need not be looked at each time.
pub(crate) type Settled = BTreeSet<String>;

/// Everything that is wrong with a store, by what its writers said and by the story.
pub(crate) async fn breaches<A: ArchiveStore>(
    store: &A,
    story: &Story,
    ledger: &Ledger,
    settled: &Settled,
) -> Vec<String> {
    let mut judge = Judge { store, story, settled, breaches: Vec::new() };
    if let Err(error) = judge.all(ledger).await {
        judge.breach(format!("the store cannot be read: {error:?}"));
    }
    judge.breaches
}

/// Everything that is wrong once whatever was left open has been closed.
pub(crate) async fn ghosts<A: ArchiveStore>(
    store: &A,
    story: &Story,
    settled: &Settled,
) -> Vec<String> {
    let mut judge = Judge { store, story, settled, breaches: Vec::new() };
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

/// The log of a run, as it lies there.
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

/// A run whose log the machine has read.
pub(crate) fn replayed(run: &str, log: &[RawEvent]) -> Option<Run> {
    let mut session = SessionMachine::new(MachineSettings::default());
    for event in log {
        session.apply(0, MachineInput::Event(wire::read(&event.body).ok()?), &mut Vec::new());
    }
    session.run(run).cloned()
}

struct Judge<'a, A> {
    store: &'a A,
    story: &'a Story,
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
        for trouble in self.store.examine().await? {
            self.breach(format!("the engine complains: {trouble}"));
        }
        let mut kept = BTreeMap::new();
        for run in runs(self.store).await? {
            let judged = self.settled.contains(&run.id);
            let told = if judged { u64::MAX } else { self.run(&run).await? };
            kept.insert(run.id.clone(), (run, told));
        }
        for (id, told) in &ledger.runs {
            match kept.get(id) {
                Some((run, kept)) => self.told(run, *kept, told).await?,
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

    /// A run by itself: its log is whole, is what the story says, and ends at most once. Returns
    /// how much of the story it holds.
    async fn run(&mut self, row: &RunRow) -> Result<u64> {
        let id = &row.id;
        for flaw in verify_log(self.store, id).await? {
            self.breach(format!("run {id}, place {}: {}", flaw.place, flaw.why));
        }
        let log = log(self.store, id).await?;
        let places = log.iter().map(|event| event.seq).eq(1..=row.last);
        self.expect(places, || format!("run {id}: its places have a gap"));
        let tale = self.story.tale(id);
        self.expect(row.session == tale.session, || format!("run {id} is in {}", row.session));
        let told = |event: &&RawEvent| {
            let expected = match event.seq {
                1 => Some(tale.first(row.epoch)),
                seq => tale.event(seq),
            };
            expected.is_some_and(|expected| wire::write(&expected) == event.body)
        };
        let told = log.iter().take_while(told).count();
        let ends = |event: &RawEvent| {
            wire::read(&event.body).is_ok_and(|event| matches!(event.body, EventPayload::Ended(_)))
        };
        let count = log.iter().filter(|event| ends(event)).count();
        match row.state {
            RunState::Open => {
                self.expect(count == 0, || format!("run {id} is open, and {count} ends are told"));
                self.expect(told == log.len(), || {
                    format!("run {id}: place {} is not what was written", told + 1)
                });
            }
            RunState::Ended { .. } => {
                let once = count == 1 && log.last().is_some_and(ends);
                self.expect(once, || format!("run {id} has ended, and {count} ends are told"));
            }
        }
        Ok(told as u64)
    }

    /// A run by what was said of it.
    async fn told(&mut self, run: &RunRow, kept: u64, told: &Told) -> Result<()> {
        let id = &run.id;
        self.expect(told.epoch == 0 || told.epoch == run.epoch, || {
            format!("run {id} has the epoch {}, not {}", run.epoch, told.epoch)
        });
        self.expect(told.last <= kept, || {
            format!("run {id}: {} places were acknowledged, {kept} are kept", told.last)
        });
        match &told.end {
            None => {}
            Some(ToldEnd::Swept) => {
                let ended = run.state.outcome().is_some();
                self.expect(ended, || format!("run {id} was closed, and is open"));
            }
            Some(ToldEnd::Ended { last, chain }) => {
                let head = self.store.log_head(&run.id).await?;
                let kept = head.map(|head| (head.last, hex(&head.chain)));
                self.expect(kept == Some((*last, chain.clone())), || {
                    format!("run {id} ended with {last} {chain}, and now with {kept:?}")
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
        let whole = records.iter().map(|record| record.ordinal).eq(1..=count);
        self.expect(whole, || format!("session {session}: its records have a gap"));
        for StoredRecord { record, .. } in
            records.iter().filter(|record| record.record.kind == "note")
        {
            let written = self.story.note_of(&record.id);
            self.expect(written.as_ref() == Some(record), || {
                format!("note {} is not what was written", record.id)
            });
        }
        let kept: BTreeSet<&str> = records.iter().map(|record| &*record.record.id).collect();
        for (note, _) in ledger.notes.iter().filter(|(_, place)| *place == session) {
            self.expect(kept.contains(&**note), || format!("note {note} is gone"));
        }
        Ok(())
    }

    async fn snapshot(&mut self, session: &str, name: &str, version: u64) -> Result<()> {
        let kept = self.store.snapshot(session, name).await?;
        let found = kept.as_ref().and_then(Story::version);
        let holds = found.is_some_and(|found| {
            found >= version && kept == Some(self.story.snapshot(name, found))
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
            self.answered(&run);
            let by_hand = self.story.tale(id).end == End::ByHand
                && row.state.outcome() == Some(Outcome::Completed);
            if !by_hand {
                if !sessions.contains_key(&row.session) {
                    let records = records(self.store, &row.session).await?;
                    sessions.insert(&row.session, messages(records));
                }
                self.left_behind(&sessions[&row.session], &run);
            }
        }
        Ok(())
    }

    /// Every call of the conversation has its answer in the next message.
    fn answered(&mut self, run: &Run) {
        let messages = history(run);
        for (place, message) in messages.iter().enumerate() {
            let ids = |place: usize, kind: &str, name: &str| -> Vec<String> {
                let blocks = messages.get(place).map_or(&[][..], |message| &message.content);
                let of_kind = blocks.iter().filter(|block| block["type"] == kind);
                of_kind.map(|block| block[name].to_string()).collect()
            };
            if message.role == "assistant" {
                let called = ids(place, "tool_use", "id");
                let answered = ids(place + 1, "tool_result", "tool_use_id");
                self.expect(called == answered, || {
                    format!("run {}: {called:?} are answered by {answered:?}", run.id())
                });
            }
        }
    }

    /// What the session holds of a run is the history of its log.
    fn left_behind(&mut self, messages: &Messages, run: &Run) {
        let kept: &[String] = messages.get(&**run.id()).map_or(&[], Vec::as_slice);
        let told: Vec<String> =
            history(run).iter().map(|message| message.value().to_string()).collect();
        self.expect(kept == told, || {
            let (id, outcome) = (run.id(), run.outcome());
            let (kept, told) = (kept.len(), told.len());
            format!("run {id}, {outcome:?}: {kept} messages are kept, its history has {told}")
        });
    }
}

/// What sessions hold of runs.
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
