//! What can be typed about making a conversation shorter.

use std::path::PathBuf;

use clap::Args;
use foxwedge_core::Profile;
use foxwedge_sessions::SessionAgent;
use foxwedge_tokens::CountingMethod;

use super::{
    RepairArgs,
    values::{
        CompactStrategy, InputFormat, ReportFormat, agents, countings, formats, profiles,
        strategies,
    },
};

#[derive(Args, Clone, Debug)]
pub(crate) struct CompactArgs {
    /// A file, the id of a session or how it begins, or `-` for stdin
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<PathBuf>,
    /// The session that was written to last
    #[arg(long, help_heading = "Session", conflicts_with = "target")]
    pub(crate) last: bool,
    /// Look only among the sessions of these agents
    #[arg(long, value_name = "AGENT", value_delimiter = ',', help_heading = "Session", value_parser = agents())]
    pub(crate) agent: Vec<SessionAgent>,
    /// Take the last compaction of a session back: what it hid is visible again, what came later
    /// stays
    #[arg(long, help_heading = "Session", conflicts_with_all = ["strategy", "fraction", "pin", "budget", "model", "window", "reserve", "threshold", "goal", "summarizer", "diff"])]
    pub(crate) rewind: bool,
    /// What is done, in this order, until it is enough [default: elide,budget]
    #[arg(long, value_name = "STRATEGY", value_delimiter = ',', help_heading = "How", value_parser = strategies())]
    pub(crate) strategy: Vec<CompactStrategy>,
    /// The share that `window` removes, 0 to 1 [default: 0.5]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, help_heading = "How")]
    pub(crate) fraction: Option<String>,
    /// Messages that stay, by their index
    #[arg(long, value_name = "INDEX", value_delimiter = ',', help_heading = "How")]
    pub(crate) pin: Vec<usize>,
    /// Tools whose answers stay whole; a star at the end stands for anything
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "How")]
    pub(crate) keep_tool: Vec<String>,
    /// Tools whose answers are cut down to their ends, but never cleared
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "How")]
    pub(crate) shrink_tool: Vec<String>,
    /// Tools whose answers are cleared before anything else
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "How")]
    pub(crate) clear_tool: Vec<String>,
    /// Tokens that are left of an answer that shrinks [default: 160]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "How")]
    pub(crate) ends: Option<String>,
    /// Tokens of the newest messages that `summarize` leaves as they are [default: a quarter]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "How")]
    pub(crate) recent: Option<String>,
    /// A command that reads a prompt on stdin and prints a summary [default: a digest of our own]
    #[arg(long, value_name = "COMMAND", help_heading = "How")]
    pub(crate) summarizer: Option<String>,
    /// Seconds until that command is stopped [default: 120]
    #[arg(long, value_name = "SECONDS", help_heading = "How", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) summarizer_timeout: Option<u64>,
    /// Tokens that the whole request may take, as 32000, 32k or 1.5m
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "How much", conflicts_with_all = ["window", "reserve", "threshold"])]
    pub(crate) budget: Option<String>,
    /// Whose window and whose tokens [default: the model that the request names]
    #[arg(long, value_name = "MODEL", help_heading = "How much")]
    pub(crate) model: Option<String>,
    /// The model's window, where it is not known
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "How much")]
    pub(crate) window: Option<String>,
    /// Tokens kept free for the reply [default: the longest reply, at most a quarter of the window]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "How much")]
    pub(crate) reserve: Option<String>,
    /// Nothing happens below this share of the window without the reserve [default: 0.9]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, help_heading = "How much")]
    pub(crate) threshold: Option<String>,
    /// Shrink to so many tokens once it is too much [default: the budget, or 0.6 of the window]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "How much")]
    pub(crate) goal: Option<String>,
    /// How tokens are counted [default: as the model does]
    #[arg(long, value_name = "COUNTING", help_heading = "How much", value_parser = countings())]
    pub(crate) tokens: Option<CountingMethod>,
    /// Say what would happen, and write nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Show what would change, message by message, and write nothing
    #[arg(long, help_heading = "Output", conflicts_with_all = ["output_format", "output_file"])]
    pub(crate) diff: bool,
    /// How the report is written
    #[arg(long, value_name = "FORMAT", default_value = "full", help_heading = "Output")]
    pub(crate) output_format: ReportFormat,
    /// Write the report to a file instead
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output_file: Option<PathBuf>,
    /// Errors only: no report for people, no notes
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) repair: RepairArgs,
    /// Whose rules [default: those of the format's owner]
    #[arg(long, value_name = "PROFILE", help_heading = "Rules", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
    /// The format of the input [default: detected]
    #[arg(long, value_name = "FORMAT", help_heading = "Rules", value_parser = formats())]
    pub(crate) format: Option<InputFormat>,
}
