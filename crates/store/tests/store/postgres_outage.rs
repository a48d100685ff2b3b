//! Broken connections and missing servers: no acknowledged event is lost or duplicated, and
//! watchers see everything.

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
        administrator, all_events, begin, closing, event_text, fresh, open, own_server, parameter,
        text_event,
    },
    server::{Care, Server},
};

/// Ends the connections of a test's stores, as an administrator or a proxy does. Returns how many.
async fn terminate(url: &str, which: &str) -> usize {
    let sql = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = $1 AND {which}"
    );
    let client = administrator(url).await;
    client.query(&sql, &[&parameter(url, "application_name")]).await.expect("ended").len()
}

/// Appends events until `stop` is set, and retries after every error. Returns the last acknowledged
/// sequence number.
async fn write(store: Arc<PostgresStore>, run: String, stop: Arc<AtomicBool>) -> u64 {
    let lease = begin(&*store, "session", &run, 600_000).await;
    let mut last = 1;
    while !stop.load(Ordering::Relaxed) {
        let seq = last + 1;
        match store.append(&run, &lease, vec![text_event(&run, seq, &seq.to_string())]).await {
            Ok(stored) => {
                assert_eq!(stored, seq);
                last = seq;
            }
            // Whether it was stored is unknown; a retry is safe.
            Err(StoreError::Unavailable(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    last
}

/// Checks that the log of a run contains all acknowledged events, once and in order.
async fn check_log(store: &PostgresStore, run: &str, acknowledged: u64) {
    let events = all_events(store, run).await;
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    let last = seqs.last().copied().unwrap_or(0);
    assert!(last >= acknowledged, "{run}: {acknowledged} were acknowledged, {last} are there");
    assert_eq!(seqs, Vec::from_iter(1..=last), "{run}");
    let texts: Vec<String> = events.iter().filter_map(event_text).map(str::to_owned).collect();
    assert_eq!(texts, (2..=last).map(|seq| seq.to_string()).collect::<Vec<_>>(), "{run}");
}

/// Reads every run it is woken for until `run` has event `until`. Returns the sequence numbers of
/// `run` in order of arrival.
async fn follow(store: &PostgresStore, watch: &mut StoreWatch, run: &str, until: u64) -> Vec<u64> {
    let mut seqs: HashMap<String, Vec<u64>> = HashMap::new();
    seqs.entry(run.to_owned()).or_default();
    loop {
        let woken: Vec<String> = match watch.next().await.expect("a wake-up") {
            StoreWake::Run { run, .. } => vec![run.to_string()],
            StoreWake::All => seqs.keys().cloned().collect(),
        };
        for run in woken {
            let seen = seqs.entry(run.clone()).or_default();
            let after = seen.last().copied().unwrap_or(0);
            let events = store.events(&run, after, usize::MAX).await.expect("events");
            seen.extend(events.iter().map(|event| event.seq));
        }
        let seen = seqs.get(run).expect("it");
        if seen.last() == Some(&until) {
            return seen.clone();
        }
    }
}

/// Waits until a run has reached a sequence number.
async fn wait_for_seq(watch: &mut StoreWatch, seq: u64) {
    loop {
        match watch.next().await.expect("a wake-up") {
            StoreWake::Run { last, .. } if last >= seq => return,
            StoreWake::Run { .. } | StoreWake::All => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn watcher_is_woken_by_another_process() {
    let Some(url) = fresh() else { return };
    let (writer, reader) = (open(&url).await, open(&url).await);
    let lease = begin(&writer, "session", "run", 60_000).await;
    let mut watch = reader.watch().await.expect("a watcher");
    let reading = tokio::spawn(async move { follow(&reader, &mut watch, "run", 102).await });
    for seq in 2..102 {
        writer.append("run", &lease, vec![text_event("run", seq, "x")]).await.expect("an append");
    }
    let end =
        writer.finalize("run", CloseAuthority::Holder(lease), closing("run", 102, "end")).await;
    assert!(matches!(end.expect("an end"), FinalizeResult::Recorded(_)));
    assert_eq!(reading.await.expect("all of it"), Vec::from_iter(1..=102));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn watcher_with_repeated_connection_loss_misses_nothing() {
    let Some(url) = fresh() else { return };
    let (writer, reader) = (open(&url).await, open(&url).await);
    let lease = begin(&writer, "session", "run", 60_000).await;
    let mut watch = reader.watch().await.expect("a watcher");
    let reading = tokio::spawn(async move { follow(&reader, &mut watch, "run", 201).await });
    let mut cut = 0;
    for seq in 2..=201 {
        if seq % 20 == 0 {
            // The listening connections of the writer and of the reader.
            cut += terminate(&url, "query ~ 'LISTEN|pg_notify|closed > now_ms'").await;
        }
        writer.append("run", &lease, vec![text_event("run", seq, "x")]).await.expect("an append");
    }
    assert_eq!(reading.await.expect("all of it"), Vec::from_iter(1..=201));
    assert!(cut > 0, "nothing was cut");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn watcher_finds_events_without_a_notification() {
    let Some(url) = fresh() else { return };
    let (writer, reader) = (open(&url).await, open(&url).await);
    begin(&writer, "session", "run", 60_000).await;
    let mut watch = reader.watch().await.expect("a watcher");
    // It polls once when it starts. On a slow machine what it finds is part of the wake-up for all.
    watch.next().await.expect("a wake-up");
    // As if the writer had been killed after its commit, before it sent a message.
    let schema = parameter(&url, "schema");
    let sql = format!(
        "WITH run AS (UPDATE {schema}.runs SET last = 2, chain = '\\x00' WHERE id = 'run'
                      RETURNING serial)
         INSERT INTO {schema}.events SELECT serial, 2, '{{}}', '\\x00' FROM run"
    );
    administrator(&url).await.batch_execute(&sql).await.expect("written");
    wait_for_seq(&mut watch, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cut_connections_during_appends_lose_and_duplicate_nothing() {
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
        // Every writer has a connection again before the next cut.
        store.session("session").await.expect("an answer");
    }
    stop.store(true, Ordering::Relaxed);
    for (run, acknowledged) in writers.join_all().await {
        check_log(&store, &run, acknowledged).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_two_racing_ends_wins_despite_cut_connections() {
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
        let results = sides.join_all().await;
        let won = results
            .iter()
            .filter(|result| matches!(result, Ok(FinalizeResult::Recorded(_))))
            .count();
        assert_eq!(won, 1, "{results:?}");
    }
    assert!(cut > 0, "nothing was cut");
}

/// Breaks a server repeatedly while a writer is active.
async fn check_survival(
    server: &mut Server,
    times: usize,
    break_server: fn(&mut Server) -> Result<(), String>,
) {
    let url = format!("{}?application_name=outage", server.url());
    let store = Arc::new(open(&url).await);
    let mut watch = store.watch().await.expect("a watcher");
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write(store.clone(), "run".to_owned(), stop.clone()));
    for _ in 0..times {
        // It has written since the last time.
        wait_for_seq(&mut watch, 5).await;
        tokio::task::block_in_place(|| {
            break_server(server).expect("stopped");
            server.launch().expect("started");
        });
    }
    let before = store.run("run").await.expect("an answer").expect("a run").last;
    wait_for_seq(&mut watch, before + 1).await;
    stop.store(true, Ordering::Relaxed);
    let acknowledged = writer.await.expect("it goes on");
    assert!(acknowledged > before);
    check_log(&store, "run", acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn restarted_server_is_found_again() {
    let Some(mut server) = own_server(Care::Durable, &[]) else { return };
    check_survival(&mut server, 3, Server::stop).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn crashed_server_keeps_acknowledged_events() {
    let Some(mut server) = own_server(Care::Durable, &[]) else { return };
    // Once, because after a crash a server needs some seconds to sync its files.
    check_survival(&mut server, 1, Server::crash).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn missing_server_is_an_error_within_a_limited_time() {
    let Some(mut server) = own_server(Care::Fast, &[]) else { return };
    let store = open(&server.url()).await;
    let lease = begin(&store, "session", "run", 60_000).await;
    tokio::task::block_in_place(|| server.stop()).expect("stopped");
    let result = store.append("run", &lease, vec![text_event("run", 2, "x")]).await;
    assert!(matches!(result, Err(StoreError::Unavailable(_))), "{result:?}");
    tokio::task::block_in_place(|| server.launch()).expect("started");
    assert_eq!(
        store.append("run", &lease, vec![text_event("run", 2, "x")]).await.expect("stored"),
        2
    );
}
