//! Command-line arguments.

use std::{ffi::OsString, path::PathBuf};

use anstream::ColorChoice;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, builder::Resettable};
use foxwedge_core::{PlaceholderLanguage, Profile};
use foxwedge_local::language::is_translated;
use foxwedge_sessions::SessionAgent;

use crate::chinese;

mod help;
mod values;
mod repair;
mod sessions;
mod compact;
mod convert;
mod runs;
mod serve;
mod scripted;
mod chat;
mod mcp;
mod rpc;
mod probe;
mod suite;
#[cfg(test)]
mod manual;

pub(crate) use chat::{AgentArgs, ChatArgs};
pub(crate) use compact::CompactArgs;
pub(crate) use convert::{ConversionKind, ConversionTarget, ConvertArgs, ConvertToolMode};
pub(crate) use mcp::{McpAction, McpArgs};
pub(crate) use probe::{ProbeAction, ProbeArgs};
pub(crate) use repair::{FixArgs, RepairArgs};
pub(crate) use rpc::RpcArgs;
pub(crate) use runs::{
    DeleteArgs, FollowArgs, FollowSource, FrameArgs, ImportArgs, ListRunsArgs, PruneArgs,
    ReplayArgs, RunEventsArgs, RunView, RunsAction, RunsArgs, ShowRunArgs, StopRunArgs,
    StoreAction, StoreArgs, StoreExportArgs, StorePathArgs,
};
pub(crate) use scripted::ScriptedArgs;
pub(crate) use serve::{EnvArgs, EnvClient, EnvShell, ServeArgs};
pub(crate) use sessions::{
    ContinueArgs, ExportArgs, ForkArgs, ListArgs, ResumeArgs, RunArgs, SearchArgs, SessionArgs,
    ShowArgs,
};
pub(crate) use suite::{SuiteAction, SuiteArgs, SuiteOutput, SuiteRunArgs};
pub(crate) use values::{
    CompactStrategy, ExportFormat, InputFormat, ListFormat, OutputFormat, ReportFormat,
    SessionViewMode,
};
use values::{agents, colors, formats, languages, profiles};

/// Keeps LLM-agent conversations with tool calls valid.
#[derive(Parser)]
#[command(name = "foxwedge", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct CommandLine {
    /// When to color the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true, value_parser = colors())]
    color: ColorChoice,
    /// Same as --color never
    #[arg(long, global = true, conflicts_with = "color")]
    no_color: bool,
    /// Language of messages [default: that of the locale]
    // `chinese::choose_language` reads it before the parser runs.
    #[arg(long, global = true, value_name = "LANG", value_parser = ["en", "zh"])]
    lang: Option<String>,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

impl CommandLine {
    /// Parses the command line; prints a usage error and exits if it is invalid.
    pub(crate) fn read() -> CommandLine {
        let mut command = CommandLine::command();
        if is_translated() {
            command = chinese::translate_command(command);
        }
        command = help::group_commands(command)
            .mut_subcommands(|command| command.mut_args(without_empty_variable));
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        let parsed = matches.and_then(|matches| CommandLine::from_arg_matches(&matches));
        parsed.unwrap_or_else(|error| {
            let error = error.format(&mut command);
            if is_translated() { chinese::exit_with(&error) } else { error.exit() }
        })
    }

