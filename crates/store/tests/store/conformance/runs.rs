//! Runs start once each.

use std::sync::Arc;

use foxwedge_run::{EventPayload, RunEvent, RunStart as Start};
use foxwedge_store::{ArchiveStore, Lease, NewRun, RunRow, RunState, StartResult, StoredEvent};

use crate::sample::{current, new_run, new_session, open_run, refusal, start_run};

pub(crate) async fn a_run_begins_with_its_start(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let start = Start {
        session: Some("s".into()),
        parent: Some("above".into()),
        agent: Some("claude-code".into()),
        model: Some("m".into()),
    };
    let new = NewRun { key: Some("k".to_owned()), start: start.clone(), ..new_run("s", "r") };
    let (run, lease) = start_run(&*store, new).await;
    assert_eq!(lease, Lease { owner: "node-1".to_owned(), fence: 1 });
    let expected = RunRow {
        id: "r".to_owned(),
        session: "s".to_owned(),
        epoch: 1,
        key: Some("k".to_owned()),
        started: run.started,
        last: 1,
        state: RunState::Open,
        lease: Some(lease),
        lease_until: run.lease_until,
        agent: Some("claude-code".to_owned()),
        model: Some("m".to_owned()),
    };
    assert_eq!(run, expected);
    assert_eq!(current(&*store, "r").await, expected);
    let events = store.events("r", 0, 10).await.expect("the log");
    let first = RunEvent {
        run: "r".into(),
        epoch: Some(1),
        seq: Some(1),
        at: Some(run.started),
        unknown_word: None,
        body: EventPayload::Started(start),
    };
    let chain = events[0].chain;
    assert_eq!(events, [StoredEvent { seq: 1, event: first, chain }]);
    assert_eq!(store.session("s").await.expect("an answer").expect("a session").epoch, 1);
}

pub(crate) async fn a_run_needs_its_session(store: Arc<impl ArchiveStore>) {
    let refused = refusal(store.start_run(new_run("none", "r")).await);
    assert_eq!(refused, "session `none` does not exist");
    assert_eq!(store.run("r").await.expect("an answer"), None);
}

pub(crate) async fn epochs_go_up_by_one(store: Arc<impl ArchiveStore>) {
    open_run(&*store, "s", "r1").await;
    store.create_session(new_session("other")).await.expect("a session");
    let mut epochs = Vec::new();
    for (session, id) in [("s", "r2"), ("other", "r3"), ("s", "r4"), ("other", "r5")] {
        epochs.push(start_run(&*store, new_run(session, id)).await.0.epoch);
    }
    assert_eq!(epochs, [2, 1, 3, 2]);
}

pub(crate) async fn the_same_run_again_is_found(store: Arc<impl ArchiveStore>) {
    let (run, _) = open_run(&*store, "s", "r").await;
    let again = NewRun { owner: "node-2".to_owned(), ttl: 0, ..new_run("s", "r") };
    assert_eq!(store.start_run(again).await.expect("found"), StartResult::Existing(run.clone()));
    assert_eq!(current(&*store, "r").await, run);
    assert_eq!(store.session("s").await.expect("an answer").expect("a session").epoch, 1);
}

pub(crate) async fn the_same_key_again_is_the_same_run(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let keyed = |id| NewRun { key: Some("' key 键".to_owned()), ..new_run("s", id) };
    let (run, _) = start_run(&*store, keyed("r1")).await;
    for id in ["r1", "r2", "r3"] {
        let found = store.start_run(keyed(id)).await.expect("found");
        assert_eq!(found, StartResult::Existing(run.clone()));
    }
    // A caller that knows the id does not need the key.
    let found = store.start_run(new_run("s", "r1")).await.expect("found");
    assert_eq!(found, StartResult::Existing(run));
    assert_eq!(store.run("r2").await.expect("an answer"), None);
}

pub(crate) async fn the_same_key_in_another_session_is_another_run(store: Arc<impl ArchiveStore>) {
    for session in ["s1", "s2"] {
        store.create_session(new_session(session)).await.expect("a session");
    }
    let keyed = |session, id| NewRun { key: Some("k".to_owned()), ..new_run(session, id) };
    start_run(&*store, keyed("s1", "r1")).await;
    start_run(&*store, keyed("s2", "r2")).await;
}

pub(crate) async fn a_run_id_of_another_session_is_a_conflict(store: Arc<impl ArchiveStore>) {
    open_run(&*store, "s", "r").await;
    store.create_session(new_session("other")).await.expect("a session");
    let refused = refusal(store.start_run(new_run("other", "r")).await);
    assert_eq!(refused, "`r` already exists with other content");
    assert_eq!(store.session("other").await.expect("an answer").expect("a session").epoch, 0);
}

pub(crate) async fn a_run_id_with_another_key_is_a_conflict(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    start_run(&*store, NewRun { key: Some("k1".to_owned()), ..new_run("s", "r1") }).await;
    start_run(&*store, NewRun { key: Some("k2".to_owned()), ..new_run("s", "r2") }).await;
    start_run(&*store, new_run("s", "r3")).await;
    for (id, key) in [("r1", "k2"), ("r1", "k3"), ("r3", "k1"), ("r3", "k4")] {
        let new = NewRun { key: Some(key.to_owned()), ..new_run("s", id) };
        let refused = refusal(store.start_run(new).await);
        assert_eq!(refused, format!("`{id}` already exists with other content"), "{key}");
    }
}

pub(crate) async fn two_runs_of_a_session_may_be_open(store: Arc<impl ArchiveStore>) {
    open_run(&*store, "s", "r1").await;
    start_run(&*store, new_run("s", "r2")).await;
    assert_eq!(current(&*store, "r1").await.state, RunState::Open);
    assert_eq!(current(&*store, "r2").await.state, RunState::Open);
}

pub(crate) async fn a_missing_run_is_none(store: Arc<impl ArchiveStore>) {
    for id in ["r", "", "../r", "r\0", "%", "'; DROP TABLE runs; --"] {
        assert_eq!(store.run(id).await.expect("an answer"), None, "{id:?}");
        assert_eq!(store.log_head(id).await.expect("an answer"), None, "{id:?}");
    }
}

pub(crate) async fn a_start_that_knows_its_time_keeps_it(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    for (id, at) in [("r1", 0), ("r2", 1), ("r3", 4_102_444_800_000)] {
        let (run, _) = start_run(&*store, NewRun { at: Some(at), ..new_run("s", id) }).await;
        let first = store.events(id, 0, 1).await.expect("the log");
        assert_eq!((run.started, first[0].event.at), (at, Some(at)));
    }
}
