//! Random clients and random agents, with the machine between them. Every seed is one
//! conversation, and the same on every machine: `FOXWEDGE_SEEDS=10000` plays more of them,
//! `FOXWEDGE_SEED=7` one.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod dice;
mod message;
mod log;
mod agent;
mod client;
mod judge;
mod seen;
mod world;
mod chaos;

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use seen::Seen;
use world::World;

#[test]
fn every_conversation_stays_whole() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    // One conversation is told step by step.
    if let Some(seed) = number("FOXWEDGE_SEED") {
        println!("{:?}", World::new(seed, true).run());
        return;
    }
    let seeds = number("FOXWEDGE_SEEDS").unwrap_or(2000);
    let threads = thread::available_parallelism().map_or(1, |count| count.get().min(8)) as u64;
    let share = |at: u64| seeds * at / threads..seeds * (at + 1) / threads;
    let mut all = Seen::default();
    thread::scope(|scope| {
        let played: Vec<_> = (0..threads).map(|at| scope.spawn(move || play(share(at)))).collect();
        for seen in played {
            all.add(&seen.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
    println!("{all:?}");
    // Everything that can happen has happened.
    assert!(seeds < 1000 || all.is_enough(), "{all:?}");
}

fn play(seeds: Range<u64>) -> Seen {
    let mut all = Seen::default();
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| World::new(seed, false).run())) {
            Ok(seen) => all.add(&seen),
            Err(panic) => {
                eprintln!("FOXWEDGE_SEED={seed}");
                resume_unwind(panic);
            }
        }
    }
    all
}
