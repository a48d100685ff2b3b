//! What is deleted, and what is not.

use std::sync::Arc;

use foxwedge_run::Outcome;
use foxwedge_store::{AgentSnapshot, ArchiveStore, CloseAuthority, PruneReport, StoreTotals};

use crate::sample::{closing, new_run, new_session, open_run, record, refusal, start_run, texts};

async fn end(store: &impl ArchiveStore, id: &str) {
    let run = store.run(id).await.expect("an answer").expect("a run");
    let closing = closing(&run, Outcome::Completed);
    store.finalize(id, CloseAuthority::Operator, closing).await.expect("ended");
}

/// A session with a record, a snapshot and an ended run.
async fn fill(store: &impl ArchiveStore, session: &str, run: &str) {
    let (row, lease) = open_run(store, session, run).await;
    store.append(run, &lease, texts(&row, 2, 5)).await.expect("stored");
    end(store, run).await;
    store.append_records(session, vec![record("a", None)]).await.expect("stored");
    let snapshot = AgentSnapshot { name: "agent".to_owned(), body: b"x".to_vec(), expires: None };
    store.put_snapshot(session, snapshot).await.expect("kept");
}

/// Row counts; the number of bytes depends on the backend.
async fn counts(store: &impl ArchiveStore) -> StoreTotals {
    StoreTotals { schema: 0, bytes: None, ..store.totals().await.expect("an answer") }
}

pub(crate) async fn a_session_is_deleted_with_everything_in_it(store: Arc<impl ArchiveStore>) {
    fill(&*store, "s1", "r1").await;
    fill(&*store, "s2", "r2").await;
    let one = StoreTotals {
        sessions: 1,
        records: 1,
        snapshots: 1,
        runs: 1,
        events: 6,
        ..StoreTotals::default()
    };
    assert!(store.delete_session("s1").await.expect("deleted"));
    assert!(!store.delete_session("s1").await.expect("an answer"));
    assert_eq!(counts(&*store).await, one);
    assert_eq!(store.session("s1").await.expect("an answer"), None);
    assert_eq!(store.run("r1").await.expect("an answer"), None);
    assert_eq!(store.examine().await.expect("an answer"), [""; 0]);
    // The ids are free again, and nothing of the old session comes back.
    let session = store.create_session(new_session("s1")).await.expect("a session");
    assert_eq!((session.epoch, session.records), (0, 0));
    assert_eq!(store.records("s1", 0, 10).await.expect("records"), []);
    assert_eq!(store.snapshot("s1", "agent").await.expect("an answer"), None);
    let (run, _) = start_run(&*store, new_run("s1", "r1")).await;
    assert_eq!((run.epoch, run.last), (1, 1));
}

pub(crate) async fn a_session_with_an_open_run_is_not_deleted(store: Arc<impl ArchiveStore>) {
    open_run(&*store, "s", "r").await;
    let refused = refusal(store.delete_session("s").await);
    assert_eq!(refused, "session `s` has an open run: `r`");
    end(&*store, "r").await;
    assert!(store.delete_session("s").await.expect("deleted"));
    assert_eq!(counts(&*store).await, StoreTotals::default());
}

pub(crate) async fn a_run_is_deleted_with_its_events(store: Arc<impl ArchiveStore>) {
    fill(&*store, "s", "r1").await;
    start_run(&*store, new_run("s", "r2")).await;
    end(&*store, "r2").await;
    assert!(store.delete_run("r1").await.expect("deleted"));
    assert!(!store.delete_run("r1").await.expect("an answer"));
    let left = StoreTotals {
        sessions: 1,
        records: 1,
        snapshots: 1,
        runs: 1,
        events: 2,
        ..StoreTotals::default()
    };
    assert_eq!(counts(&*store).await, left);
    assert_eq!(refusal(store.events("r1", 0, 1).await), "run `r1` does not exist");
}

pub(crate) async fn an_open_run_is_not_deleted(store: Arc<impl ArchiveStore>) {
    open_run(&*store, "s", "r").await;
    let refused = refusal(store.delete_run("r").await);
    assert_eq!(refused, "session `s` has an open run: `r`");
}

pub(crate) async fn an_epoch_is_not_used_again_after_its_run_is_deleted(
    store: Arc<impl ArchiveStore>,
) {
    fill(&*store, "s", "r1").await;
    store.delete_run("r1").await.expect("deleted");
    let (run, _) = start_run(&*store, new_run("s", "r1")).await;
    assert_eq!(run.epoch, 2);
}

pub(crate) async fn old_sessions_are_pruned(store: Arc<impl ArchiveStore>) {
    fill(&*store, "s1", "r1").await;
    open_run(&*store, "s2", "r2").await;
    assert_eq!(store.prune(1, 10).await.expect("pruned"), PruneReport::default());
    let report = store.prune(u64::MAX, 10).await.expect("pruned");
    assert_eq!(report, PruneReport { sessions: 1, runs: 1, snapshots: 1 });
    assert_eq!(store.session("s1").await.expect("an answer"), None);
    // A session with an open run is not pruned.
    assert!(store.run("r2").await.expect("an answer").is_some());
    let session = store.session("s2").await.expect("an answer").expect("a session");
    end(&*store, "r2").await;
    let report = store.prune(session.created, 10).await.expect("pruned");
    assert_eq!(report, PruneReport::default());
    let report = store.prune(u64::MAX, 10).await.expect("pruned");
    assert_eq!(report, PruneReport { sessions: 1, runs: 1, snapshots: 0 });
    assert_eq!(counts(&*store).await, StoreTotals::default());
}

pub(crate) async fn expired_snapshots_are_pruned(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    for (name, expires) in [("old", Some(1)), ("new", Some(u64::MAX)), ("ever", None)] {
        let snapshot = AgentSnapshot { name: name.to_owned(), body: Vec::new(), expires };
        store.put_snapshot("s", snapshot).await.expect("kept");
    }
    let report = store.prune(0, 0).await.expect("pruned");
    assert_eq!(report, PruneReport { sessions: 0, runs: 0, snapshots: 1 });
    assert_eq!(
        counts(&*store).await,
        StoreTotals { sessions: 1, snapshots: 2, ..StoreTotals::default() }
    );
}

pub(crate) async fn pruning_stops_at_its_limit(store: Arc<impl ArchiveStore>) {
    for number in 1..=5 {
        store.create_session(new_session(&format!("s{number}"))).await.expect("a session");
    }
    let mut rounds = Vec::new();
    loop {
        let report = store.prune(u64::MAX, 2).await.expect("pruned");
        if report.sessions == 0 {
            break;
        }
        rounds.push(report.sessions);
    }
    assert_eq!(rounds, [2, 2, 1]);
}
