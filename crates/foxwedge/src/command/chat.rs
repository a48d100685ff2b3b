//! `foxwedge chat`: the agent in the terminal or over pipes.

use std::{process::ExitCode, time::Duration};

use anyhow::Context;

use crate::{chat::start, cli::ChatArgs};

/// How long remaining tasks may take to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs the chat until it ends.
pub(crate) fn run(args: ChatArgs) -> anyhow::Result<ExitCode> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the worker threads")?;
    let result = runtime.block_on(start::run(args));
    // Remaining tasks are dropped, which ends the processes they started. A task that hangs does
    // not block the exit; its run is closed at the next start.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    result
}
