//! `foxwedge`, the command line: reads conversations, says what a provider would refuse, and
//! repairs it on disk or in a pipe.
//!
//! The shell around the pure crates: it opens files, draws findings and takes care that no write
//! loses anything. It decides nothing about conversations.

mod cli;
mod command;
mod demo;
mod ask;
mod nearest;
mod agents;
mod target;
mod sessions;
mod tree;
mod pool;
mod source;
mod size_limit;
mod place;
mod judge;
mod mend;
mod compact;
mod convert;
mod disk;
mod runs;
mod chat;
mod console;
mod diff;
mod outcome;
mod report;
mod usage;
mod deliver;
mod export;
mod diagnose;
mod calendar;
mod preview;
mod screen;
mod signals;
mod say;

use std::process::ExitCode;

use cli::{Cli, Command};

fn main() -> ExitCode {
    if let Some(command) = foxwedge_tools::launched_command() {
        return foxwedge_tools::launch(&command);
    }
    let cli = Cli::read();
    say::set_color(cli.color());
    match run(cli.command) {
        Ok(code) => code,
        Err(error) => {
            say::error(&error);
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Check(args) => command::check::run(args),
        Command::Fix(args) => command::fix::run(args),
        Command::Compact(args) => command::compact::run(&args),
        Command::Convert(args) => command::convert::run(*args),
        Command::Undo(args) => command::undo::run(args),
        Command::List(args) => command::list::run(args),
        Command::Show(args) => command::show::run(args),
        Command::Resume(args) => command::resume::run(args),
        Command::Export(args) => command::export::run(args),
        Command::Fork(args) => command::fork::run(args),
        Command::Follow(args) => command::follow::run(*args),
        Command::Runs(args) => command::runs::run(*args),
        Command::Store(args) => command::store::run(*args),
        Command::Chat(args) => command::chat::run(*args),
        Command::Serve(args) => command::serve::run(*args),
        Command::Env(args) => command::env::run(args),
        Command::Scripted(args) => command::scripted::run(args),
        Command::Rule(args) => command::rule::run(args),
        Command::Rules(args) => command::rules::run(args),
        Command::Explain(args) => command::explain::run(args),
        Command::Demo(args) => match demo::run(&args) {
            // Whoever listened has heard enough.
            Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
            told => told,
        },
        Command::Completions(args) => command::completions::run(args),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
