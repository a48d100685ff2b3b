//! What `follow`, `runs` and `store` share: the store and who else uses it, and how a run is drawn.

mod clock;
mod ids;
mod owner;
mod place;
mod trouble;
mod sweep;
mod open;
mod log;
mod pick;
mod times;
mod frames;
pub(crate) mod draw;

use std::future::Future;

use anyhow::Context;

pub(crate) use clock::Clock;
pub(crate) use frames::Frames;
pub(crate) use ids::{fresh, is_safe, safe};
pub(crate) use log::{PAGE, replay};
pub(crate) use open::{Kept, Missing, connect, open};
pub(crate) use owner::{me, named};
pub(crate) use pick::{newest, pick};
pub(crate) use place::{again, asked_for, locate};
pub(crate) use times::Times;

/// How long a run belongs to whoever runs it without a word from them, in milliseconds.
pub(crate) const LEASE: u64 = 30_000;

/// Runs what waits, on this thread, until it is done.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("no timer and no signals can be had")?.block_on(work)
}
