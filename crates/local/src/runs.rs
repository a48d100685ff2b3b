//! Recorded runs: opening the store, finding runs, and drawing them. Shared by the commands about runs
//! and the chat.

mod clock;
mod ids;
mod owner;
mod store_location;
mod store_errors;
mod sweep;
mod open;
mod log;
mod run_lookup;
mod times;
mod frames;
pub mod draw;

use std::future::Future;

use anyhow::Context;

pub use clock::SteadyClock;
pub use frames::{RunFrameOptions, RunFrameWriter};
pub use ids::{is_store_id, new_id, to_store_id};
pub use log::{PAGE, replay};
pub use open::{OpenStore, StoreLookup, connect, open};
pub use owner::{current_owner, describe_owner};
pub use run_lookup::{find_run, newest_run};
pub use store_location::{locate, named_store, repeat_store_flag};
pub use times::RunTimes;

/// Lease of a run in milliseconds. The owner must renew it within this time.
pub const LEASE: u64 = 30_000;

/// Runs a future on this thread until it is done.
pub fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("the async runtime cannot be started")?.block_on(work)
}
