//! `foxwedge completions`: what a shell needs to complete our words.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::{
    cli::{Cli, CompletionsArgs},
    say,
};

/// Prints the script of a shell.
pub(crate) fn run(args: CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "foxwedge", &mut script);
    say::out(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
