//! `foxwedge runs`: recorded runs, their outcomes and their events.

mod list;
mod document;
mod show;
mod events;
mod stop;
mod replay;

use std::process::ExitCode;

use anyhow::bail;

use crate::cli::{ListRunsArgs, RunsAction, RunsArgs};
use foxwedge_local::{
    output::HelpfulError,
    runs::{self, OpenStore, StoreLookup},
};

/// Runs one `runs` subcommand. The default is `list`.
pub(crate) fn run(args: RunsArgs) -> anyhow::Result<ExitCode> {
    let RunsArgs { store, action, list } = args;
    let flag = store.store.as_deref();
    let Some(action) = action else { return runs::block_on(list::run(flag, &list)) };
    if list != ListRunsArgs::default() {
        bail!(
            HelpfulError::new("list options cannot be combined with another subcommand")
                .help("`foxwedge runs list` takes --session, --open, --limit and --json")
        );
    }
    match action {
        RunsAction::List(args) => runs::block_on(list::run(flag, &args)),
        RunsAction::Show(args) => runs::block_on(show::run(flag, &args)),
        RunsAction::Events(args) => runs::block_on(events::run(flag, &args)),
        RunsAction::Stop(args) => runs::block_on(stop::run(flag, &args)),
        RunsAction::Replay(args) => replay::run(&args),
    }
}

/// Opens an existing store and closes runs whose process is gone.
async fn open(flag: Option<&str>) -> anyhow::Result<OpenStore> {
    match runs::open(flag).await? {
        StoreLookup::Found(open_store) => open_store.sweep_and_report().await,
        StoreLookup::Absent(url) => bail!(
            HelpfulError::new(format!("no run was recorded yet: there is no store at {url}")).help(
                "`… | foxwedge follow --store FILE` records a run; --store or FOXWEDGE_STORE \
                     names the file"
            )
        ),
    }
}
