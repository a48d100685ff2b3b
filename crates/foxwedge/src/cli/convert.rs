//! Arguments of `foxwedge convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use foxwedge_core::{Format, Profile};
use foxwedge_formats::AiSdkList;

use super::{
    RepairArgs,
    values::{InputFormat, ReportFormat, formats, profiles, targets},
};

#[derive(Args, Clone, Debug)]
pub(crate) struct ConvertArgs {
    /// A file, a session id or a prefix of it, or `-` for stdin
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<PathBuf>,
    /// Input format [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) from: Option<InputFormat>,
    /// Output format
    #[arg(long, value_name = "FORMAT", value_parser = targets())]
    pub(crate) to: ConversionTarget,
    /// Kind of input [default: detected]
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<ConversionKind>,
    /// How tool calls and results are written
    #[arg(long, value_name = "MODE", default_value = "native")]
    pub(crate) tools: ConvertToolMode,
    /// Model name in the output [default: unchanged]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Fail if the conversion loses anything
    #[arg(long)]
    pub(crate) strict: bool,
    /// Report (--output-format json) of an earlier conversion: restores the ids and tool names
    /// that it replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) ids: Option<PathBuf>,
    /// Seed for the generated ids of responses and streams
    #[arg(long, value_name = "TEXT")]
    pub(crate) seed: Option<String>,
    #[command(flatten)]
    pub(crate) repair: RepairArgs,
    /// Provider profile that the output must satisfy [default: that of the format]
    #[arg(long, value_name = "PROFILE", help_heading = "Rules", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
    /// Pretty-print the output
    #[arg(long, help_heading = "Output")]
    pub(crate) pretty: bool,
    /// Write the output to a file that only you can read, instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Print only the report, to stdout
    #[arg(long, visible_alias = "dry-run", help_heading = "Output", conflicts_with = "output")]
    pub(crate) report_only: bool,
    /// Output format of the report
    #[arg(long, value_name = "FORMAT", default_value = "full", help_heading = "Output")]
    pub(crate) output_format: ReportFormat,
    /// Print only errors: no text report, no notes
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// What a conversation is converted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConversionTarget {
    /// A provider's format.
    Wire(Format),
    /// A message list of the AI SDK.
    List(AiSdkList),
}

impl ConversionTarget {
    /// The value on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ConversionTarget::Wire(format) => format.name(),
            ConversionTarget::List(list) => list.name(),
        }
    }
}

/// Kind of input.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConversionKind {
    /// A request, a list of messages or a session
    Request,
    /// A complete response of a provider
    Response,
    /// A streamed response of a provider
    Stream,
}

impl ConversionKind {
    /// The value on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ConversionKind::Request => "request",
            ConversionKind::Response => "response",
            ConversionKind::Stream => "stream",
        }
    }
}

/// How tool calls and results are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConvertToolMode {
    /// As the output format encodes them
    Native,
    /// As text, for models without tool support
    Text,
}
