//! `foxwedge fix`: `check --fix`, for people who know what they want.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use crate::{cli::CheckArgs, cli_output::CliError};

/// Repairs every target.
pub(crate) fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    super::check::run(CheckArgs { fix: true, ..args })
}

/// Nothing is repaired that was not named.
pub(crate) fn check_named(args: &CheckArgs) -> Result<(), CliError> {
    let sessions = args.all || !args.agent.is_empty();
    if !args.targets.is_empty() || args.last || !sessions && !io::stdin().is_terminal() {
        return Ok(());
    }
    let trouble = CliError::new("a repair needs the name of what it repairs");
    Err(trouble.help(if sessions {
        "nothing was changed; `foxwedge check --all` says what is broken, \
         `foxwedge fix SESSION` repairs it"
    } else {
        "name files, folders or sessions: `foxwedge fix session.jsonl`, or pipe one in: \
         `… | foxwedge fix -`"
    }))
}
