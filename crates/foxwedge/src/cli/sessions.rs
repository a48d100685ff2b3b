//! What can be typed about the sessions of agents.

use std::path::PathBuf;

use clap::Args;
use foxwedge_core::{Format, Profile};
use foxwedge_sessions::SessionAgent;

use super::{
    RepairArgs,
    values::{
        ExportFormat, InputFormat, ListFormat, SessionViewMode, agents, formats, profiles, wires,
    },
};

/// One session, and what is to be seen of it.
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionArgs {
    /// The id of a session or how it begins, a file, or `-` for stdin
    #[arg(value_name = "TARGET", required_unless_present = "last")]
    pub(crate) target: Option<PathBuf>,
    /// The session that was written to last
    #[arg(long, help_heading = "Session", conflicts_with = "target")]
    pub(crate) last: bool,
    /// Look only among the sessions of these agents
    #[arg(long, value_name = "AGENT", value_delimiter = ',', help_heading = "Session", value_parser = agents())]
    pub(crate) agent: Vec<SessionAgent>,
    /// Repaired, or as it stands in the file
    #[arg(long, value_name = "VIEW", default_value = "clean", help_heading = "Session")]
    pub(crate) view: SessionViewMode,
    /// Refuse a session in which anything is wrong
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
    /// Only sessions about this folder, or a folder in it
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Only sessions that are not ok
    #[arg(long)]
    pub(crate) broken: bool,
    /// At most so many, the newest first
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<usize>,
    /// List sub-agents beside the sessions that started them
    #[arg(long)]
    pub(crate) sub_agents: bool,
    /// How the list is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: ListFormat,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The format of a file [default: detected]
    #[arg(long, value_name = "FORMAT", help_heading = "Session", value_parser = formats())]
    pub(crate) format: Option<InputFormat>,
    /// Show what stands on other branches
    #[arg(long)]
    pub(crate) branches: bool,
    /// List every record of the file instead
    #[arg(long, conflicts_with = "branches")]
    pub(crate) records: bool,
}

#[derive(Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The format of a file [default: detected]
    #[arg(long, value_name = "FORMAT", help_heading = "Session", value_parser = formats())]
    pub(crate) format: Option<InputFormat>,
    /// The format of the history [default: that of the agent's provider]
    #[arg(long, value_name = "FORMAT", value_parser = wires())]
    pub(crate) to: Option<Format>,
    /// Whose rules the history obeys [default: those of the format's owner]
    #[arg(long, value_name = "PROFILE", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
    /// Spread over lines
    #[arg(long)]
    pub(crate) pretty: bool,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// How the conversation is written
    #[arg(long, value_name = "FORMAT", default_value = "markdown")]
    pub(crate) format: ExportFormat,
    /// Take out keys, tokens, passwords and names of home folders
    #[arg(long)]
    pub(crate) redact: bool,
    /// Write to a file that only you can read, instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The id of the copy [default: made from the old one]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Where the copy goes [default: where the agent finds it]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
