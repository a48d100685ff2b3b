//! Flipped bits in a database file. An event is unchanged, or there is an error; it never differs,
//! and no reader panics. A changed record is found by an examination.

use std::{
    collections::BTreeMap,
    fs,
    panic::{self, PanicHookInfo},
    sync::atomic::{AtomicUsize, Ordering},
};

use foxwedge_run::wire;
use foxwedge_store::{ArchiveStore, RawEvent, Result, SqliteStore, Store, StoreError, StoredEvent};

use crate::{
    judge::{log, records, runs},
    random::Random,
    sample::fill,
    settings::{rounds, seed, turn, wait_for},
    story::{Weight, Workload},
    temporary::Temporary,
};

/// Where bits flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// In the database itself, after it was closed.
    Database,
    /// In the write-ahead log that a killed process has left.
    Log,
}

/// What reads the events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The store.
    Ours,
    /// A planted bug: trusts what it finds.
    Believes,
}

impl Reader {
    async fn reads(self, store: &SqliteStore, run: &str) -> Result<Vec<StoredEvent>> {
        if self == Reader::Ours {
            return store.events(run, 0, usize::MAX).await;
        }
        let read = |raw: RawEvent| {
            let event = wire::read(&raw.body).ok()?;
            Some(StoredEvent { seq: raw.seq, event, chain: raw.chain })
        };
        let epoch = store.run(run).await?.map(|run| run.epoch);
        let mut events: Vec<StoredEvent> =
            log(store, run).await?.into_iter().filter_map(read).collect();
        events.iter_mut().for_each(|stored| stored.event.epoch = epoch);
        Ok(events)
    }
}

/// The original files of a store, and all its events.
struct Original {
    database: Vec<u8>,
    log: Vec<u8>,
    events: BTreeMap<String, Vec<StoredEvent>>,
    records: BTreeMap<String, Vec<String>>,
}

/// Results of the flips.
#[derive(Debug, Default)]
struct Tally {
    flips: usize,
    /// The store could not be opened and returned an error.
    unopened: usize,
    /// An event could not be read, and the error named it.
    errors: usize,
    /// An examination found it.
    examined: usize,
    breaches: Vec<String>,
}

async fn original(target: Target) -> Original {
    let folder = Temporary::folder();
    let file = folder.path("store.db");
    let store = SqliteStore::open(&file).await.expect("a store");
    let workload = Workload { seed: seed(), weight: Weight::Light };
    fill(&store, &workload, 8).await;
    let (mut events, mut bodies) = (BTreeMap::new(), BTreeMap::new());
    for run in runs(&store).await.expect("runs") {
        let log = store.events(&run.id, 0, usize::MAX).await.expect("events");
        events.insert(run.id, log);
        let bodies_of_session = records(&store, &run.session).await.expect("records");
        let bodies_of_session =
            bodies_of_session.into_iter().map(|record| record.record.body).collect();
        bodies.insert(run.session, bodies_of_session);
    }
    let mut store = Some(store);
    if target == Target::Database {
        store.take();
    }
    let log = fs::read(folder.path("store.db-wal")).unwrap_or_default();
    Original { database: fs::read(&file).expect("a file"), log, events, records: bodies }
}

impl Tally {
    async fn check_flip(
        &mut self,
        original: &Original,
        (target, reader): (Target, Reader),
        random: &mut Random,
    ) {
        let (mut database, mut log) = (original.database.clone(), original.log.clone());
        let what = match target {
            Target::Database => flip(&mut database, random),
            Target::Log => flip(&mut log, random),
        };
        let folder = Temporary::folder();
        fs::write(folder.path("store.db"), database).expect("a file");
        if !log.is_empty() {
            fs::write(folder.path("store.db-wal"), log).expect("a file");
        }
        self.flips += 1;
        match SqliteStore::open(folder.path("store.db")).await {
            Ok(store) => self.check_events(&store, original, (target, reader), &what).await,
            Err(_) => self.unopened += 1,
        }
    }

