//! What can be typed about another provider's format.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use foxwedge_core::{Format, Profile};

use super::{
    RepairArgs,
    values::{InputFormat, ReportFormat, formats, profiles, wires},
};

#[derive(Args, Clone, Debug)]
pub(crate) struct ConvertArgs {
    /// A file, the id of a session or how it begins, or `-` for stdin
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<PathBuf>,
    /// The format of the input [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) from: Option<InputFormat>,
    /// The format of the result
    #[arg(long, value_name = "FORMAT", value_parser = wires())]
    pub(crate) to: Format,
    /// What the input is [default: detected]
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<ConversionKind>,
    /// How calls and answers are told
    #[arg(long, value_name = "HOW", default_value = "native")]
    pub(crate) tools: ConvertToolMode,
    /// The name of the model in the result [default: as it was]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Refuse a conversion that loses something
    #[arg(long)]
    pub(crate) strict: bool,
    /// The report (--output-format json) of an earlier conversion: ids and names of tools that it
    /// replaced come back
    #[arg(long, value_name = "FILE")]
    pub(crate) ids: Option<PathBuf>,
    /// Makes the invented ids of responses and streams differ from those of others
    #[arg(long, value_name = "TEXT")]
    pub(crate) seed: Option<String>,
    #[command(flatten)]
    pub(crate) repair: RepairArgs,
    /// Whose rules the result obeys [default: those of the format's owner]
    #[arg(long, value_name = "PROFILE", help_heading = "Rules", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
    /// Spread the result over lines
    #[arg(long, help_heading = "Output")]
    pub(crate) pretty: bool,
    /// Write the result to a file that only you can read, instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Print the report to stdout, and no result
    #[arg(long, visible_alias = "dry-run", help_heading = "Output", conflicts_with = "output")]
    pub(crate) report_only: bool,
    /// How the report is written
    #[arg(long, value_name = "FORMAT", default_value = "full", help_heading = "Output")]
    pub(crate) output_format: ReportFormat,
    /// Errors only: no report for people, no notes
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// What an input is.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConversionKind {
    /// What a provider is sent: a request, a list of messages, a session
    Request,
    /// What a provider answers, in one piece
    Response,
    /// What a provider answers, as it comes
    Stream,
}

impl ConversionKind {
    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ConversionKind::Request => "request",
            ConversionKind::Response => "response",
            ConversionKind::Stream => "stream",
        }
    }
}

/// How calls and answers are told.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConvertToolMode {
    /// As the format spells them
    Native,
    /// As text, for models that know no tools
    Text,
}
