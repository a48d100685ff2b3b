//! Shared by `follow`, `runs` and `store`: opening the store, finding runs, and drawing them.

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
pub(crate) mod draw;

use std::future::Future;

use anyhow::Context;

pub(crate) use clock::SteadyClock;
pub(crate) use frames::RunFrameWriter;
pub(crate) use ids::{is_store_id, new_id, to_store_id};
pub(crate) use log::{PAGE, replay};
pub(crate) use open::{OpenStore, StoreLookup, connect, open};
pub(crate) use owner::{current_owner, describe_owner};
pub(crate) use run_lookup::{find_run, newest_run};
pub(crate) use store_location::{locate, named_store, repeat_store_flag};
pub(crate) use times::RunTimes;

/// Lease of a run in milliseconds. The owner must renew it within this time.
pub(crate) const LEASE: u64 = 30_000;

/// Runs a future on this thread until it is done.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("the async runtime cannot be started")?.block_on(work)
}
