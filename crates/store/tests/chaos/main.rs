//! Nothing that was acknowledged is lost: not when a process is killed, not when the power goes,
//! not when the disk refuses, not when machines fail.
//!
//! Processes do the work and are broken in the middle of it; what they said they had done is then
//! looked for. Every harness is also shown a bug that it has to find. `docs/runs/reliability.md`
//! says what each of them proves, and how to run more of it.

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

/// Another process of this program, started by one of the harnesses.
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
