//! `foxwedge fix`: the same as `check --fix`; with `--broken` for every session that needs it.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use crate::cli::{CheckArgs, FixArgs};
use foxwedge_local::output::HelpfulError;

mod broken;

/// Repairs every target.
pub(crate) fn run(args: FixArgs) -> anyhow::Result<ExitCode> {
    if args.broken {
        return broken::run(&args);
    }
    super::check::run(CheckArgs { fix: true, output: args.output, ..args.check })
}

/// Refuses a repair without explicit targets.
pub(crate) fn check_named(args: &CheckArgs) -> Result<(), HelpfulError> {
    let sessions = args.all || !args.agent.is_empty();
    if !args.targets.is_empty() || args.last || !sessions && !io::stdin().is_terminal() {
        return Ok(());
    }
    let error = HelpfulError::new("`fix` needs a target");
    Err(error.help(if sessions {
        "nothing was changed; `foxwedge fix --broken` repairs every session that needs it, \
         `foxwedge fix SESSION` one session"
    } else {
        "name files, folders or sessions: `foxwedge fix session.jsonl`, or pipe one in: \
         `… | foxwedge fix -`"
    }))
}
