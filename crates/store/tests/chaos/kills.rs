//! `kill -9` of a writing process at any moment. Everything it had reported is stored, and
//! everything it had left open is closed once.

use std::hint;

use foxwedge_store::{AnyStore, sweep};

use crate::{
    database::{self, time_passes},
    judge::{Settled, breaches, breaches_after_close, runs},
    ledger::Ledger,
    process::Process,
    random::Random,
    server::{Care, Server},
    settings::{rounds, seed, turn, wait_for},
    story::{Weight, Workload},
    temporary::Temporary,
    writer,
};

/// How many processes are killed per store, one after the other.
const GROUP: usize = 25;

/// Counts and findings.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    acknowledged: usize,
    swept: usize,
    breaches: Vec<String>,
}

/// Whether the writer reports the truth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Honest {
    Yes,
    No,
}

/// Where stores are created.
trait StoreLocation {
    /// The URL of a new store.
    fn fresh(&self, number: usize) -> String;

    /// Waits until nothing of a killed process is still running.
    fn settle(&self);
}

/// Kills writers of several stores.
fn campaign(kills: usize, honest: Honest, location: &impl StoreLocation) -> Tally {
    let mut tally = Tally::default();
    let mut random = Random::of(seed(), &["kills"]);
    for group in 0..kills.div_ceil(GROUP) {
        let address = location.fresh(group);
        let count = GROUP.min(kills - group * GROUP);
        let workload = Workload { seed: random.next(), weight: Weight::Light };
        let mut ledger = Ledger::default();
        let mut settled = Settled::new();
        for round in 0..count {
            kill(&address, &workload, &format!("r{round}"), honest, &mut random, &mut ledger);
            location.settle();
            tally.kills += 1;
            // Sometimes the next process finds what this one left.
            let last = round + 1 == count;
            if last {
                settled.clear();
            }
            let sweeps = last || random.chance(50);
            let found = wait_for(check(&address, &workload, &ledger, &settled, sweeps));
            let describe = |breach: String| format!("store {group}, kill {round}: {breach}");
            tally.swept += found.swept;
            settled.extend(found.settled);
            tally.breaches.extend(found.breaches.into_iter().map(describe));
            if !tally.breaches.is_empty() {
                return tally;
            }
        }
        tally.acknowledged += ledger.lines;
    }
    tally
}

/// Starts a writing process and kills it.
fn kill(
    address: &str,
    workload: &Workload,
    round: &str,
    honest: Honest,
    random: &mut Random,
    ledger: &mut Ledger,
) {
    let values = [
        (writer::STORE, address),
        (writer::SEED, &workload.seed.to_string()),
        (writer::WEIGHT, workload.weight.name()),
        (writer::ROUND, round),
        (writer::WRITERS, "6"),
        (writer::RUNS, "1000"),
        (writer::TIMES, "1"),
        (writer::HONEST, if honest == Honest::Yes { "yes" } else { "no" }),
    ];
    let mut process = Process::start(writer::PART, &values);
    // Anywhere from before it has opened the store to when it is writing.
    let lines = random.place(200);
    for line in (0..lines).map_while(|_| process.next()).collect::<Vec<_>>() {
        ledger.record(&line);
    }
    for _ in 0..random.place(100_000) {
        hint::spin_loop();
    }
    process.kill();
    // Lines that it had written and we had not read yet count as well.
    while let Some(line) = process.next() {
        ledger.record(&line);
    }
    let (status, errors) = process.end();
    assert!(!status.success() && !errors.contains("panicked"), "{status}: {errors}");
    assert_eq!(ledger.failures, Vec::<String>::new());
    assert!(!ledger.done, "it was done before it was killed");
}

/// Errors of a store, the number of closed runs, and the runs that need no second check.
#[derive(Default)]
struct CheckResult {
    swept: usize,
    settled: Settled,
    breaches: Vec<String>,
}

async fn check(
    address: &str,
    workload: &Workload,
    ledger: &Ledger,
    settled: &Settled,
    sweeps: bool,
) -> CheckResult {
    let store = match AnyStore::open(&address.parse().expect("an address")).await {
        Ok(store) => store,
        Err(error) => {
            let breaches = vec![format!("it cannot be opened: {error:?}")];
            return CheckResult { breaches, ..CheckResult::default() };
        }
    };
    let mut found = CheckResult {
        breaches: breaches(&store, workload, ledger, settled).await,
        ..CheckResult::default()
    };
    if !sweeps {
        return found;
    }
    // A process killed while it closed a run still holds its lease.
    time_passes(address).await;
    found.swept = sweep(&store, "first", 10_000).await.expect("a sweep").len();
    found.breaches.extend(breaches(&store, workload, ledger, settled).await);
    found.breaches.extend(breaches_after_close(&store, workload, settled).await);
    let again = sweep(&store, "second", 10_000).await.expect("a sweep");
    found
        .breaches
        .extend(again.iter().map(|swept| format!("run {} was closed twice", swept.run.id)));
    found.settled = runs(&store).await.expect("runs").into_iter().map(|run| run.id).collect();
    found
}

fn report(name: &str, tally: &Tally) {
    let Tally { kills, acknowledged, swept, .. } = tally;
    println!("{name}: {kills} kills, {acknowledged} acknowledgements, {swept} runs closed");
    assert_eq!(tally.breaches, Vec::<String>::new());
}

/// Files in a folder.
struct Files(Temporary);

impl StoreLocation for Files {
    fn fresh(&self, number: usize) -> String {
        format!("sqlite:{}", self.0.path(&format!("{number}.db")).display())
    }

    fn settle(&self) {}
}

impl StoreLocation for Server {
    fn fresh(&self, number: usize) -> String {
        database::address(self, &format!("kills_{number}"), "victim")
    }

    /// The server continues a request until it notices that the client is gone.
    fn settle(&self) {
        wait_for(database::settled(self, "victim"));
    }
}

#[test]
fn a_killed_process_loses_nothing_it_acknowledged_in_a_file() {
    let _turn = turn();
    let files = Files(Temporary::folder());
    report("SQLite", &campaign(rounds("FOXWEDGE_KILLS", 50), Honest::Yes, &files));
}

#[test]
fn a_killed_process_loses_nothing_it_acknowledged_in_postgres() {
    let _turn = turn();
    let Some(server) = database::server(Care::Durable) else { return };
    report("PostgreSQL", &campaign(rounds("FOXWEDGE_KILLS", 25), Honest::Yes, &server));
}

#[test]
fn planted_early_acknowledgement_is_found() {
    let _turn = turn();
    let tally = campaign(100, Honest::No, &Files(Temporary::folder()));
    let found = tally.breaches.first().expect("somebody notices");
    println!("planted, found after {} kills: {found}", tally.kills);
}
