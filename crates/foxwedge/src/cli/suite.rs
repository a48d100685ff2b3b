//! Arguments of `foxwedge suite`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use foxwedge_suite::{HistoryFormat, SuiteLevel, SuiteTrack};

/// What `foxwedge suite run --help` shows after the options.
const PROTOCOL: &str = "\
The engine reads one question per line from its stdin:
{\"id\":\"V0001\",\"track\":\"repair\",\"format\":\"openai-chat\",\"profile\":\"openai-chat\",\"input\":\"[…]\"}
and writes one answer per line to its stdout, before it reads the next question:
{\"id\":\"V0001\",\"valid\":false,\"message\":2}     to the track validate; `message` is optional
{\"id\":\"V0001\",\"output\":\"[…]\"}               to all other tracks: the new history
{\"id\":\"V0001\",\"skip\":\"why\"}                 it does not do this
An answer may state the name and version of the engine in `engine`.
Questions of the track convert have a `target` format, those of the track cut a number `keep`.
`foxwedge suite show V0001` prints a vector. suite/SPEC.md describes the tracks and the laws.";

#[derive(Args, Debug)]
pub(crate) struct SuiteArgs {
    #[command(subcommand)]
    pub(crate) action: SuiteAction,
}

#[derive(Subcommand, Debug)]
pub(crate) enum SuiteAction {
    /// Ask an engine all questions of the suite and judge its answers
    Run(Box<SuiteRunArgs>),
    /// Answer the questions of the suite on stdin and stdout
    Engine,
    /// Print vectors as JSON: the input, the verdicts, and what a repair must keep
    Show {
        /// Vectors, such as V0547
        #[arg(value_name = "IDS", required = true)]
        ids: Vec<String>,
    },
}

#[derive(Args, Debug)]
#[command(after_help = PROTOCOL)]
pub(crate) struct SuiteRunArgs {
    /// Command that starts the engine; quotes group words, no shell is involved
    #[arg(long, value_name = "COMMAND")]
    pub(crate) engine: String,
    /// Folder with vectors [default: those in this program]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) vectors: Option<PathBuf>,
    /// Only these vectors, separated by commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Only these tracks
    #[arg(long, value_name = "TRACKS", value_delimiter = ',', value_parser = track)]
    pub(crate) track: Vec<SuiteTrack>,
    /// Only these levels: A pairing and order, B ids, content and roles, C reasoning and provider tools
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', value_parser = level)]
    pub(crate) level: Vec<SuiteLevel>,
    /// Only histories in these formats
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', value_parser = format)]
    pub(crate) format: Vec<HistoryFormat>,
    /// Only these profiles
    #[arg(long, value_name = "PROFILES", value_delimiter = ',')]
    pub(crate) profile: Vec<String>,
    /// Seconds to wait for an answer
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// Format of the results: table, json, junit, or expect (a file for --expect)
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value = "table",
        hide_possible_values = true
    )]
    pub(crate) output_format: SuiteOutput,
    /// File of failures that are expected; others, and expected ones that pass, are errors
    #[arg(long, value_name = "FILE")]
    pub(crate) expect: Option<PathBuf>,
    /// Write a badge to this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) badge: Option<PathBuf>,
}

/// Format of the results.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SuiteOutput {
    /// A table, and a line for each failure
    Table,
    /// One JSON document
    Json,
    /// JUnit XML, for other CI servers
    Junit,
    /// The file of expected failures for these results
    Expect,
}

fn track(name: &str) -> Result<SuiteTrack, String> {
    let names = SuiteTrack::ALL.map(SuiteTrack::name).join(", ");
    SuiteTrack::parse(name).ok_or_else(|| format!("the tracks are {names}"))
}

pub(super) fn level(name: &str) -> Result<SuiteLevel, String> {
    let levels = [SuiteLevel::A, SuiteLevel::B, SuiteLevel::C];
    let found = levels.into_iter().find(|level| level.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| "the levels are A, B and C".to_owned())
}

fn format(name: &str) -> Result<HistoryFormat, String> {
    let names = HistoryFormat::all().map(HistoryFormat::name).collect::<Vec<_>>().join(", ");
    HistoryFormat::parse(name).ok_or_else(|| format!("the formats are {names}"))
}
