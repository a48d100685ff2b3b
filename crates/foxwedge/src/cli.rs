//! What can be typed.

use std::path::PathBuf;

use anstream::ColorChoice;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, builder::Resettable};
use foxwedge_core::{PlaceholderLanguage, Profile};
use foxwedge_sessions::SessionAgent;

mod values;
mod repair;
mod sessions;
mod compact;
mod convert;
mod runs;
mod serve;
mod scripted;
mod chat;

pub(crate) use chat::{ChatApi, ChatArgs, ReplyFormat};
pub(crate) use compact::CompactArgs;
pub(crate) use convert::{ConversionKind, ConvertArgs, ConvertToolMode};
pub(crate) use repair::RepairArgs;
pub(crate) use runs::{
    AgUiProtocolVersion, DeleteArgs, FollowArgs, FollowSource, FrameArgs, ImportArgs, ListRunsArgs,
    PruneArgs, ReplayArgs, RunEventsArgs, RunView, RunsAction, RunsArgs, ShowRunArgs, StopRunArgs,
    StoreAction, StoreArgs, StoreExportArgs, StorePathArgs,
};
pub(crate) use scripted::{ScriptedAction, ScriptedAgentArgs, ScriptedArgs};
pub(crate) use serve::{EnvArgs, EnvClient, EnvShell, ServeArgs};
pub(crate) use sessions::{ExportArgs, ForkArgs, ListArgs, ResumeArgs, SessionArgs, ShowArgs};
pub(crate) use values::{
    CompactStrategy, ExportFormat, InputFormat, ListFormat, OutputFormat, ReportFormat,
    SessionViewMode,
};
use values::{agents, colors, formats, languages, profiles};

/// Keeps LLM-agent conversations with tool calls whole.
#[derive(Parser)]
#[command(name = "foxwedge", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct CommandLine {
    /// Colour the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true, value_parser = colors())]
    color: ColorChoice,
    /// The same as --color never
    #[arg(long, global = true, conflicts_with = "color")]
    no_color: bool,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

impl CommandLine {
    /// Reads the command line; ends the program with help where it cannot be read.
    pub(crate) fn read() -> CommandLine {
        let mut command = CommandLine::command()
            .mut_subcommands(|command| command.mut_args(without_empty_variable));
        let read = CommandLine::from_arg_matches(&command.get_matches_mut());
        read.unwrap_or_else(|error| error.format(&mut command).exit())
    }

    pub(crate) fn color(&self) -> ColorChoice {
        if self.no_color { ColorChoice::Never } else { self.color }
    }
}

/// A variable that is set to nothing is not set.
fn without_empty_variable(arg: Arg) -> Arg {
    let is_empty = |name| std::env::var_os(name).is_some_and(|value| value.is_empty());
    if arg.get_env().is_some_and(is_empty) { arg.env(Resettable::Reset) } else { arg }
}

