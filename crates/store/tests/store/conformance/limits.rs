//! Sizes and names that are not allowed.

use std::sync::Arc;

use foxwedge_run::{Outcome, RunEvent};
use foxwedge_store::{
    AgentSnapshot, ArchiveStore, CloseAuthority, NewRecord, NewRun, NewSession, RunClosing, limits,
};

use crate::sample::{
    closing, current, event, log, new_run, new_session, open_run, record, refusal, text_event,
    texts,
};

pub(crate) async fn hostile_ids_are_refused_everywhere(store: Arc<impl ArchiveStore>) {
    open_run(&*store, "s", "r").await;
    let long = "x".repeat(limits::ID_BYTES + 1);
    let hostile = [
        "",
        ".",
        "..",
        "../s",
        "a/b",
        "a\\b",
        "C:s",
        "a b",
        "a.b",
        "é",
        "a\0b",
        "a\n",
        "%",
        "*",
        "a'b",
        long.as_str(),
    ];
    for id in hostile {
        let refusals = [
            refusal(store.create_session(new_session(id)).await),
            refusal(store.start_run(new_run("s", id)).await),
            refusal(store.append_records("s", vec![record(id, None)]).await),
            refusal(store.append_records("s", vec![record("ok", Some(id))]).await),
            refusal(store.put_snapshot("s", snapshot(id, 1)).await),
        ];
        for refused in refusals {
            assert!(
                refused.contains("an id has 1 to 128 characters of A-Z a-z 0-9 _ -"),
                "{id:?}: {refused}"
            );
        }
    }
    let longest = "x".repeat(limits::ID_BYTES);
    store.create_session(new_session(&longest)).await.expect("a session");
    store.start_run(new_run(&longest, &longest)).await.expect("a run");
    store.append_records(&longest, vec![record(&longest, None)]).await.expect("a record");
}

pub(crate) async fn invalid_json_is_refused(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    for text in ["", "{", "{} {}", "nul", "'a'", "{\"a\":1,}", "\"\u{1}\"", "[1", "\u{feff}{}"] {
        let bad = NewRecord { body: text.to_owned(), ..record("a", None) };
        let refused = refusal(store.append_records("s", vec![bad]).await);
        assert!(
            refused.starts_with("the body of a record is not valid JSON"),
            "{text:?}: {refused}"
        );
        let bad = NewSession { meta: Some(text.to_owned()), ..new_session("t") };
        let refused = refusal(store.create_session(bad).await);
        assert!(
            refused.starts_with("the meta of a session is not valid JSON"),
            "{text:?}: {refused}"
        );
    }
    for text in ["1", "null", "[]", "\"{}\""] {
        let bad = NewSession { meta: Some(text.to_owned()), ..new_session("t") };
        let refused = refusal(store.create_session(bad).await);
        assert_eq!(refused, "the meta of a session must be a JSON object");
    }
}

pub(crate) async fn names_that_cannot_be_stored_are_refused(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let long = "x".repeat(limits::TITLE_BYTES + 1);
    for (text, expected) in [("a\0b", "holds U+0000"), (long.as_str(), "bytes, the limit is")] {
        let some = || Some(text.to_owned());
        let mut agent = new_run("s", "r");
        agent.start.agent = Some(text.into());
        let mut model = new_run("s", "r");
        model.start.model = Some(text.into());
        let refusals = [
            refusal(
                store
                    .create_session(NewSession { owner: text.to_owned(), ..new_session("t") })
                    .await,
            ),
            refusal(
                store
                    .create_session(NewSession { title: text.to_owned(), ..new_session("t") })
                    .await,
            ),
            refusal(store.start_run(NewRun { key: some(), ..new_run("s", "r") }).await),
            refusal(store.start_run(NewRun { owner: text.to_owned(), ..new_run("s", "r") }).await),
            refusal(store.start_run(agent).await),
            refusal(store.start_run(model).await),
            refusal(
                store
                    .append_records(
                        "s",
                        vec![NewRecord { kind: text.to_owned(), ..record("a", None) }],
                    )
                    .await,
            ),
        ];
        for refused in refusals {
            assert!(refused.contains(expected), "{refused}");
        }
    }
}

