//! `foxwedge`, the command-line program: reads conversations, reports what a provider would reject,
//! and repairs it on disk or in a pipe.
//!
//! A thin layer around the pure crates: it opens files, draws findings and makes sure that no write
//! loses data. It makes no decisions about conversations.

mod cli;
mod chinese;
mod command;
mod demo;
mod check_flags;
mod project_file;
mod target;
mod sessions;
mod compact;
mod convert;
mod diff;
mod report;
mod flag_conflicts;
mod deliver;
mod diagnose;
mod pool;

use std::process::ExitCode;

use cli::{CliCommand, CommandLine};
use foxwedge_local::output;

fn main() -> ExitCode {
    if let Some(command) = foxwedge_tools::launched_command() {
        return foxwedge_tools::launch(&command);
    }
    chinese::choose_language();
    let cli = CommandLine::read();
    output::set_color(cli.color());
    match run(cli.command) {
        Ok(code) => code,
        Err(error) => {
            output::print_error(&error);
            ExitCode::from(2)
        }
    }
}

fn run(command: CliCommand) -> anyhow::Result<ExitCode> {
    match command {
        CliCommand::Check(args) => command::check::run(args),
        CliCommand::Fix(args) => command::fix::run(*args),
        CliCommand::Compact(args) => command::compact::run(&args),
        CliCommand::Convert(args) => command::convert::run(*args),
        CliCommand::Undo(args) => command::undo::run(args),
        CliCommand::List(args) => command::list::run(args),
        CliCommand::Search(args) => command::search::run(args),
        CliCommand::Show(args) => command::show::run(args),
        CliCommand::Resume(args) => command::resume::run(args),
        CliCommand::Continue(args) => command::continue_session::run(args),
        CliCommand::Run(args) => command::run_agent::run(args),
        CliCommand::Export(args) => command::export::run(args),
        CliCommand::Fork(args) => command::fork::run(args),
        CliCommand::Follow(args) => command::follow::run(*args),
        CliCommand::Runs(args) => command::runs::run(*args),
        CliCommand::Store(args) => command::store::run(*args),
        CliCommand::Chat(args) => command::chat::run(*args),
        CliCommand::Acp(args) => command::acp::run(*args),
        CliCommand::Mcp(args) => command::mcp::run(args),
        CliCommand::Serve(args) => command::serve::run(*args),
        CliCommand::Env(args) => command::env::run(args),
        CliCommand::Scripted(args) => command::scripted::run(args),
        CliCommand::Rule(args) => command::rule::run(args),
        CliCommand::Rules(args) => command::rules::run(args),
        CliCommand::Explain(args) => command::explain::run(args),
        CliCommand::Rpc(args) => command::rpc::run(args),
        CliCommand::Hook => command::hook::run(),
        CliCommand::Suite(args) => command::suite::run(args),
        CliCommand::Probe(args) => command::probe::run(*args),
        CliCommand::Demo(args) => match demo::run(&args) {
            // The reader closed the pipe, which is not an error.
            Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
            result => result,
        },
        CliCommand::Completions(args) => command::completions::run(args),
        CliCommand::Man(args) => command::man::run(&args),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(output::is_closed_pipe)
}
