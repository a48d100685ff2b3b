//! Arguments of `foxwedge follow`, `foxwedge runs` and `foxwedge store`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use foxwedge_local::runs::RunFrameOptions;
use foxwedge_run::encode;

/// The store to open.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreUrlArgs {
    /// Store to use: a file, or postgres://… [env: FOXWEDGE_STORE] [default: a file in your data folder]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) store: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct FollowArgs {
    /// File with the agent's output; stdin if omitted or `-`
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Agent that produced the stream
    #[arg(long, value_name = "AGENT", default_value = "auto")]
    pub(crate) from: FollowSource,
    /// Another tool that asks the user: its error counts as a hand-over, not a failure
    #[arg(long = "interactive", value_name = "TOOL")]
    pub(crate) interactive: Vec<String>,
    /// Record the run in this store: a file, or postgres://… [env: FOXWEDGE_STORE]
    #[arg(long, value_name = "URL", help_heading = "Store", conflicts_with = "no_store")]
    pub(crate) store: Option<String>,
    /// Do not record the run, even if FOXWEDGE_STORE is set
    #[arg(long, help_heading = "Store")]
    pub(crate) no_store: bool,
    /// Session of the run [default: the agent's own]
    #[arg(long, value_name = "ID", help_heading = "Store")]
    pub(crate) session: Option<String>,
    /// Id of the run [default: a new one]
    #[arg(long, value_name = "ID", help_heading = "Store")]
    pub(crate) run: Option<String>,
    /// Output format
    #[arg(long = "as", value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) telling: RunView,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    /// Exit 1 if a line could not be read or parsed
    #[arg(long, help_heading = "Exit code")]
    pub(crate) strict: bool,
}

/// Options of frames for user interfaces.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FrameArgs {
    /// Write server-sent events, with ids that clients can resume from
    #[arg(long, help_heading = "Output")]
    pub(crate) sse: bool,
    /// AG-UI version: 1 for clients of 1.0 and newer, 0 for every client
    #[arg(long, value_name = "VERSION", default_value = "1", help_heading = "Output")]
    pub(crate) agui: AgUiProtocolVersion,
    /// Version of the Agent Client Protocol
    #[arg(long, value_name = "VERSION", default_value = "1", help_heading = "Output")]
    pub(crate) acp: AcpProtocolVersion,
}

impl From<FrameArgs> for RunFrameOptions {
    fn from(args: FrameArgs) -> RunFrameOptions {
        let agui = match args.agui {
            AgUiProtocolVersion::V0 => encode::AgUiRevision::V0,
            AgUiProtocolVersion::V1 => encode::AgUiRevision::V1,
        };
        let acp = match args.acp {
            AcpProtocolVersion::V1 => encode::AcpRevision::V1,
            AcpProtocolVersion::V2 => encode::AcpRevision::V2,
        };
        RunFrameOptions { sse: args.sse, agui, acp }
    }
}

/// The agent that produced a stream.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FollowSource {
    /// Detect from the first lines
    Auto,
    /// `claude -p --output-format stream-json --verbose`, or messages of the Agent SDK
    ClaudeCode,
    /// `codex exec --json`
    Codex,
    /// `gemini --output-format stream-json`
    GeminiCli,
    /// Foxwedge run events, one per line
    Events,
}

/// Output format of a followed run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunView {
    /// Readable text
    Text,
    /// Foxwedge run events, one per line
    Jsonl,
    /// AG-UI events
    Agui,
    /// UI message stream of the AI SDK
    AiSdk,
    /// Agent Client Protocol session updates
    Acp,
}

impl RunView {
    /// The frame format; `None` for readable text.
    pub(crate) fn format(self) -> Option<encode::UiFormat> {
        match self {
            RunView::Text => None,
            RunView::Jsonl => Some(encode::UiFormat::Jsonl),
            RunView::Agui => Some(encode::UiFormat::AgUi),
            RunView::AiSdk => Some(encode::UiFormat::AiSdk),
            RunView::Acp => Some(encode::UiFormat::Acp),
        }
    }
}

