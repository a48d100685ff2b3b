//! Arguments of the commands that read agents' sessions.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf};

use clap::Args;
use foxwedge_core::{Format, Profile};
use foxwedge_sessions::SessionAgent;

use super::{
    RepairArgs,
    values::{
        ExportFormat, InputFormat, ListFormat, SessionViewMode, agents, formats, profiles, wires,
    },
};

/// Selects one session and the view of it.
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionArgs {
    /// A session id or a prefix of it, a file, or `-` for stdin
    #[arg(value_name = "TARGET", required_unless_present = "last")]
    pub(crate) target: Option<PathBuf>,
    /// Use the most recently written session
    #[arg(long, help_heading = "Session", conflicts_with = "target")]
    pub(crate) last: bool,
    /// Search only the sessions of these agents
    #[arg(long, value_name = "AGENT", value_delimiter = ',', help_heading = "Session", value_parser = agents())]
    pub(crate) agent: Vec<SessionAgent>,
    /// Show the session repaired, or as it is in the file
    #[arg(long, value_name = "VIEW", default_value = "clean", help_heading = "Session")]
    pub(crate) view: SessionViewMode,
    /// Fail if the session has any finding
    #[arg(long, help_heading = "Session")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) repair: RepairArgs,
}

#[derive(Args)]
pub(crate) struct ListArgs {
    /// Only sessions of these agents
    #[arg(long, value_name = "AGENT", value_delimiter = ',', value_parser = agents())]
    pub(crate) agent: Vec<SessionAgent>,
    /// Only sessions in this folder or its subfolders
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Only sessions with problems
    #[arg(long)]
    pub(crate) broken: bool,
    /// Maximum number of sessions, newest first
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<NonZeroUsize>,
    /// Also list sub-agents, next to the sessions that started them
    #[arg(long)]
    pub(crate) sub_agents: bool,
    /// Choose a session in the terminal, and continue, repair or show it
    #[arg(short, long, conflicts_with = "output_format")]
    pub(crate) interactive: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: ListFormat,
}

#[derive(Args)]
pub(crate) struct SearchArgs {
    /// The text to search for, in any case
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) text: Vec<String>,
    /// Only sessions of these agents
    #[arg(long, value_name = "AGENT", value_delimiter = ',', value_parser = agents())]
    pub(crate) agent: Vec<SessionAgent>,
    /// Only sessions in this folder or its subfolders
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Maximum number of sessions, newest first
    #[arg(long, value_name = "NUMBER", default_value = "50")]
    pub(crate) limit: NonZeroUsize,
    /// Also search sub-agents
    #[arg(long)]
    pub(crate) sub_agents: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: ListFormat,
    /// Same as --output-format json
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Input format, if the target is a file [default: detected]
    #[arg(long, value_name = "FORMAT", help_heading = "Session", value_parser = formats())]
    pub(crate) format: Option<InputFormat>,
    /// Also show messages on other branches
    #[arg(long)]
    pub(crate) branches: bool,
    /// List every record of the file
    #[arg(long, conflicts_with = "branches")]
    pub(crate) records: bool,
}

#[derive(Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Input format, if the target is a file [default: detected]
    #[arg(long, value_name = "FORMAT", help_heading = "Session", value_parser = formats())]
    pub(crate) format: Option<InputFormat>,
    /// Output format [default: that of the agent's provider]
    #[arg(long, value_name = "FORMAT", value_parser = wires())]
    pub(crate) to: Option<Format>,
    /// Provider profile that the history must satisfy [default: that of the format]
    #[arg(long, value_name = "PROFILE", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
    /// Pretty-print the output
    #[arg(long)]
    pub(crate) pretty: bool,
}

#[derive(Args)]
pub(crate) struct ContinueArgs {
    /// A session id or a prefix of it, or the file of a session
    #[arg(value_name = "TARGET", required_unless_present = "last")]
    pub(crate) target: Option<PathBuf>,
    /// Use the most recently written session
    #[arg(long, help_heading = "Session", conflicts_with = "target")]
    pub(crate) last: bool,
    /// Search only the sessions of these agents
    #[arg(long, value_name = "AGENT", value_delimiter = ',', help_heading = "Session", value_parser = agents())]
    pub(crate) agent: Vec<SessionAgent>,
    /// Start the agent without repairing the session
    #[arg(long)]
    pub(crate) no_fix: bool,
    /// Print the agent's command instead of running it
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) repair: RepairArgs,
    /// More arguments for the agent, after `--`
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) repair: RepairArgs,
    /// The program and its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Export every session into a folder, with an index
    #[arg(long, help_heading = "Session", requires = "output", conflicts_with_all = ["target", "last"])]
    pub(crate) all: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "markdown")]
    pub(crate) format: ExportFormat,
    /// Remove keys, tokens, passwords and home folder names
    #[arg(long)]
    pub(crate) redact: bool,
    /// Write to a file that only you can read, or with --all to a new folder, instead of stdout
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Write the history as a new session of another agent, and list what is lost
    #[arg(long, value_name = "AGENT", value_parser = agents())]
    pub(crate) to: Option<SessionAgent>,
    /// Id of the copy [default: derived from the original id]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// File to write the copy to [default: where the agent finds it]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