    /// Parses a command that this program composed.
    pub(crate) fn parse_command(
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<CliCommand, clap::Error> {
        let words = [OsString::from("foxwedge")].into_iter().chain(words);
        CommandLine::try_parse_from(words).map(|parsed| parsed.command)
    }

    pub(crate) fn color(&self) -> ColorChoice {
        if self.no_color { ColorChoice::Never } else { self.color }
    }
}

/// Ignores the environment variable of an argument if it is set to an empty string.
fn without_empty_variable(arg: Arg) -> Arg {
    let is_empty = |name| std::env::var_os(name).is_some_and(|value| value.is_empty());
    if arg.get_env().is_some_and(is_empty) { arg.env(Resettable::Reset) } else { arg }
}

#[derive(Subcommand)]
pub(crate) enum CliCommand {
    /// Report what a provider would reject
    Check(CheckArgs),
    /// Repair files in place, or stdin to stdout (same as check --fix)
    #[command(mut_arg("fix", |arg| arg.hide(true)), mut_arg("all", |arg| arg.hide(true)), mut_arg("watch", |arg| arg.hide(true)))]
    Fix(Box<FixArgs>),
    /// Shorten a conversation without separating tool calls from results
    Compact(Box<CompactArgs>),
    /// Convert a request, response or stream to another provider's format
    Convert(Box<ConvertArgs>),
    /// Restore what a fix or a compaction replaced
    Undo(UndoArgs),
    /// List the sessions of every agent on this machine
    List(ListArgs),
    /// Search the text of all sessions
    Search(SearchArgs),
    /// Show a session: its messages, tool calls and branches
    Show(ShowArgs),
    /// Print a session's history, ready to send
    Resume(ResumeArgs),
    /// Resume a session in its agent, repairing it first if needed
    Continue(ContinueArgs),
    /// Start an agent, repairing the session it resumes first
    Run(RunArgs),
    /// Export a session, or all of them, as Markdown, HTML or JSON
    #[command(mut_arg("target", |arg| arg.required_unless_present("all")))]
    Export(ExportArgs),
    /// Copy a session under a new id and repair the copy
    Fork(ForkArgs),
    /// Follow an agent's output stream: text, tool calls and outcome
    Follow(Box<FollowArgs>),
    /// Inspect recorded runs
    Runs(Box<RunsArgs>),
    /// Manage the store that holds recorded runs
    Store(Box<StoreArgs>),
    /// Chat with a model that can use tools, in the terminal or over a pipe
    Chat(Box<ChatArgs>),
    /// Act as an agent for editors, over the Agent Client Protocol
    #[command(mut_arg("root", |arg| arg.hide(true)))]
    Acp(Box<AgentArgs>),
    /// Serve sessions to MCP clients; log in to MCP servers, and out
    Mcp(McpArgs),
    /// Run the gateway: point any OpenAI or Anthropic client at it
    Serve(Box<ServeArgs>),
    /// Print the environment variables that point clients at the gateway
    Env(EnvArgs),
    /// Run the built-in scripted model as a provider, for tests
    Scripted(ScriptedArgs),
    /// Explain a rule, or list a rule family
    Rule(RuleArgs),
    /// List all rules
    Rules(RulesArgs),
    /// Explain a provider's error message and what to do about it
    Explain(ExplainArgs),
    /// Answer requests line by line, for programs in any language
    Rpc(RpcArgs),
    /// Report to an agent's user whether the resumed session needs a repair, as a hook
    Hook,
    /// Test any engine that checks, repairs or cuts histories
    Suite(SuiteArgs),
    /// Ask a provider whether it accepts vectors of the suite, with your key
    Probe(Box<ProbeArgs>),
    /// Watch broken histories get found and repaired, offline
    Demo(DemoArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all commands to a folder
    Man(ManArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArgs {
    /// Files, folders, session ids, or `-` for stdin
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,
    /// Check every session of every agent on this machine
    #[arg(long, help_heading = "Sessions", conflicts_with = "targets")]
    pub(crate) all: bool,
    /// Only sessions of these agents; `check --agent NAME` reads all of them
    #[arg(long, value_name = "AGENT", value_delimiter = ',', help_heading = "Sessions", value_parser = agents())]
    pub(crate) agent: Vec<SessionAgent>,
    /// Use the most recently written session
    #[arg(long, help_heading = "Sessions", conflicts_with_all = ["all", "targets"])]
    pub(crate) last: bool,
    /// Apply safe fixes
    #[arg(long, help_heading = "Repair")]
    pub(crate) fix: bool,
    /// Also apply fixes that write in the user's name or remove content that is not understood
    #[arg(long, help_heading = "Repair")]
    pub(crate) unsafe_fixes: bool,
    /// Show what fixes would change as a diff, without writing anything
    #[arg(long, help_heading = "Repair")]
    pub(crate) diff: bool,
    /// List what fixes would do, without writing anything
    #[arg(long, help_heading = "Repair", conflicts_with = "diff")]
    pub(crate) dry_run: bool,
    /// Check a session as it would be sent to a provider, including what its agent tolerates
    #[arg(long, help_heading = "Sessions")]
    pub(crate) for_api: bool,
    #[command(flatten)]
    pub(crate) repair: RepairArgs,
    /// Check only these rules: codes (FW101), families (FW1) or names, separated by commas
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) select: Vec<String>,
    /// Ignore these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) ignore: Vec<String>,
    /// Provider profile to check against [default: that of the format]
    #[arg(long, value_name = "PROFILE", help_heading = "Rules", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
    /// Input format [default: detected]
    #[arg(long, value_name = "FORMAT", help_heading = "Rules", value_parser = formats())]
    pub(crate) format: Option<InputFormat>,
    /// File with the flags of a project, for requests [default: foxwedge.toml of the repository]
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(crate) config: Option<PathBuf>,
    /// Ignore the file of the project
    #[arg(long, help_heading = "Rules", conflicts_with = "config")]
    pub(crate) isolated: bool,
    /// Output format for findings
    #[arg(
        long,
        value_name = "FORMAT",
        env = "FOXWEDGE_OUTPUT_FORMAT",
        default_value = "full",
        help_heading = "Output"
    )]
    pub(crate) output_format: OutputFormat,
    /// Write findings to a file instead of stdout
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output_file: Option<PathBuf>,
    /// Count findings by rule instead of listing them
    #[arg(long, help_heading = "Output")]
    pub(crate) statistics: bool,
    /// List the files that would be read, and exit
    #[arg(long, help_heading = "Output")]
    pub(crate) show_files: bool,
    /// Check again whenever a target changes, until Ctrl-C
    #[arg(
        short,
        long,
        help_heading = "Output",
        conflicts_with_all = ["fix", "diff", "dry_run", "show_files", "output_file"]
    )]
    pub(crate) watch: bool,
    /// Print only findings and errors: no notes, no summary
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Where `fix` writes the repaired document instead of the target.
    #[arg(skip)]
    pub(crate) output: Option<PathBuf>,
    /// Exit 0 even if findings remain
    #[arg(long, help_heading = "Exit code")]
    pub(crate) exit_zero: bool,
    /// Exit 1 if anything was fixed, even if no findings remain
    #[arg(long, help_heading = "Exit code")]
    pub(crate) exit_non_zero_on_fix: bool,
}

