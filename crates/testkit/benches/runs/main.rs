//! What runs cost: a step of the machine, an event on disk, an event for one more follower, a
//! session at rest.
//!
//! `cargo bench -p foxwedge-testkit --bench runs` prints figures beside the raw cost of the same thing in the same
//! run. Rounds are interleaved; what is told is the median, or the best where it says so.
//! `FOXWEDGE_BENCH_FOLDER` names the disk, `FOXWEDGE_TEST_POSTGRES` a server to measure, too.

mod disk;
mod fanout;
mod memory;
mod steps;

use tokio::runtime::Builder;

fn main() {
    // First, while the memory of the process is fresh.
    memory::print();
    steps::print();
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        disk::print().await;
        fanout::print().await;
    });
}

/// The middle of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
