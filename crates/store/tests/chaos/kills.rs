//! `kill -9`, at any moment, of a process that writes. Whatever it had said is there afterwards,
//! and whatever it had left open is closed, once.

use std::hint;

use foxwedge_store::{AnyStore, sweep};

use crate::{
    database::{self, time_passes},
    judge::{Settled, breaches, ghosts, runs},
    ledger::Ledger,
    process::Process,
    random::Random,
    server::{Care, Server},
    settings::{rounds, seed, turn, wait_for},
    story::{Story, Weight},
    temporary::Temporary,
    writer,
};

/// So many processes are killed over one store, one after the other.
const GROUP: usize = 25;

/// What was done and seen.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    acknowledged: usize,
    swept: usize,
    breaches: Vec<String>,
}

/// Whether the writer says what is true.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Honest {
    Yes,
    No,
}

/// Where stores are.
trait Ground {
    /// The address of a new store.
    fn fresh(&self, number: usize) -> String;

    /// Waits until nothing of a process that was killed goes on.
    fn settle(&self);
}

/// Kills writers over stores.
fn campaign(kills: usize, honest: Honest, ground: &impl Ground) -> Tally {
    let mut tally = Tally::default();
    let mut random = Random::of(seed(), &["kills"]);
    for group in 0..kills.div_ceil(GROUP) {
        let address = ground.fresh(group);
        let count = GROUP.min(kills - group * GROUP);
        let story = Story { seed: random.next(), weight: Weight::Light };
        let mut ledger = Ledger::default();
        let mut settled = Settled::new();
        for round in 0..count {
            kill(&address, &story, &format!("r{round}"), honest, &mut random, &mut ledger);
            ground.settle();
            tally.kills += 1;
            // Sometimes the next process finds what this one left.
            let last = round + 1 == count;
            if last {
                settled.clear();
            }
            let sweeps = last || random.chance(50);
            let found = wait_for(check(&address, &story, &ledger, &settled, sweeps));
            let told = |breach: String| format!("store {group}, kill {round}: {breach}");
            tally.swept += found.swept;
            settled.extend(found.settled);
            tally.breaches.extend(found.breaches.into_iter().map(told));
            if !tally.breaches.is_empty() {
                return tally;
            }
        }
        tally.acknowledged += ledger.lines;
    }
    tally
}

/// Lets a process write, and kills it.
fn kill(
    address: &str,
    story: &Story,
    round: &str,
    honest: Honest,
    random: &mut Random,
    ledger: &mut Ledger,
) {
    let values = [
        (writer::STORE, address),
        (writer::SEED, &story.seed.to_string()),
        (writer::WEIGHT, story.weight.name()),
        (writer::ROUND, round),
        (writer::WRITERS, "6"),
        (writer::RUNS, "1000"),
        (writer::TIMES, "1"),
        (writer::HONEST, if honest == Honest::Yes { "yes" } else { "no" }),
    ];
    let mut process = Process::start(writer::PART, &values);
    // Anywhere from before it has opened the store to when it is well at work.
    let lines = random.place(200);
    for line in (0..lines).map_while(|_| process.next()).collect::<Vec<_>>() {
        ledger.hear(&line);
    }
    for _ in 0..random.place(100_000) {
        hint::spin_loop();
    }
    process.kill();
    // What it had said and we had not heard counts as well.
    while let Some(line) = process.next() {
        ledger.hear(&line);
    }
    let (status, trouble) = process.end();
    assert!(!status.success() && !trouble.contains("panicked"), "{status}: {trouble}");
    assert_eq!(ledger.failures, Vec::<String>::new());
    assert!(!ledger.done, "it was done before it was killed");
}

/// What is wrong with a store, how many runs were closed, and which need no second look.
#[derive(Default)]
struct Found {
    swept: usize,
    settled: Settled,
    breaches: Vec<String>,
}

async fn check(
    address: &str,
    story: &Story,
    ledger: &Ledger,
    settled: &Settled,
    sweeps: bool,
) -> Found {
    let store = match AnyStore::open(&address.parse().expect("an address")).await {
        Ok(store) => store,
        Err(error) => {
            let breaches = vec![format!("it cannot be opened: {error:?}")];
            return Found { breaches, ..Found::default() };
        }
    };
    let mut found =
        Found { breaches: breaches(&store, story, ledger, settled).await, ..Found::default() };
    if !sweeps {
        return found;
    }
    // Whoever was killed while it closed a run still holds it.
    time_passes(address).await;
    found.swept = sweep(&store, "first", 10_000).await.expect("a sweep").len();
    found.breaches.extend(breaches(&store, story, ledger, settled).await);
    found.breaches.extend(ghosts(&store, story, settled).await);
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

impl Ground for Files {
    fn fresh(&self, number: usize) -> String {
        format!("sqlite:{}", self.0.path(&format!("{number}.db")).display())
    }

    fn settle(&self) {}
}

impl Ground for Server {
    fn fresh(&self, number: usize) -> String {
        database::address(self, &format!("kills_{number}"), "victim")
    }

    /// The server goes on with what it was asked to do until it notices that nobody is there.
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
fn a_process_that_acknowledges_too_early_is_found_out() {
    let _turn = turn();
    let tally = campaign(100, Honest::No, &Files(Temporary::folder()));
    let found = tally.breaches.first().expect("somebody notices");
    println!("planted, found after {} kills: {found}", tally.kills);
}