#[derive(Subcommand)]
pub(crate) enum CliCommand {
    /// Say what a provider would refuse
    Check(CheckArgs),
    /// Repair files in place, or stdin to stdout (the same as check --fix)
    #[command(mut_arg("fix", |arg| arg.hide(true)), mut_arg("all", |arg| arg.hide(true)))]
    Fix(CheckArgs),
    /// Make a conversation shorter, and keep every call with its answer
    Compact(Box<CompactArgs>),
    /// Tell a request, a response or a stream in another provider's format
    Convert(Box<ConvertArgs>),
    /// Put back what a fix or a compaction replaced
    Undo(UndoArgs),
    /// List the sessions of every agent on this machine
    List(ListArgs),
    /// Draw a session: its messages, calls and branches
    Show(ShowArgs),
    /// Print the history of a session, ready to be sent
    Resume(ResumeArgs),
    /// Write a session as Markdown, HTML or JSON
    Export(ExportArgs),
    /// Copy a session under a new id, repaired
    Fork(ForkArgs),
    /// Follow an agent's stream: what it says, what it calls, and how it ends
    Follow(Box<FollowArgs>),
    /// Look at runs that were kept
    Runs(Box<RunsArgs>),
    /// Look after the store that runs are kept in
    Store(Box<StoreArgs>),
    /// Talk with a model that may use tools: in the terminal, or over a pipe
    Chat(Box<ChatArgs>),
    /// Run the gateway: point any OpenAI or Anthropic client at it
    Serve(Box<ServeArgs>),
    /// Print the variables that point clients at the gateway
    Env(EnvArgs),
    /// Run the built-in model as a provider of its own, for tests and trials
    Scripted(ScriptedArgs),
    /// Explain one rule, or list a family
    Rule(RuleArgs),
    /// List all rules
    Rules(RulesArgs),
    /// Say what a provider's error text means and what to do
    Explain(ExplainArgs),
    /// A broken session, found and repaired, in thirty seconds
    Demo(DemoArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArgs {
    /// Files, folders, ids of sessions, or `-` for stdin
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<PathBuf>,
    /// Every session of every agent on this machine
    #[arg(long, help_heading = "Sessions", conflicts_with = "targets")]
    pub(crate) all: bool,
    /// Only sessions of these agents; all of theirs, if no target is named
    #[arg(long, value_name = "AGENT", value_delimiter = ',', help_heading = "Sessions", value_parser = agents())]
    pub(crate) agent: Vec<SessionAgent>,
    /// The session that was written to last
    #[arg(long, help_heading = "Sessions", conflicts_with_all = ["all", "targets"])]
    pub(crate) last: bool,
    /// Repair what can be repaired without asking
    #[arg(long, help_heading = "Repair")]
    pub(crate) fix: bool,
    /// Also make repairs that speak for the user, or remove what is not understood
    #[arg(long, help_heading = "Repair")]
    pub(crate) unsafe_fixes: bool,
    /// Show what a repair would change, and write nothing
    #[arg(long, help_heading = "Repair")]
    pub(crate) diff: bool,
    /// Judge a session as a provider would be sent it, not as its agent copes with it
    #[arg(long, help_heading = "Sessions")]
    pub(crate) for_api: bool,
    #[command(flatten)]
    pub(crate) repair: RepairArgs,
    /// Look only for these rules: codes (FW101), families (FW1) or names, separated by commas
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) select: Vec<String>,
    /// Leave these rules out
    #[arg(long, value_name = "RULES", value_delimiter = ',', help_heading = "Rules")]
    pub(crate) ignore: Vec<String>,
    /// Whose rules [default: those of the format's owner]
    #[arg(long, value_name = "PROFILE", help_heading = "Rules", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
    /// The format of the input [default: detected]
    #[arg(long, value_name = "FORMAT", help_heading = "Rules", value_parser = formats())]
    pub(crate) format: Option<InputFormat>,
    /// How findings are written
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
    /// List the files that would be read, and stop
    #[arg(long, help_heading = "Output")]
    pub(crate) show_files: bool,
    /// Findings and errors only: no notes, no summary
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Exit 0 even if findings remain
    #[arg(long, help_heading = "Exit code")]
    pub(crate) exit_zero: bool,
    /// Exit 1 if anything was repaired, even if nothing remains
    #[arg(long, help_heading = "Exit code")]
    pub(crate) exit_non_zero_on_fix: bool,
}

#[derive(Args)]
pub(crate) struct UndoArgs {
    /// The files or sessions to put back
    #[arg(value_name = "TARGET", required_unless_present_any = ["list", "prune"])]
    pub(crate) files: Vec<PathBuf>,
    /// List what can be put back, and how large it is
    #[arg(long)]
    pub(crate) list: bool,
    /// Put back even if the file changed since; what it holds now is kept as a backup
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove old backups, but never the newest of a file
    #[arg(long, conflicts_with_all = ["list", "force", "files"])]
    pub(crate) prune: bool,
    /// How old they are: 30d, 12h [default: 90d, or the oldest of more than 1 GiB]
    #[arg(long, value_name = "AGE", requires = "prune")]
    pub(crate) older_than: Option<String>,
    /// Say what would be removed, and remove nothing
    #[arg(long, requires = "prune")]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct RuleArgs {
    /// A code, a name or a family, as FW101, unanswered-call or FW1
    #[arg(value_name = "RULE")]
    pub(crate) rule: String,
}

#[derive(Args)]
pub(crate) struct RulesArgs {
    /// How the list is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: ListFormat,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The error text, in any wrapping; from stdin if left out
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// The language of the advice
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
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }
}
