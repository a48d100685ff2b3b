//! Sessions, runs and events for tests.

use std::fmt::Debug;

use foxwedge_run::{
    CallRef, EventPayload, Outcome, RawJson, RunEnd, RunEvent, RunSummary, SharedId, TextUpdate,
    ToolCallUpdate,
};
use foxwedge_store::{
    Lease, NewRecord, NewRun, NewSession, Result, RunClosing, RunRow, RunState, StartResult, Store,
    StoredEvent, WholeRun,
};

/// Long enough for any test, in milliseconds.
pub(crate) const LONG: u64 = 3_600_000;

pub(crate) fn new_session(id: &str) -> NewSession {
    NewSession {
        id: id.to_owned(),
        owner: "me".to_owned(),
        title: format!("about {id}"),
        meta: Some("{\"a\": 1}".to_owned()),
    }
}

pub(crate) fn new_run(session: &str, id: &str) -> NewRun {
    NewRun {
        id: id.to_owned(),
        session: session.to_owned(),
        owner: "node-1".to_owned(),
        ttl: LONG,
        ..NewRun::default()
    }
}

/// A session with an open run.
pub(crate) async fn open_run(store: &impl Store, session: &str, run: &str) -> (RunRow, Lease) {
    store.create_session(new_session(session)).await.expect("a session");
    start_run(store, new_run(session, run)).await
}

/// Starts a run.
pub(crate) async fn start_run(store: &impl Store, new: NewRun) -> (RunRow, Lease) {
    match store.start_run(new).await.expect("a run") {
        StartResult::New { run, lease } => (run, lease),
        StartResult::Existing(run) => panic!("run `{}` was there", run.id),
    }
}

/// The current row of a run.
pub(crate) async fn current(store: &impl Store, run: &str) -> RunRow {
    store.run(run).await.expect("an answer").expect("a run")
}

/// An event with its sequence number.
pub(crate) fn event(run: &RunRow, seq: u64, body: EventPayload) -> RunEvent {
    RunEvent {
        run: SharedId::from(run.id.as_str()),
        epoch: Some(run.epoch),
        seq: Some(seq),
        at: Some(1_700_000_000_000 + seq),
        unknown_word: None,
        body,
    }
}

/// A text of the model.
pub(crate) fn text_event(run: &RunRow, seq: u64, text: &str) -> RunEvent {
    let update = TextUpdate { delta: Some(text.to_owned()), ..TextUpdate::default() };
    event(run, seq, EventPayload::Text(update))
}

/// A tool call.
pub(crate) fn call_event(run: &RunRow, seq: u64, id: &str) -> RunEvent {
    let call = CallRef { id: Some(id.into()), turn: None };
    let input = RawJson::parse("{}");
    event(
        run,
        seq,
        EventPayload::ToolCall(ToolCallUpdate {
            call,
            name: Some("Bash".into()),
            input,
            ..ToolCallUpdate::default()
        }),
    )
}

/// Texts with the sequence numbers `from..=to`.
pub(crate) fn texts(run: &RunRow, from: u64, to: u64) -> Vec<RunEvent> {
    (from..=to).map(|seq| text_event(run, seq, &format!("word {seq}"))).collect()
}

pub(crate) fn ended(outcome: Outcome) -> RunEnd {
    RunEnd { outcome: Some(outcome), text: Some("done".to_owned()), ..RunEnd::default() }
}

/// An end after the last event of a run.
pub(crate) fn closing(run: &RunRow, outcome: Outcome) -> RunClosing {
    let ended = ended(outcome);
    RunClosing {
        events: vec![event(run, run.last + 1, EventPayload::Ended(ended.clone()))],
        ended,
        summary: RunSummary { available: Some(3), ..RunSummary::default() },
        records: Vec::new(),
    }
}

/// A run of texts with its end, to be stored at once. The end follows event `last`.
pub(crate) fn whole_run(session: &str, run: &str, last: u64) -> WholeRun {
    let row = RunRow {
        id: run.to_owned(),
        session: session.to_owned(),
        epoch: 1,
        key: None,
        started: 0,
        last,
        state: RunState::Open,
        lease: None,
        lease_until: None,
        agent: None,
        model: None,
    };
    let mut closing = closing(&row, Outcome::Completed);
    closing.events.splice(0..0, texts(&row, 2, last));
    WholeRun { session: new_session(session), run: new_run(session, run), closing }
}

/// A record with its parent.
pub(crate) fn record(id: &str, parent: Option<&str>) -> NewRecord {
    NewRecord {
        id: id.to_owned(),
        parent: parent.map(str::to_owned),
        run: None,
        kind: "message".to_owned(),
        body: format!("{{\"said\": \"{id}\"}}"),
    }
}

/// All events of a run.
pub(crate) async fn log(store: &impl Store, run: &str) -> Vec<RunEvent> {
    let stored = store.events(run, 0, usize::MAX).await.expect("the log");
    stored.into_iter().map(|stored| stored.event).collect()
}

/// The sequence numbers of events.
pub(crate) fn seqs(events: &[StoredEvent]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

/// The message of a refusal.
pub(crate) fn refusal<T: Debug>(result: Result<T>) -> String {
    result.expect_err("a refusal").to_string()
}
