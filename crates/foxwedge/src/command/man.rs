//! `foxwedge man`: manual pages, made from the command line itself.

use std::{fs, path::Path, process::ExitCode};

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{CommandLine, ManArgs};
use foxwedge_local::output::{self, HelpfulError, clean};

/// Prints the page of one command, or writes the pages of all commands.
pub(crate) fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let mut program = CommandLine::command().disable_help_subcommand(true);
    program.build();
    match (&args.output_dir, &args.command) {
        (Some(folder), _) => write_pages(folder, &program)?,
        (None, None) => output::write_stdout(&page(&program)?)?,
        (None, Some(name)) => {
            let command = program.find_subcommand(name).ok_or_else(|| {
                HelpfulError::new(format!("there is no command `{}`", clean(name)))
                    .help("`foxwedge --help` lists all of them")
            })?;
            output::write_stdout(&page(command)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command, and those of its subcommands.
fn write_pages(folder: &Path, command: &Command) -> anyhow::Result<()> {
    let shown = || format!("`{}` cannot be written", clean(&folder.to_string_lossy()));
    fs::create_dir_all(folder).with_context(shown)?;
    fs::write(folder.join(file_name(command)), page(command)?).with_context(shown)?;
    command.get_subcommands().try_for_each(|command| write_pages(folder, command))
}

/// `foxwedge-check.1` for `foxwedge check`.
fn file_name(command: &Command) -> String {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    format!("{name}.1")
}

fn page(command: &Command) -> anyhow::Result<String> {
    let title = file_name(command).trim_end_matches(".1").to_owned();
    let mut roff = Vec::new();
    Man::new(command.clone()).title(title).render(&mut roff)?;
    Ok(String::from_utf8(roff)?)
}
