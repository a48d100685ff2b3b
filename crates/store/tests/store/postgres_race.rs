//! Two stores on one database at the same time, like two machines.

use std::{future::Future, sync::Arc};

use foxwedge_run::Outcome;
use foxwedge_store::{
    CloseAuthority, FinalizeResult, Lease, PostgresStore, RunState, Store, StoreError,
};
use tokio::task::JoinSet;

use crate::postgres_fixture::{
    administrator, all_events, begin, closing, event_text, fresh, open, parameter, text_event,
};

/// The sides that report to have ended a run.
type Winners = Vec<&'static str>;

/// Lets two sides end each of many runs at the same time. Returns the winners of every run that was
/// not ended by exactly one side.
async fn race<F>(
    store: &PostgresStore,
    runs: usize,
    end: impl Fn(&'static str, String) -> F,
) -> Vec<Winners>
where
    F: Future<Output = bool> + Send + 'static,
{
    let mut disputed = Vec::new();
    for number in 0..runs {
        let run = format!("run-{number}");
        begin(store, "session", &run, 60_000).await;
        let mut sides = JoinSet::new();
        for side in ["left", "right"] {
            let ended = end(side, run.clone());
            sides.spawn(async move { ended.await.then_some(side) });
        }
        let winners: Winners = sides.join_all().await.into_iter().flatten().collect();
        if winners.len() != 1 {
            disputed.push(winners);
        }
    }
    disputed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_race_for_the_end_a_thousand_times_and_one_wins() {
    let Some(url) = fresh() else { return };
    let (left, right) = (Arc::new(open(&url).await), Arc::new(open(&url).await));
    let end = |side: &'static str, run: String| {
        let store = if side == "left" { left.clone() } else { right.clone() };
        async move {
            let closing = closing(&run, 2, side);
            match store.finalize(&run, CloseAuthority::Operator, closing).await.expect("an answer")
            {
                FinalizeResult::Recorded(row) => {
                    assert_eq!(text(&row.state), Some(side));
                    true
                }
                FinalizeResult::AlreadyEnded(row) => {
                    assert_ne!(text(&row.state), Some(side));
                    false
                }
            }
        }
    };
    assert_eq!(race(&left, 1_000, end).await, Vec::<Winners>::new());
    for number in [0, 1, 500, 999] {
        let events = all_events(&*right, &format!("run-{number}")).await;
        assert_eq!(events.len(), 2, "a start and one end");
    }
}

/// A planted bug: checks first, and then ends the run whatever happened in between.
async fn end_after_check(client: Arc<tokio_postgres::Client>, schema: String, run: String) -> bool {
    let sql = format!("SELECT ended_at FROM {schema}.runs WHERE id = $1");
    let found = client.query_one(&sql, &[&run]).await.expect("a run");
    if found.get::<_, Option<i64>>(0).is_some() {
        return false;
    }
    let statement = format!(
        "UPDATE {schema}.runs SET ended_at = 1, ended = '{{}}', summary = '{{}}', closed = 1
         WHERE id = $1"
    );
    client.execute(&statement, &[&run]).await.expect("an end") == 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn race_test_finds_a_planted_check_then_write() {
    let Some(url) = fresh() else { return };
    let store = open(&url).await;
    let left = Arc::new(administrator(&url).await);
    let right = Arc::new(administrator(&url).await);
    let schema = parameter(&url, "schema");
    let end = |side: &'static str, run: String| {
        let client = if side == "left" { left.clone() } else { right.clone() };
        end_after_check(client, schema.to_owned(), run)
    };
    assert_ne!(race(&store, 200, end).await, Vec::<Winners>::new(), "nobody noticed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn previous_holder_is_refused_after_a_takeover() {
    let Some(url) = fresh() else { return };
    let (old, new) = (open(&url).await, open(&url).await);
    let lease = begin(&old, "session", "run", 60_000).await;
    assert_eq!(
        old.append("run", &lease, vec![text_event("run", 2, "a")]).await.expect("an append"),
        2
    );
    assert_eq!(new.take_over("run", "other", 60_000).await.expect("an answer"), None);

    // The holder gives it up at once, so that the test does not have to wait.
    old.renew("run", &lease, 0).await.expect("renewed");
    let abandoned = new.abandoned_runs(10).await.expect("a list");
    assert_eq!(abandoned.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["run"]);
    let taken = new.take_over("run", "other", 60_000).await.expect("an answer").expect("a lease");
    assert_eq!(taken, Lease { owner: "other".to_owned(), fence: 2 });

    // The old holder still has the log end cached, and is refused all the same.
    let refused = [
        old.append("run", &lease, vec![text_event("run", 3, "late")]).await.map(drop),
        old.append("run", &lease, vec![text_event("run", 3, "late")]).await.map(drop),
        old.renew("run", &lease, 60_000).await,
        old.finalize("run", CloseAuthority::Holder(lease), closing("run", 3, "late"))
            .await
            .map(drop),
    ];
    for refused in refused {
        let text = format!("{refused:?}");
        assert!(matches!(refused, Err(StoreError::Fenced { held: 2, yours: 1, .. })), "{text}");
    }
    assert_eq!(
        new.append("run", &taken, vec![text_event("run", 3, "b")]).await.expect("an append"),
        3
    );
    let events = all_events(&old, "run").await;
    assert_eq!(events.iter().filter_map(event_text).collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_takeovers_wins() {
    let Some(url) = fresh() else { return };
    let (left, right) = (Arc::new(open(&url).await), Arc::new(open(&url).await));
    for number in 0..50 {
        let run = format!("run-{number}");
        begin(&*left, "session", &run, 0).await;
        let mut takers = JoinSet::new();
        for owner in ["a", "b", "c", "d"] {
            let store = if owner < "c" { left.clone() } else { right.clone() };
            let run = run.clone();
            takers.spawn(async move { store.take_over(&run, owner, 60_000).await });
        }
        let taken = takers.join_all().await.into_iter().filter_map(|taken| taken.expect("answer"));
        assert_eq!(taken.map(|lease| lease.fence).collect::<Vec<_>>(), [2], "{run}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_append_at_the_same_time_is_stored_once() {
    let Some(url) = fresh() else { return };
    let (left, right) = (Arc::new(open(&url).await), Arc::new(open(&url).await));
    let lease = begin(&*left, "session", "run", 60_000).await;
    for seq in 2..102 {
        let mut sides = JoinSet::new();
        for store in [left.clone(), right.clone()] {
            let (lease, event) = (lease.clone(), text_event("run", seq, &seq.to_string()));
            sides.spawn(async move { store.append("run", &lease, vec![event]).await });
        }
        for result in sides.join_all().await {
            assert_eq!(result.expect("an append"), seq);
        }
    }
    let events = all_events(&*left, "run").await;
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), Vec::from_iter(1..102));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writes_to_one_session_do_not_deadlock() {
    let Some(url) = fresh() else { return };
    let (left, right) = (Arc::new(open(&url).await), Arc::new(open(&url).await));
    begin(&*left, "session", "first", 60_000).await;
    let mut workers = JoinSet::new();
    for worker in 0..8 {
        let store = if worker % 2 == 0 { left.clone() } else { right.clone() };
        workers.spawn(async move {
            for number in 0..10 {
                let run = format!("run-{worker}-{number}");
                let lease = begin(&*store, "session", &run, 60_000).await;
                store
                    .append(&run, &lease, vec![text_event(&run, 2, "x")])
                    .await
                    .expect("an append");
                let mut end = closing(&run, 3, "end");
                end.records = vec![foxwedge_store::NewRecord {
                    id: run.clone(),
                    parent: None,
                    run: Some(run.clone()),
                    kind: "message".to_owned(),
                    body: "{}".to_owned(),
                }];
                let won =
                    store.finalize(&run, CloseAuthority::Holder(lease), end).await.expect("an end");
                assert!(matches!(won, FinalizeResult::Recorded(_)));
            }
        });
    }
    workers.join_all().await;
    let session = left.session("session").await.expect("an answer").expect("a session");
    assert_eq!((session.epoch, session.records), (81, 80));
    let records = left.records("session", 0, 1_000).await.expect("records");
    let ordinals: Vec<u64> = records.iter().map(|record| record.ordinal).collect();
    assert_eq!(ordinals, Vec::from_iter(1..=80));
}

fn text(state: &RunState) -> Option<&str> {
    match state {
        RunState::Ended { ended, .. } => {
            assert_eq!(ended.outcome, Some(Outcome::Completed));
            ended.text.as_deref()
        }
        RunState::Open => None,
    }
}
