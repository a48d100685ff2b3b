//! Watchers are woken and miss no event.

use std::{collections::BTreeMap, sync::Arc};

use foxwedge_run::Outcome;
use foxwedge_store::{ArchiveStore, CloseAuthority, NewRun, StoreWake, StoreWatch};

use crate::sample::{closing, new_run, new_session, open_run, refusal, start_run, texts};

/// Waits until a wake-up covers a sequence number of a run.
pub(super) async fn wait_for_wake(watch: &mut StoreWatch, run: &str, seq: u64) {
    loop {
        match watch.next().await.expect("a wake-up") {
            StoreWake::Run { run: woken, last } if &*woken == run && last >= seq => return,
            StoreWake::Run { .. } => {}
            StoreWake::All => return,
        }
    }
}

pub(crate) async fn a_watcher_is_woken_by_an_append(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let mut watch = store.watch().await.expect("a watch");
    store.append("r", &lease, texts(&run, 2, 4)).await.expect("stored");
    wait_for_wake(&mut watch, "r", 4).await;
    assert_eq!(store.events("r", 1, 10).await.expect("the log").len(), 3);
}

pub(crate) async fn a_watcher_is_woken_by_start_and_end(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let mut watch = store.watch().await.expect("a watch");
    let (run, _) = start_run(&*store, new_run("s", "r")).await;
    wait_for_wake(&mut watch, "r", 1).await;
    let end = closing(&run, Outcome::Completed);
    store.finalize("r", CloseAuthority::Operator, end).await.expect("ended");
    wait_for_wake(&mut watch, "r", 2).await;
}

pub(crate) async fn a_refused_append_wakes_no_watcher(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r1").await;
    let (other, other_lease) = start_run(&*store, new_run("s", "r2")).await;
    let mut watch = store.watch().await.expect("a watch");
    refusal(store.append("r1", &lease, texts(&run, 5, 6)).await);
    store.append("r2", &other_lease, texts(&other, 2, 2)).await.expect("stored");
    loop {
        match watch.next().await.expect("a wake-up") {
            // Earlier events may still be reported.
            StoreWake::Run { last: 1, .. } => {}
            StoreWake::Run { run, last } => {
                assert_eq!((&*run, last), ("r2", 2));
                break;
            }
            // A backend may wake all watchers when it starts to listen.
            StoreWake::All => {
                if store.events("r2", 1, 1).await.expect("the log").len() == 1 {
                    break;
                }
            }
        }
    }
}

pub(crate) async fn a_slow_watcher_gets_the_highest_sequence_number(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let mut watch = store.watch().await.expect("a watch");
    for seq in 2..=50 {
        store.append("r", &lease, texts(&run, seq, seq)).await.expect("stored");
    }
    wait_for_wake(&mut watch, "r", 50).await;
}

pub(crate) async fn a_reader_that_follows_wakes_misses_no_event(store: Arc<impl ArchiveStore>) {
    const RUNS: u64 = 4;
    const EVENTS: u64 = 60;
    store.create_session(new_session("s")).await.expect("a session");
    // Watch first, then read: whatever arrives in between wakes the watcher.
    let mut watch = store.watch().await.expect("a watch");
    let mut writers = Vec::new();
    for number in 1..=RUNS {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            let id = format!("r{number}");
            let new = NewRun { key: Some(id.clone()), ..new_run("s", &id) };
            let (run, lease) = start_run(&*store, new).await;
            for seq in 2..=EVENTS {
                store.append(&id, &lease, texts(&run, seq, seq)).await.expect("stored");
            }
        }));
    }
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    while seen.len() < RUNS as usize || seen.values().any(|last| *last < EVENTS) {
        let woken: Vec<String> = match watch.next().await.expect("a wake-up") {
            StoreWake::Run { run, .. } => vec![run.to_string()],
            StoreWake::All => (1..=RUNS).map(|number| format!("r{number}")).collect(),
        };
        for id in woken {
            let Some(run) = store.run(&id).await.expect("an answer") else { continue };
            let after = seen.get(&run.id).copied().unwrap_or(0);
            let events = store.events(&id, after, 1_000).await.expect("the log");
            for (seq, event) in (after + 1..).zip(&events) {
                assert_eq!(event.seq, seq);
            }
            seen.insert(id, after + events.len() as u64);
        }
    }
    for writer in writers {
        writer.await.expect("a writer");
    }
    assert!(seen.values().all(|last| *last == EVENTS), "{seen:?}");
}

pub(crate) async fn two_watchers_are_both_woken(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let mut first = store.watch().await.expect("a watch");
    let mut second = store.watch().await.expect("a watch");
    drop(store.watch().await.expect("a watch"));
    store.append("r", &lease, texts(&run, 2, 3)).await.expect("stored");
    wait_for_wake(&mut first, "r", 3).await;
    wait_for_wake(&mut second, "r", 3).await;
}
