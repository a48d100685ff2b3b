//! Nothing that was acknowledged is lost: not when a process is killed, the power fails, the disk
//! refuses, or machines fail.
//!
//! Processes write and are broken meanwhile; then the tests look for everything they reported as
//! done. Every harness must also find a planted bug. `tests/chaos/README.md` describes what each
//! of them proves, and how to run longer campaigns.

mod random;
mod settings;
mod process;
#[path = "../store/temporary.rs"]
mod temporary;
#[path = "../store/server.rs"]
#[allow(dead_code, reason = "other tests ask more of a server")]
mod server;
mod database;
mod story;
mod sample;
mod writer;
mod ledger;
mod judge;
mod kills;
mod cuts;
mod pages;
mod power;
mod faults;
mod race;
mod cluster;

/// The entry point of processes that a harness starts.
#[test]
fn a_process_that_was_given_a_part_plays_it() {
    let Some(part) = process::part() else { return };
    match part.as_str() {
        writer::PART => writer::play(),
        race::PART => race::play(),
        cluster::NODE => cluster::node::play(),
        cluster::SLEEPER => cluster::sleeper::play(),
        part => panic!("nobody knows the part `{part}`"),
    }
}
