//! Sessions, runs and events for tests, in few words.

use std::fmt::Debug;

use foxwedge_run::{Body, Call, CallRef, Ended, Event, Id, Json, Outcome, Summary, Text};
use foxwedge_store::{
    Closing, Lease, NewRecord, NewRun, NewSession, Result, RunRow, Started, Store, StoredEvent,
};

/// Long enough for any test.
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

/// A session with a run that is at work.
pub(crate) async fn at_work(store: &impl Store, session: &str, run: &str) -> (RunRow, Lease) {
    store.create_session(new_session(session)).await.expect("a session");
    started(store, new_run(session, run)).await
}

/// A run that begins now.
pub(crate) async fn started(store: &impl Store, new: NewRun) -> (RunRow, Lease) {
    match store.start_run(new).await.expect("a run") {
        Started::New { run, lease } => (run, lease),
        Started::Existing(run) => panic!("run `{}` was there", run.id),
    }
}

/// The run as it is now.
pub(crate) async fn current(store: &impl Store, run: &str) -> RunRow {
    store.run(run).await.expect("an answer").expect("a run")
}

/// An event in its place.
pub(crate) fn event(run: &RunRow, seq: u64, body: Body) -> Event {
    Event {
        run: Id::from(run.id.as_str()),
        epoch: Some(run.epoch),
        seq: Some(seq),
        at: Some(1_700_000_000_000 + seq),
        odd: None,
        body,
    }
}

/// Something the model says.
pub(crate) fn says(run: &RunRow, seq: u64, words: &str) -> Event {
    let text = Text { delta: Some(words.to_owned()), ..Text::default() };
    event(run, seq, Body::Text(text))
}

/// A call of a tool.
pub(crate) fn calls(run: &RunRow, seq: u64, id: &str) -> Event {
    let call = CallRef { id: Some(id.into()), turn: None };
    let input = Json::parse("{}");
    event(run, seq, Body::Call(Call { call, name: Some("Bash".into()), input, ..Call::default() }))
}

/// Texts in the places `from..=to`.
pub(crate) fn texts(run: &RunRow, from: u64, to: u64) -> Vec<Event> {
    (from..=to).map(|seq| says(run, seq, &format!("word {seq}"))).collect()
}

pub(crate) fn ended(outcome: Outcome) -> Ended {
    Ended { outcome: Some(outcome), text: Some("done".to_owned()), ..Ended::default() }
}

/// An end behind the last event of a run.
pub(crate) fn closing(run: &RunRow, outcome: Outcome) -> Closing {
    let ended = ended(outcome);
    Closing {
        events: vec![event(run, run.last + 1, Body::Ended(ended.clone()))],
        ended,
        summary: Summary { available: Some(3), ..Summary::default() },
        records: Vec::new(),
    }
}

/// A record that follows another.
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
pub(crate) async fn log(store: &impl Store, run: &str) -> Vec<Event> {
    let stored = store.events(run, 0, usize::MAX).await.expect("the log");
    stored.into_iter().map(|stored| stored.event).collect()
}

/// The places of events.
pub(crate) fn places(events: &[StoredEvent]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

/// What a refusal says.
pub(crate) fn refusal<T: Debug>(result: Result<T>) -> String {
    result.expect_err("a refusal").to_string()
}
