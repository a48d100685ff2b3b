//! `foxwedge completions`: the completion script for a shell.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::cli::{CommandLine, CompletionsArgs};
use foxwedge_local::output;

/// Prints the completion script.
pub(crate) fn run(args: CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CommandLine::command(), "foxwedge", &mut script);
    output::write_stdout(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
