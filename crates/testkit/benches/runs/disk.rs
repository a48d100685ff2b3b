//! An event on disk, beside a plain file: one writer at a time, and thirty-two at once.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use foxwedge_run::{EventPayload, RunEvent, SharedId, TextUpdate, wire};
use foxwedge_store::{AnyStore, Lease, NewRun, NewSession, RunRow, StartResult, Store, StoreUrl};

use super::median;

const ROUNDS: usize = 9;
const APPENDS: u64 = 400;
const WRITERS: u64 = 32;

pub(crate) async fn print() {
    println!("disk: durable appends of one event, {ROUNDS} interleaved rounds of {APPENDS}\n");
    let folder = folder();
    std::fs::create_dir_all(&folder).expect("a folder");
    let sqlite = StoreUrl::Sqlite(folder.join("runs.db"));
    measure("SQLite", &sqlite, &folder).await;
    match std::env::var("FOXWEDGE_TEST_POSTGRES") {
        Ok(url) => measure("PostgreSQL", &url.parse().expect("a URL"), &folder).await,
        Err(_) => println!("  PostgreSQL is left out: FOXWEDGE_TEST_POSTGRES names no server\n"),
    }
    let _ = std::fs::remove_dir_all(&folder);
}

async fn measure(name: &str, url: &StoreUrl, folder: &Path) {
    let store = Arc::new(AnyStore::open(url).await.expect("a store"));
    let session = format!("bench-{}", std::process::id());
    let new = NewSession { id: session.clone(), ..NewSession::default() };
    store.create_session(new).await.expect("a session");
    let mut alone = Writer::new(&store, &session, 0).await;
    let mut together = Vec::new();
    for number in 1..=WRITERS {
        together.push(Writer::new(&store, &session, number).await);
    }
    let line = wire::write(&alone.event());
    let mut raw = Raw::open(folder);
    let (mut singles, mut plain, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut times = (Vec::new(), Vec::new());
        for _ in 0..APPENDS {
            times.0.push(raw.append(&line));
            times.1.push(alone.append().await);
        }
        plain.push(median(times.0));
        singles.push(median(times.1));
        let start = Instant::now();
        let tasks = together.drain(..).map(|writer| tokio::spawn(writer.append_many(APPENDS / 4)));
        let tasks: Vec<_> = tasks.collect();
        for task in tasks {
            together.push(task.await.expect("a writer"));
        }
        groups.push((WRITERS * APPENDS / 4) as f64 / start.elapsed().as_secs_f64());
    }
    let ratios = singles.iter().zip(&plain).map(|(ours, raw)| ours / raw).collect();
    let one_each: Vec<f64> = plain.iter().map(|seconds| 1.0 / seconds).collect();
    let gains = groups.iter().zip(&one_each).map(|(ours, raw)| ours / raw).collect();
    println!("  {name}, an event of {} bytes", line.len());
    println!("    plain append + fdatasync, median µs        {:>10.1}", median(plain) * 1e6);
    println!("    one append here, median µs                 {:>10.1}", median(singles) * 1e6);
    println!("    here ÷ plain                               {:>10.2}", median(ratios));
    println!("    {WRITERS} writers at once, events a second        {:>10.0}", median(groups));
    println!("    ÷ one fdatasync each                       {:>10.1}\n", median(gains));
    drop(together);
    drop(alone);
}

/// A plain file that is synced after every line.
struct Raw(File);

impl Raw {
    fn open(folder: &Path) -> Raw {
        let file = OpenOptions::new().create(true).append(true).open(folder.join("plain.jsonl"));
        Raw(file.expect("a file"))
    }

    fn append(&mut self, line: &str) -> f64 {
        let start = Instant::now();
        self.0.write_all(line.as_bytes()).and_then(|()| self.0.sync_data()).expect("written");
        start.elapsed().as_secs_f64()
    }
}

/// Somebody who writes to a run of its own.
pub(crate) struct Writer {
    store: Arc<AnyStore>,
    run: RunRow,
    lease: Lease,
    last: u64,
}

impl Writer {
    pub(crate) async fn new(store: &Arc<AnyStore>, session: &str, number: u64) -> Writer {
        let new = NewRun {
            id: format!("{session}-{number}"),
            session: session.to_owned(),
            owner: "bench".to_owned(),
            ttl: 3_600_000,
            ..NewRun::default()
        };
        match store.start_run(new).await.expect("a run") {
            StartResult::New { run, lease } => {
                Writer { store: store.clone(), last: run.last, run, lease }
            }
            StartResult::Existing(run) => panic!("run `{}` was there", run.id),
        }
    }

    pub(crate) fn run(&self) -> &RunRow {
        &self.run
    }

    /// The next event.
    fn event(&self) -> RunEvent {
        let message = Some(SharedId::from("msg_01"));
        let delta = Some("word ".repeat(100));
        let body = EventPayload::Text(TextUpdate { message, delta, ..TextUpdate::default() });
        let run = SharedId::from(self.run.id.as_str());
        RunEvent {
            epoch: Some(self.run.epoch),
            seq: Some(self.last + 1),
            at: Some(1_700_000_000_000),
            ..RunEvent::new(&run, body)
        }
    }

    pub(crate) async fn append(&mut self) -> f64 {
        let event = self.event();
        self.last += 1;
        let start = Instant::now();
        self.store.append(&self.run.id, &self.lease, vec![event]).await.expect("stored");
        start.elapsed().as_secs_f64()
    }

    async fn append_many(mut self, count: u64) -> Writer {
        for _ in 0..count {
            self.append().await;
        }
        self
    }
}

pub(crate) fn folder() -> PathBuf {
    let base =
        std::env::var_os("FOXWEDGE_BENCH_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    base.join(format!("foxwedge-bench-runs-{}", std::process::id()))
}
