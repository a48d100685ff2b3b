//! Whoever waits for events is woken, and misses none.

use std::{collections::BTreeMap, sync::Arc};

use foxwedge_run::Outcome;
use foxwedge_store::{ArchiveStore, CloseAuthority, NewRun, StoreWake, StoreWatch};

use crate::sample::{at_work, closing, new_run, new_session, refusal, started, texts};

/// Waits until a wake-up covers a run's place.
pub(super) async fn until(watch: &mut StoreWatch, run: &str, place: u64) {
    loop {
        match watch.next().await.expect("a wake-up") {
            StoreWake::Run { run: woken, last } if &*woken == run && last >= place => return,
            StoreWake::Run { .. } => {}
            StoreWake::All => return,
        }
    }
}

pub(crate) async fn whoever_watches_is_woken_by_an_append(store: Arc<impl ArchiveStore>) {
    let (run, lease) = at_work(&*store, "s", "r").await;
    let mut watch = store.watch().await.expect("a watch");
    store.append("r", &lease, texts(&run, 2, 4)).await.expect("stored");
    until(&mut watch, "r", 4).await;
    assert_eq!(store.events("r", 1, 10).await.expect("the log").len(), 3);
}

pub(crate) async fn whoever_watches_is_woken_by_start_and_end(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let mut watch = store.watch().await.expect("a watch");
    let (run, _) = started(&*store, new_run("s", "r")).await;
    until(&mut watch, "r", 1).await;
    let end = closing(&run, Outcome::Completed);
    store.finalize("r", CloseAuthority::Operator, end).await.expect("ended");
    until(&mut watch, "r", 2).await;
}

pub(crate) async fn a_refused_append_wakes_nobody(store: Arc<impl ArchiveStore>) {
    let (run, lease) = at_work(&*store, "s", "r1").await;
    let (other, held) = started(&*store, new_run("s", "r2")).await;
    let mut watch = store.watch().await.expect("a watch");
    refusal(store.append("r1", &lease, texts(&run, 5, 6)).await);
    store.append("r2", &held, texts(&other, 2, 2)).await.expect("stored");
    loop {
        match watch.next().await.expect("a wake-up") {
            // What happened before may still be told.
            StoreWake::Run { last: 1, .. } => {}
            StoreWake::Run { run, last } => {
                assert_eq!((&*run, last), ("r2", 2));
                break;
            }
            // A backend may wake everybody when it begins to listen.
            StoreWake::All => {
                if store.events("r2", 1, 1).await.expect("the log").len() == 1 {
                    break;
                }
            }
        }
    }
}

pub(crate) async fn a_slow_watcher_hears_of_the_highest_place(store: Arc<impl ArchiveStore>) {
    let (run, lease) = at_work(&*store, "s", "r").await;
    let mut watch = store.watch().await.expect("a watch");
    for seq in 2..=50 {
        store.append("r", &lease, texts(&run, seq, seq)).await.expect("stored");
    }
    until(&mut watch, "r", 50).await;
}

pub(crate) async fn no_event_is_missed_by_whoever_reads_after_a_wake(
    store: Arc<impl ArchiveStore>,
) {
    const RUNS: u64 = 4;
    const EVENTS: u64 = 60;
    store.create_session(new_session("s")).await.expect("a session");
    // First watch, then read: whatever comes in between wakes.
    let mut watch = store.watch().await.expect("a watch");
    let mut writers = Vec::new();
    for number in 1..=RUNS {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            let id = format!("r{number}");
            let new = NewRun { key: Some(id.clone()), ..new_run("s", &id) };
            let (run, lease) = started(&*store, new).await;
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
            for (place, event) in (after + 1..).zip(&events) {
                assert_eq!(event.seq, place);
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
    let (run, lease) = at_work(&*store, "s", "r").await;
    let mut first = store.watch().await.expect("a watch");
    let mut second = store.watch().await.expect("a watch");
    drop(store.watch().await.expect("a watch"));
    store.append("r", &lease, texts(&run, 2, 3)).await.expect("stored");
    until(&mut first, "r", 3).await;
    until(&mut second, "r", 3).await;
}
