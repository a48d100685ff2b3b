//! Connections that break and servers that go away: nothing that was acknowledged is lost, nothing
//! is there twice, and whoever watches hears of everything.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use foxwedge_store::{
    CloseAuthority, FinalizeResult, PostgresStore, Store, StoreError, StoreWake, StoreWatch,
};
use tokio::task::JoinSet;

use crate::{
    postgres_fixture::{
        administrator, all_events, begin, closing, fresh, open, own_server, parameter, said, says,
    },
    server::{Care, Server},
};

/// Ends the connections of a test's stores, as an administrator or a proxy does. How many.
async fn terminate(url: &str, which: &str) -> usize {
    let question = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = $1 AND {which}"
    );
    let ended = administrator(url).await;
    ended.query(&question, &[&parameter(url, "application_name")]).await.expect("ended").len()
}

/// Appends one event after the other until told to stop, again after every error; what was
/// acknowledged.
async fn write(store: Arc<PostgresStore>, run: String, stop: Arc<AtomicBool>) -> u64 {
    let lease = begin(&*store, "session", &run, 600_000).await;
    let mut last = 1;
    while !stop.load(Ordering::Relaxed) {
        let seq = last + 1;
        match store.append(&run, &lease, vec![says(&run, seq, &seq.to_string())]).await {
            Ok(told) => {
                assert_eq!(told, seq);
                last = seq;
            }
            // Whether it was stored nobody knows; to say it again is safe.
            Err(StoreError::Unavailable(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    last
}

/// Whether the log of a run holds all that was acknowledged, once and in order.
async fn holds(store: &PostgresStore, run: &str, acknowledged: u64) {
    let events = all_events(store, run).await;
    let places: Vec<u64> = events.iter().map(|event| event.seq).collect();
    let last = places.last().copied().unwrap_or(0);
    assert!(last >= acknowledged, "{run}: {acknowledged} were acknowledged, {last} are there");
    assert_eq!(places, Vec::from_iter(1..=last), "{run}");
    let told: Vec<String> = events.iter().filter_map(said).map(str::to_owned).collect();
    assert_eq!(told, (2..=last).map(|seq| seq.to_string()).collect::<Vec<_>>(), "{run}");
}

/// Reads whatever it is woken for, until a run has ended; the places of each run as they came.
async fn follow(store: &PostgresStore, watch: &mut StoreWatch, run: &str, until: u64) -> Vec<u64> {
    let mut places: HashMap<String, Vec<u64>> = HashMap::new();
    places.entry(run.to_owned()).or_default();
    loop {
        let woken: Vec<String> = match watch.next().await.expect("a wake-up") {
            StoreWake::Run { run, .. } => vec![run.to_string()],
            StoreWake::All => places.keys().cloned().collect(),
        };
        for run in woken {
            let seen = places.entry(run.clone()).or_default();
            let after = seen.last().copied().unwrap_or(0);
            let events = store.events(&run, after, usize::MAX).await.expect("events");
            seen.extend(events.iter().map(|event| event.seq));
        }
        let seen = places.get(run).expect("it");
        if seen.last() == Some(&until) {
            return seen.clone();
        }
    }
}

/// Waits until a run has come to a place.
async fn heard(watch: &mut StoreWatch, place: u64) {
    loop {
        match watch.next().await.expect("a wake-up") {
            StoreWake::Run { last, .. } if last >= place => return,
            StoreWake::Run { .. } | StoreWake::All => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_watcher_hears_of_what_another_process_writes() {
    let Some(url) = fresh() else { return };
    let (writer, reader) = (open(&url).await, open(&url).await);
    let lease = begin(&writer, "session", "run", 60_000).await;
    let mut watch = reader.watch().await.expect("a watcher");
    let reading = tokio::spawn(async move { follow(&reader, &mut watch, "run", 102).await });
    for seq in 2..102 {
        writer.append("run", &lease, vec![says("run", seq, "x")]).await.expect("an append");
    }
    let end =
        writer.finalize("run", CloseAuthority::Holder(lease), closing("run", 102, "end")).await;
    assert!(matches!(end.expect("an end"), FinalizeResult::Recorded(_)));
    assert_eq!(reading.await.expect("all of it"), Vec::from_iter(1..=102));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_watcher_whose_connection_is_cut_again_and_again_misses_nothing() {
    let Some(url) = fresh() else { return };
    let (writer, reader) = (open(&url).await, open(&url).await);
    let lease = begin(&writer, "session", "run", 60_000).await;
    let mut watch = reader.watch().await.expect("a watcher");
    let reading = tokio::spawn(async move { follow(&reader, &mut watch, "run", 201).await });
    let mut cut = 0;
    for seq in 2..=201 {
        if seq % 20 == 0 {
            // Those that listen, of the writer and of the reader.
            cut += terminate(&url, "query ~ 'LISTEN|pg_notify|closed > now_ms'").await;
        }
        writer.append("run", &lease, vec![says("run", seq, "x")]).await.expect("an append");
    }
    assert_eq!(reading.await.expect("all of it"), Vec::from_iter(1..=201));
    assert!(cut > 0, "nothing was cut");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_watcher_finds_what_nobody_told_it_of() {
    let Some(url) = fresh() else { return };
    let (writer, reader) = (open(&url).await, open(&url).await);
    begin(&writer, "session", "run", 60_000).await;
    let mut watch = reader.watch().await.expect("a watcher");
    // It looks once when it begins.
    heard(&mut watch, 1).await;
    // As if the writer had been killed after its commit and before it told anybody.
    let schema = parameter(&url, "schema");
    let silent = format!(
        "WITH run AS (UPDATE {schema}.runs SET last = 2, chain = '\\x00' WHERE id = 'run'
                      RETURNING serial)
         INSERT INTO {schema}.events SELECT serial, 2, '{{}}', '\\x00' FROM run"
    );
    administrator(&url).await.batch_execute(&silent).await.expect("written");
    heard(&mut watch, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_connections_are_cut_in_the_middle_of_appends_and_nothing_is_lost_or_doubled() {
    let Some(url) = fresh() else { return };
    let store = Arc::new(open(&url).await);
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    let runs: Vec<String> = (0..6).map(|run| format!("run-{run}")).collect();
    for run in &runs {
        let (store, run, stop) = (store.clone(), run.clone(), stop.clone());
        writers.spawn(async move { (run.clone(), write(store, run, stop).await) });
    }
    let mut cut = 0;
    while cut < 60 {
        cut += terminate(&url, "true").await;
        // Everybody is at work again before the next cut.
        store.session("session").await.expect("an answer");
    }
    stop.store(true, Ordering::Relaxed);
    for (run, acknowledged) in writers.join_all().await {
        holds(&store, &run, acknowledged).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_are_cut_while_two_race_for_the_end_and_one_wins() {
    let Some(url) = fresh() else { return };
    let (left, right) = (Arc::new(open(&url).await), Arc::new(open(&url).await));
    let mut cut = 0;
    for number in 0..100 {
        let run = format!("run-{number}");
        begin(&*left, "session", &run, 60_000).await;
        let mut sides = JoinSet::new();
        for store in [left.clone(), right.clone()] {
            let run = run.clone();
            sides.spawn(async move {
                store.finalize(&run, CloseAuthority::Operator, closing(&run, 2, "end")).await
            });
        }
        cut += terminate(&url, "state <> 'idle'").await;
        let told = sides.join_all().await;
        let won =
            told.iter().filter(|told| matches!(told, Ok(FinalizeResult::Recorded(_)))).count();
        assert_eq!(won, 1, "{told:?}");
    }
    assert!(cut > 0, "nothing was cut");
}

/// What a server goes through while somebody writes to it.
async fn survives(
    server: &mut Server,
    times: usize,
    trouble: fn(&mut Server) -> Result<(), String>,
) {
    let url = format!("{}?application_name=outage", server.url());
    let store = Arc::new(open(&url).await);
    let mut watch = store.watch().await.expect("a watcher");
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write(store.clone(), "run".to_owned(), stop.clone()));
    for _ in 0..times {
        // It has written since the last time.
        heard(&mut watch, 5).await;
        tokio::task::block_in_place(|| {
            trouble(server).expect("stopped");
            server.launch().expect("started");
        });
    }
    let before = store.run("run").await.expect("an answer").expect("a run").last;
    heard(&mut watch, before + 1).await;
    stop.store(true, Ordering::Relaxed);
    let acknowledged = writer.await.expect("it goes on");
    assert!(acknowledged > before);
    holds(&store, "run", acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_is_restarted_is_found_again() {
    let Some(mut server) = own_server(Care::Durable, &[]) else { return };
    survives(&mut server, 3, Server::stop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_crashes_has_kept_what_it_acknowledged() {
    let Some(mut server) = own_server(Care::Durable, &[]) else { return };
    // Once, since it takes a server some seconds to make sure of all its files.
    survives(&mut server, 1, Server::crash).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_stays_away_is_an_error_and_not_a_wait_for_ever() {
    let Some(mut server) = own_server(Care::Fast, &[]) else { return };
    let store = open(&server.url()).await;
    let lease = begin(&store, "session", "run", 60_000).await;
    tokio::task::block_in_place(|| server.stop()).expect("stopped");
    let told = store.append("run", &lease, vec![says("run", 2, "x")]).await;
    assert!(matches!(told, Err(StoreError::Unavailable(_))), "{told:?}");
    tokio::task::block_in_place(|| server.launch()).expect("started");
    assert_eq!(store.append("run", &lease, vec![says("run", 2, "x")]).await.expect("stored"), 2);
}
