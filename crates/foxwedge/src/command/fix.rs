//! `foxwedge fix`: the same as `check --fix`.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use crate::cli::CheckArgs;
use foxwedge_local::output::HelpfulError;

/// Repairs every target.
pub(crate) fn run(args: CheckArgs) -> anyhow::Result<ExitCode> {
    super::check::run(CheckArgs { fix: true, ..args })
}

/// Refuses a repair without explicit targets.
pub(crate) fn check_named(args: &CheckArgs) -> Result<(), HelpfulError> {
    let sessions = args.all || !args.agent.is_empty();
    if !args.targets.is_empty() || args.last || !sessions && !io::stdin().is_terminal() {
        return Ok(());
    }
    let error = HelpfulError::new("`fix` needs a target");
    Err(error.help(if sessions {
        "nothing was changed; `foxwedge check --all` lists findings, \
         `foxwedge fix SESSION` repairs one session"
    } else {
        "name files, folders or sessions: `foxwedge fix session.jsonl`, or pipe one in: \
         `… | foxwedge fix -`"
    }))
}
