//! Arguments of `foxwedge compact`.

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
    /// A file, a session id or a prefix of it, or `-` for stdin
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<PathBuf>,
    /// Use the most recently written session
    #[arg(long, help_heading = "Session", conflicts_with = "target")]
    pub(crate) last: bool,
    /// Search only the sessions of these agents
    #[arg(long, value_name = "AGENT", value_delimiter = ',', help_heading = "Session", value_parser = agents())]
    pub(crate) agent: Vec<SessionAgent>,
    /// Revert the last compaction of a session: hidden messages are visible again, later ones
    /// stay
    #[arg(long, help_heading = "Session", conflicts_with_all = ["strategy", "fraction", "pin", "budget", "model", "window", "reserve", "threshold", "goal", "summarizer", "diff"])]
    pub(crate) rewind: bool,
    /// Strategies to apply, in this order, until the goal is reached [default: elide,budget]
    #[arg(long, value_name = "STRATEGY", value_delimiter = ',', help_heading = "Strategy", value_parser = strategies())]
    pub(crate) strategy: Vec<CompactStrategy>,
    /// Fraction that `window` removes, 0 to 1 [default: 0.5]
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true, help_heading = "Strategy")]
    pub(crate) fraction: Option<String>,
    /// Indexes of messages to keep
    #[arg(long, value_name = "INDEX", value_delimiter = ',', help_heading = "Strategy")]
    pub(crate) pin: Vec<usize>,
    /// Tools whose results are kept whole; a trailing `*` matches any name
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "Strategy")]
    pub(crate) keep_tool: Vec<String>,
    /// Tools whose results are truncated to their beginning and end, but never cleared
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "Strategy")]
    pub(crate) shrink_tool: Vec<String>,
    /// Tools whose results are cleared first
    #[arg(long, value_name = "TOOL", value_delimiter = ',', help_heading = "Strategy")]
    pub(crate) clear_tool: Vec<String>,
    /// Tokens to keep of a truncated result [default: 160]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "Strategy")]
    pub(crate) ends: Option<String>,
    /// Tokens of the newest messages that `summarize` leaves unchanged [default: a quarter]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "Strategy")]
    pub(crate) recent: Option<String>,
    /// A command that reads a prompt on stdin and prints a summary [default: a built-in digest]
    #[arg(long, value_name = "COMMAND", help_heading = "Strategy")]
    pub(crate) summarizer: Option<String>,
    /// Timeout of the summarizer command, in seconds [default: 120]
    #[arg(long, value_name = "SECONDS", help_heading = "Strategy", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) summarizer_timeout: Option<u64>,
    /// Maximum tokens of the whole request: 32000, 32k or 1.5m
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "Budget", conflicts_with_all = ["window", "reserve", "threshold"])]
    pub(crate) budget: Option<String>,
    /// Model whose context window and tokenizer apply [default: the model that the request names]
    #[arg(long, value_name = "MODEL", help_heading = "Budget")]
    pub(crate) model: Option<String>,
    /// Context window of the model, if it is not known
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "Budget")]
    pub(crate) window: Option<String>,
    /// Tokens reserved for the reply [default: the longest reply, at most a quarter of the window]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "Budget")]
    pub(crate) reserve: Option<String>,
    /// Compact only above this fraction of the window minus the reserve [default: 0.9]
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true, help_heading = "Budget")]
    pub(crate) threshold: Option<String>,
    /// Tokens to shrink to once over the limit [default: the budget, or 0.6 of the window]
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, help_heading = "Budget")]
    pub(crate) goal: Option<String>,
    /// Token counting method [default: that of the model]
    #[arg(long, value_name = "METHOD", help_heading = "Budget", value_parser = countings())]
    pub(crate) tokens: Option<CountingMethod>,
    /// Report what would happen, without writing anything
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Show what would change, message by message, without writing anything
    #[arg(long, help_heading = "Output", conflicts_with_all = ["output_format", "output_file"])]
    pub(crate) diff: bool,
    /// Output format of the report
    #[arg(long, value_name = "FORMAT", default_value = "full", help_heading = "Output")]
    pub(crate) output_format: ReportFormat,
    /// Write the report to a file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output_file: Option<PathBuf>,
    /// Print only errors: no text report, no notes
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) repair: RepairArgs,
    /// Provider profile to check against [default: that of the format]
    #[arg(long, value_name = "PROFILE", help_heading = "Rules", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
    /// Input format [default: detected]
    #[arg(long, value_name = "FORMAT", help_heading = "Rules", value_parser = formats())]
    pub(crate) format: Option<InputFormat>,
}
