//! What `follow`, `runs` and `store` share: the store and who else uses it, and how a run is drawn.

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

/// How long a run belongs to whoever runs it without a word from them, in milliseconds.
pub(crate) const LEASE: u64 = 30_000;

/// Runs what waits, on this thread, until it is done.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("no timer and no signals can be had")?.block_on(work)
}