pub(crate) async fn one_more_event_than_allowed_is_refused(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let max = limits::APPEND_EVENTS as u64;
    let refused = refusal(store.append("r", &lease, texts(&run, 2, max + 2)).await);
    assert_eq!(refused, "run `r`: more than 10000 events at once");
    let last = store.append("r", &lease, texts(&run, 2, max + 1)).await.expect("stored");
    assert_eq!(last, max + 1);
    let records = (0..=limits::APPEND_RECORDS).map(|n| record(&format!("r{n}"), None)).collect();
    let refused = refusal(store.append_records("s", records).await);
    assert_eq!(refused, "more than 10000 records at once");
    let records = (0..=limits::APPEND_RECORDS).map(|n| record(&format!("r{n}"), None)).collect();
    let run = current(&*store, "r").await;
    let end = RunClosing { records, ..closing(&run, Outcome::Completed) };
    let refused = refusal(store.finalize("r", CloseAuthority::Operator, end).await);
    assert_eq!(refused, "more than 10000 records at once");
}

pub(crate) async fn an_event_may_be_as_large_as_allowed_and_not_larger(
    store: Arc<impl ArchiveStore>,
) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let overhead = foxwedge_run::wire::write(&text_event(&run, 2, "")).len();
    let room = limits::EVENT_BYTES - overhead;
    let larger = text_event(&run, 2, &"x".repeat(room + 1));
    let refused = refusal(store.append("r", &lease, vec![larger]).await);
    assert_eq!(refused, "an event: 16777217 bytes, the limit is 16777216");
    let largest = text_event(&run, 2, &"x".repeat(room));
    store.append("r", &lease, vec![largest.clone()]).await.expect("stored");
    assert!(log(&*store, "r").await[1] == largest);
}

pub(crate) async fn a_snapshot_may_be_as_large_as_allowed_and_not_larger(
    store: Arc<impl ArchiveStore>,
) {
    store.create_session(new_session("s")).await.expect("a session");
    let larger = snapshot("agent", limits::SNAPSHOT_BYTES + 1);
    let refused = refusal(store.put_snapshot("s", larger).await);
    assert_eq!(refused, "a snapshot: 67108865 bytes, the limit is 67108864");
    let largest = snapshot("agent", limits::SNAPSHOT_BYTES);
    store.put_snapshot("s", largest.clone()).await.expect("kept");
    assert!(store.snapshot("s", "agent").await.expect("an answer") == Some(largest));
}

pub(crate) async fn an_append_may_be_as_large_as_allowed_and_not_larger(
    store: Arc<impl ArchiveStore>,
) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let eighth = limits::APPEND_BYTES / 8;
    let overhead = foxwedge_run::wire::write(&text_event(&run, 2, "")).len();
    let fill = |seq| text_event(&run, seq, &"x".repeat(eighth - overhead));
    let mut events: Vec<RunEvent> = (2..10).map(fill).collect();
    events.push(text_event(&run, 10, ""));
    let refused = refusal(store.append("r", &lease, events.clone()).await);
    assert!(refused.starts_with("all events: "), "{refused}");
    assert!(refused.ends_with("bytes, the limit is 67108864"), "{refused}");
    events.pop();
    assert_eq!(store.append("r", &lease, events).await.expect("stored"), 9);
    // The same limit applies at the end of a run.
    let run = current(&*store, "r").await;
    let mut events: Vec<RunEvent> = (10..18).map(fill).collect();
    let ended = foxwedge_run::EventPayload::Ended(Default::default());
    events.push(event(&run, 18, ended));
    let end = RunClosing { events, ..closing(&run, Outcome::Completed) };
    let refused = refusal(store.finalize("r", CloseAuthority::Holder(lease), end).await);
    assert!(refused.starts_with("all events: "), "{refused}");
}

pub(crate) async fn a_record_may_be_as_large_as_allowed_and_not_larger(
    store: Arc<impl ArchiveStore>,
) {
    store.create_session(new_session("s")).await.expect("a session");
    let of = |bytes: usize| {
        let body = format!("\"{}\"", "x".repeat(bytes - 2));
        vec![NewRecord { body, ..record("a", None) }]
    };
    let refused = refusal(store.append_records("s", of(limits::RECORD_BYTES + 1)).await);
    assert_eq!(refused, "a record: 16777217 bytes, the limit is 16777216");
    store.append_records("s", of(limits::RECORD_BYTES)).await.expect("stored");
}

fn snapshot(name: &str, bytes: usize) -> AgentSnapshot {
    AgentSnapshot { name: name.to_owned(), body: vec![7; bytes], expires: None }
}
