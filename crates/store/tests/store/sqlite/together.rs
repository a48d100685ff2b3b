//! Several stores on one file, like several processes.

use std::sync::Arc;

use foxwedge_run::Outcome;
use foxwedge_store::{
    CloseAuthority, FinalizeResult, Lease, NewRun, SqliteStore, StartResult, Store, StoreWake,
};
use tokio::sync::Barrier;

use crate::{
    sample::{
        LONG, closing, current, log, new_run, new_session, open_run, refusal, start_run, texts,
    },
    temporary::Temporary,
};

async fn open_two(folder: &Temporary) -> [Arc<SqliteStore>; 2] {
    let path = folder.path("store.db");
    let open = || async { Arc::new(SqliteStore::open(&path).await.expect("a store")) };
    [open().await, open().await]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_race_for_the_end_a_thousand_times_and_one_wins() {
    const RUNS: usize = 1_000;
    let folder = Temporary::folder();
    let stores = open_two(&folder).await;
    stores[0].create_session(new_session("s")).await.expect("a session");
    let mut runs = Vec::new();
    for number in 0..RUNS {
        runs.push(start_run(&*stores[number % 2], new_run("s", &format!("r{number}"))).await.0);
    }
    let barrier = Arc::new(Barrier::new(2));
    let outcomes = [Outcome::Completed, Outcome::Stopped];
    let race = |side: usize| {
        let (store, barrier, runs) = (stores[side].clone(), barrier.clone(), runs.clone());
        tokio::spawn(async move {
            let mut won = Vec::new();
            for run in &runs {
                barrier.wait().await;
                let end = closing(run, outcomes[side]);
                let finalized = store.finalize(&run.id, CloseAuthority::Operator, end).await;
                won.push(matches!(finalized.expect("an answer"), FinalizeResult::Recorded(_)));
            }
            won
        })
    };
    let (left, right) = (race(0), race(1));
    let (left, right) = (left.await.expect("a side"), right.await.expect("a side"));
    for (number, run) in runs.iter().enumerate() {
        assert!(left[number] ^ right[number], "run {number}");
        let winner = if left[number] { outcomes[0] } else { outcomes[1] };
        let ended = current(&*stores[number % 2], &run.id).await;
        assert_eq!((ended.state.outcome(), ended.last), (Some(winner), 2), "run {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_append_to_their_own_runs_and_lose_nothing() {
    let folder = Temporary::folder();
    let stores = open_two(&folder).await;
    stores[0].create_session(new_session("s")).await.expect("a session");
    let write = |side: usize| {
        let store = stores[side].clone();
        tokio::spawn(async move {
            let id = format!("r{side}");
            let (run, lease) = start_run(&*store, new_run("s", &id)).await;
            for seq in 2..=100 {
                store.append(&id, &lease, texts(&run, seq, seq)).await.expect("stored");
            }
            run
        })
    };
    let (left, right) = (write(0), write(1));
    let runs = [left.await.expect("a side"), right.await.expect("a side")];
    let mut epochs = [runs[0].epoch, runs[1].epoch];
    epochs.sort_unstable();
    assert_eq!(epochs, [1, 2]);
    for (side, run) in runs.iter().enumerate() {
        let other = &stores[1 - side];
        assert_eq!(log(&**other, &run.id).await[1..], texts(run, 2, 100));
    }
}

#[tokio::test]
async fn decisions_of_another_store_count() {
    let folder = Temporary::folder();
    let [left, right] = open_two(&folder).await;
    left.create_session(new_session("s")).await.expect("a session");
    let (run, stale) = start_run(&*left, NewRun { ttl: 0, ..new_run("s", "r") }).await;
    left.append("r", &stale, texts(&run, 2, 2)).await.expect("stored");
    let lease = right.take_over("r", "node-2", LONG).await.expect("an answer").expect("a lease");
    assert_eq!(lease, Lease { owner: "node-2".to_owned(), fence: 2 });
    let fenced = "run `r` is leased by another process: its lease is 2, yours is 1";
    assert_eq!(refusal(left.append("r", &stale, texts(&run, 3, 3)).await), fenced);
    right.append("r", &lease, texts(&run, 3, 3)).await.expect("stored");
    let again = left.start_run(new_run("s", "r")).await.expect("found");
    assert_eq!(again, StartResult::Existing(current(&*right, "r").await));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writer_waits_for_another_process() {
    let folder = Temporary::folder();
    let path = folder.path("store.db");
    let store = Arc::new(SqliteStore::open(&path).await.expect("a store"));
    let (run, lease) = open_run(&*store, "s", "r").await;
    let other = rusqlite::Connection::open(&path).expect("a file");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let writer = store.clone();
    let append = tokio::spawn(async move { writer.append("r", &lease, texts(&run, 2, 2)).await });
    // Reads continue meanwhile, and nothing is acknowledged.
    for _ in 0..20 {
        assert_eq!(log(&*store, "r").await.len(), 1);
    }
    assert!(!append.is_finished());
    other.execute_batch("COMMIT").expect("the lock is gone");
    assert_eq!(append.await.expect("a task").expect("stored"), 2);
}

#[tokio::test]
async fn watcher_is_woken_by_another_store() {
    let folder = Temporary::folder();
    let [left, right] = open_two(&folder).await;
    let (run, lease) = open_run(&*left, "s", "r").await;
    let mut watch = right.watch().await.expect("a watch");
    for seq in 2..=4 {
        left.append("r", &lease, texts(&run, seq, seq)).await.expect("stored");
        // The run is unknown; a woken reader reads what it follows.
        while right.events("r", seq - 1, 10).await.expect("the log").is_empty() {
            assert_eq!(watch.next().await, Some(StoreWake::All));
        }
        assert_eq!(watch.next().await, Some(StoreWake::All));
    }
}

#[tokio::test]
async fn own_watchers_are_woken_with_the_run_id() {
    let folder = Temporary::folder();
    let [left, _right] = open_two(&folder).await;
    let (run, lease) = open_run(&*left, "s", "r").await;
    let mut watch = left.watch().await.expect("a watch");
    let mut all = 0;
    for seq in 2..=20 {
        left.append("r", &lease, texts(&run, seq, seq)).await.expect("stored");
        loop {
            match watch.next().await.expect("a wake-up") {
                StoreWake::Run { run, last } => {
                    assert_eq!(&*run, "r");
                    if last == seq {
                        break;
                    }
                }
                // The other store reset the log when it opened the file, which counts as one write.
                StoreWake::All => {
                    all += 1;
                    break;
                }
            }
        }
    }
    assert!(all <= 1, "{all}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_opens_create_one_file() {
    let folder = Temporary::folder();
    let path = folder.path("store.db");
    let barrier = Arc::new(Barrier::new(6));
    let mut tasks = Vec::new();
    for number in 0..6 {
        let (path, barrier) = (path.clone(), barrier.clone());
        tasks.push(tokio::spawn(async move {
            barrier.wait().await;
            let store = SqliteStore::open(&path).await.expect("a store");
            store.create_session(new_session(&format!("s{number}"))).await.expect("a session");
        }));
    }
    for task in tasks {
        task.await.expect("a task");
    }
    let store = SqliteStore::open(&path).await.expect("a store");
    let all = store.sessions(Default::default(), Default::default()).await.expect("a list");
    assert_eq!(all.len(), 6);
}
