//! `foxwedge chat`: the agent in the terminal, and over pipes.

use std::{process::ExitCode, time::Duration};

use anyhow::Context;

use crate::{chat::start, cli::ChatArgs};

/// So long whatever was left may take to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Talks until it is over.
pub(crate) fn run(args: ChatArgs) -> anyhow::Result<ExitCode> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("no threads can be had")?;
    let ended = runtime.block_on(start::run(args));
    // What was left at work is dropped, which ends the processes it started; nothing that hangs keeps
    // ours. A run that was left is closed at the next start.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    ended
}