    async fn check_events(
        &mut self,
        store: &SqliteStore,
        original: &Original,
        (target, reader): (Target, Reader),
        what: &str,
    ) {
        // A log that breaks off loses what was not in the database yet; that cannot be detected.
        let has_error = match (target, store.examine().await) {
            (Target::Log, _) => true,
            (Target::Database, Ok(found)) => !found.is_empty(),
            (Target::Database, Err(_)) => true,
        };
        self.examined += usize::from(has_error);
        for (run, expected) in &original.events {
            match reader.reads(store, run).await {
                Ok(events) => {
                    let same = events == *expected;
                    let shorter = target == Target::Log && expected.starts_with(&events);
                    if !same && !shorter {
                        self.breaches.push(format!("{what}: the events of {run} are others"));
                    }
                }
                // It can no longer be found by its name.
                Err(StoreError::NoRun(_)) if has_error => {}
                Err(StoreError::NoRun(_)) => self.breaches.push(format!("{what}: {run} is gone")),
                Err(_) => self.errors += 1,
            }
        }
        if target == Target::Log {
            return;
        }
        for (session, expected) in &original.records {
            let Ok(stored) = records(store, session).await else { continue };
            let bodies = stored.into_iter().map(|record| record.record.body);
            if !bodies.eq(expected.iter().cloned()) && !has_error {
                self.breaches.push(format!("{what}: the records of {session} are others"));
            }
        }
    }
}

/// Changes mostly one bit, sometimes a few bytes, sometimes a sector.
fn flip(bytes: &mut [u8], random: &mut Random) -> String {
    let offset = random.place(bytes.len());
    match random.below(10) {
        0 => {
            let sector = offset / 512 * 512;
            let end = bytes.len().min(sector + 512);
            bytes[sector..end].fill(0);
            format!("no sector {sector}")
        }
        1 => {
            let end = bytes.len().min(offset + 8);
            bytes[offset..end].iter_mut().for_each(|byte| *byte = random.next() as u8);
            format!("bytes {offset}..{end}")
        }
        _ => {
            let bit = random.below(8);
            bytes[offset] ^= 1 << bit;
            format!("bit {bit} of byte {offset}")
        }
    }
}

/// Counts panics in all threads while `work` runs.
fn panics<T>(work: impl FnOnce() -> T) -> (T, usize) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let before = COUNT.load(Ordering::SeqCst);
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        COUNT.fetch_add(1, Ordering::SeqCst);
        usual(panic);
    }));
    let done = work();
    (done, COUNT.load(Ordering::SeqCst) - before)
}

/// Flips bits in both files.
async fn campaign(flips: usize, reader: Reader) -> Tally {
    let mut random = Random::of(seed(), &["pages"]);
    let mut tally = Tally::default();
    for target in [Target::Database, Target::Log] {
        let original = original(target).await;
        for _ in 0..flips.div_ceil(2) {
            tally.check_flip(&original, (target, reader), &mut random).await;
        }
    }
    tally
}

#[test]
fn flipped_bit_never_changes_an_event() {
    let _turn = turn();
    let flips = rounds("FOXWEDGE_FLIPS", 200);
    let (tally, panics) = panics(|| wait_for(campaign(flips, Reader::Ours)));
    let Tally { flips, unopened, errors, examined, breaches } = tally;
    println!(
        "{flips} flips: {unopened} stores not opened, {errors} logs with an error, {examined} found \
         by an examination"
    );
    assert_eq!((breaches, panics), (Vec::new(), 0));
}

#[test]
fn planted_trusting_reader_is_found() {
    let _turn = turn();
    let tally = wait_for(campaign(200, Reader::Believes));
    let found = tally.breaches.first().expect("somebody notices");
    println!("planted, {} breaches in {} flips: {found}", tally.breaches.len(), tally.flips);
}
