//! `foxwedge runs`: runs that were kept, what became of them, and their events.

mod list;
mod document;
mod show;
mod events;
mod stop;
mod replay;

use std::process::ExitCode;

use anyhow::bail;

use crate::{
    cli::{ListRunsArgs, RunsAction, RunsArgs},
    cli_output::CliError,
    runs::{self, OpenStore, StoreLookup},
};

/// Does what was asked for; lists runs, if nothing was.
pub(crate) fn run(args: RunsArgs) -> anyhow::Result<ExitCode> {
    let RunsArgs { store, action, list } = args;
    let flag = store.store.as_deref();
    let Some(action) = action else { return runs::block_on(list::run(flag, &list)) };
    if list != ListRunsArgs::default() {
        bail!(
            CliError::new("options of the list stand behind another command's name")
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

/// A store with at least something in it.
async fn open(flag: Option<&str>) -> anyhow::Result<OpenStore> {
    match runs::open(flag).await? {
        StoreLookup::Found(kept) => kept.sweep_and_report().await,
        StoreLookup::Absent(url) => bail!(
            CliError::new(format!("no run was kept yet: there is no {url}"))
                .help("`… | foxwedge follow --store FILE` keeps a run; --store or FOXWEDGE_STORE names the file")
        ),
    }
}
