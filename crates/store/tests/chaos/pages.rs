//! Bits that flip in the file of a database. An event is what it was, or there is an error; never
//! is it something else, and never does a reader panic. A record that changed is found by an
//! examination.

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
    story::{Story, Weight},
    temporary::Temporary,
};

/// Where bits flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// In the database itself, after it was closed.
    Database,
    /// In the log beside it, which somebody who was killed has left.
    Log,
}

/// Who reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The store.
    Ours,
    /// The bug that is planted: it believes what it finds.
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

/// A store as it was: its files, and every event in it.
struct Original {
    database: Vec<u8>,
    log: Vec<u8>,
    events: BTreeMap<String, Vec<StoredEvent>>,
    records: BTreeMap<String, Vec<String>>,
}

/// What became of flips.
#[derive(Debug, Default)]
struct Tally {
    flips: usize,
    /// The store could not be opened, and said why.
    unopened: usize,
    /// Some event could not be read, and the store said which.
    errors: usize,
    /// An examination found it.
    examined: usize,
    breaches: Vec<String>,
}

async fn original(target: Target) -> Original {
    let folder = Temporary::folder();
    let file = folder.path("store.db");
    let store = SqliteStore::open(&file).await.expect("a store");
    let story = Story { seed: seed(), weight: Weight::Light };
    fill(&store, &story, 8).await;
    let (mut events, mut bodies) = (BTreeMap::new(), BTreeMap::new());
    for run in runs(&store).await.expect("runs") {
        let log = store.events(&run.id, 0, usize::MAX).await.expect("events");
        events.insert(run.id, log);
        let kept = records(&store, &run.session).await.expect("records");
        let kept = kept.into_iter().map(|record| record.record.body).collect();
        bodies.insert(run.session, kept);
    }
    let mut store = Some(store);
    if target == Target::Database {
        store.take();
    }
    let log = fs::read(folder.path("store.db-wal")).unwrap_or_default();
    Original { database: fs::read(&file).expect("a file"), log, events, records: bodies }
}

impl Tally {
    async fn tries(
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
            Ok(store) => self.reads(&store, original, (target, reader), &what).await,
            Err(_) => self.unopened += 1,
        }
    }

    async fn reads(
        &mut self,
        store: &SqliteStore,
        original: &Original,
        (target, reader): (Target, Reader),
        what: &str,
    ) {
        // A log that breaks off takes with it what was not in the database yet: nobody can know.
        let complains = match (target, store.examine().await) {
            (Target::Log, _) => true,
            (Target::Database, Ok(complaints)) => !complaints.is_empty(),
            (Target::Database, Err(_)) => true,
        };
        self.examined += usize::from(complains);
        for (run, expected) in &original.events {
            match reader.reads(store, run).await {
                Ok(events) => {
                    let same = events == *expected;
                    let shorter = target == Target::Log && expected.starts_with(&events);
                    if !same && !shorter {
                        self.breaches.push(format!("{what}: the events of {run} are others"));
                    }
                }
                // It is not found by its name any more.
                Err(StoreError::NoRun(_)) if complains => {}
                Err(StoreError::NoRun(_)) => self.breaches.push(format!("{what}: {run} is gone")),
                Err(_) => self.errors += 1,
            }
        }
        if target == Target::Log {
            return;
        }
        for (session, expected) in &original.records {
            let Ok(kept) = records(store, session).await else { continue };
            let bodies = kept.into_iter().map(|record| record.record.body);
            if !bodies.eq(expected.iter().cloned()) && !complains {
                self.breaches.push(format!("{what}: the records of {session} are others"));
            }
        }
    }
}

/// Changes something: mostly one bit, sometimes a few bytes, sometimes a sector.
fn flip(bytes: &mut [u8], random: &mut Random) -> String {
    let place = random.place(bytes.len());
    match random.below(10) {
        0 => {
            let sector = place / 512 * 512;
            let end = bytes.len().min(sector + 512);
            bytes[sector..end].fill(0);
            format!("no sector {sector}")
        }
        1 => {
            let end = bytes.len().min(place + 8);
            bytes[place..end].iter_mut().for_each(|byte| *byte = random.next() as u8);
            format!("bytes {place}..{end}")
        }
        _ => {
            let bit = random.below(8);
            bytes[place] ^= 1 << bit;
            format!("bit {bit} of byte {place}")
        }
    }
}

/// How often somebody panicked while something was done, in whichever thread.
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
            tally.tries(&original, (target, reader), &mut random).await;
        }
    }
    tally
}

#[test]
fn a_bit_that_flips_in_a_database_never_changes_an_event() {
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
fn a_reader_that_believes_what_it_finds_is_found_out() {
    let _turn = turn();
    let tally = wait_for(campaign(200, Reader::Believes));
    let found = tally.breaches.first().expect("somebody notices");
    println!("planted, {} breaches in {} flips: {found}", tally.breaches.len(), tally.flips);
}