#[derive(Args)]
pub(crate) struct UndoArgs {
    /// Files or sessions to restore
    #[arg(value_name = "TARGET", required_unless_present_any = ["list", "prune", "since"])]
    pub(crate) files: Vec<PathBuf>,
    /// Restore everything that was replaced since a time: 2026-01-02T03:04:05Z, or 10m for ten minutes ago
    #[arg(long, value_name = "TIME", conflicts_with_all = ["list", "prune", "files"])]
    pub(crate) since: Option<String>,
    /// List what can be restored, with sizes
    #[arg(long)]
    pub(crate) list: bool,
    /// Restore even if the file has changed since; its current content is kept as a backup
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove old backups, but never the newest one of a file
    #[arg(long, conflicts_with_all = ["list", "force", "files"])]
    pub(crate) prune: bool,
    /// Minimum age of backups to remove: 30d, 12h [default: 90d, and the oldest beyond 1 GiB]
    // clap ignores `requires` if the required argument conflicts with a given one.
    #[arg(long, value_name = "AGE", requires = "prune", conflicts_with_all = ["list", "since", "files"])]
    pub(crate) older_than: Option<String>,
    /// Show what would be restored or removed, without writing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct RuleArgs {
    /// A rule code, name or family: FW101, unanswered-call or FW1
    #[arg(value_name = "RULE")]
    pub(crate) rule: String,
}

#[derive(Args)]
pub(crate) struct RulesArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: ListFormat,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The error message, with any text around it; stdin if omitted
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Language of the advice
    #[arg(long, value_name = "LANGUAGE", env = "FOXWEDGE_LANG", value_parser = languages())]
    pub(crate) language: Option<PlaceholderLanguage>,
}

#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Open the console with a broken session, repaired requests and runs to watch, until Ctrl-C
    #[arg(long)]
    pub(crate) console: bool,
}

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate completions for
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The command to print the page of
    #[arg(value_name = "COMMAND", conflicts_with = "output_dir")]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output_dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }
}