/// Frame format for user interfaces.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameFormat {
    /// Foxwedge run events, one per line
    Jsonl,
    /// AG-UI events
    Agui,
    /// UI message stream of the AI SDK
    AiSdk,
    /// Agent Client Protocol session updates
    Acp,
}

impl FrameFormat {
    /// The format that the encoder uses.
    pub(crate) fn format(self) -> encode::UiFormat {
        match self {
            FrameFormat::Jsonl => encode::UiFormat::Jsonl,
            FrameFormat::Agui => encode::UiFormat::AgUi,
            FrameFormat::AiSdk => encode::UiFormat::AiSdk,
            FrameFormat::Acp => encode::UiFormat::Acp,
        }
    }
}

/// Version of the AG-UI protocol.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AgUiProtocolVersion {
    /// Works with every client
    #[value(name = "0")]
    V0,
    /// Needs a client of AG-UI 1.0
    #[value(name = "1")]
    V1,
}

/// Version of the Agent Client Protocol.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AcpProtocolVersion {
    /// The response to the prompt ends the run
    #[value(name = "1")]
    V1,
    /// A session update ends the run; calls can be paused and cancelled
    #[value(name = "2")]
    V2,
}

#[derive(Args, Debug)]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArgs,
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,
    #[command(flatten)]
    pub(crate) list: ListRunsArgs,
}

#[derive(Subcommand, Debug)]
pub(crate) enum RunsAction {
    /// List runs, newest first
    List(ListRunsArgs),
    /// Show a run: its tool calls with their status, and its outcome
    Show(ShowRunArgs),
    /// Print the events of a run, for programs and user interfaces
    Events(RunEventsArgs),
    /// Stop a run; its outcome is `stopped`
    Stop(StopRunArgs),
    /// Replay a file of events through the state machine, and print the final state
    Replay(ReplayArgs),
}

#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ListRunsArgs {
    /// Only runs of this session
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Only runs that are still open
    #[arg(long)]
    pub(crate) open: bool,
    /// Maximum number of runs, newest first [default: 20]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<usize>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ShowRunArgs {
    /// Run id, or a prefix of it
    #[arg(value_name = "RUN", required_unless_present = "last")]
    pub(crate) run: Option<String>,
    /// Use the most recently started run
    #[arg(long, conflicts_with = "run")]
    pub(crate) last: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RunEventsArgs {
    /// Run id, or a prefix of it
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Output format
    #[arg(long = "as", value_name = "FORMAT", default_value = "jsonl", help_heading = "Output")]
    pub(crate) telling: FrameFormat,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    /// Only what follows this frame id (12.3) or event position (12)
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<String>,
    /// Wait for more events until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StopRunArgs {
    /// Run id, or a prefix of it
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// File of events, one per line, in any order; `-` for stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print frames for user interfaces
    #[arg(long = "as", value_name = "FORMAT", help_heading = "Output", conflicts_with = "truth")]
    pub(crate) telling: Option<FrameFormat>,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    /// Print the final state as JSON (default)
    #[arg(long, help_heading = "Output")]
    pub(crate) truth: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    pub(crate) store: StoreUrlArgs,
    #[command(subcommand)]
    pub(crate) action: StoreAction,
}

#[derive(Subcommand, Debug)]
pub(crate) enum StoreAction {
    /// Show where the store is and what it contains
    Path(StorePathArgs),
    /// Check the database and the event chain of every run for damage
    Check,
    /// Close runs whose process is gone
    Sweep,
    /// Delete sessions that have not changed for a while
    Prune(PruneArgs),
    /// Delete sessions or runs
    Delete(DeleteArgs),
    /// Export sessions with their runs as JSON lines
    Export(StoreExportArgs),
    /// Import what `export` wrote; existing entries are skipped
    Import(ImportArgs),
    /// Reclaim the disk space of deleted data
    Compact,
}

#[derive(Args, Debug)]
pub(crate) struct StorePathArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PruneArgs {
    /// Minimum time since the last change: 30d, 12h, 90m, 45s
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: String,
    /// Show what would be deleted, without deleting anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// Full ids of sessions or runs
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StoreExportArgs {
    /// Only these sessions [default: all]
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    /// Write to a file that only you can read, instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// File that `export` wrote; `-` for stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
