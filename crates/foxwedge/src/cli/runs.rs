//! What can be typed about runs and the store they are kept in.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use foxwedge_run::encode;

/// Which store.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StoreUrlArgs {
    /// The store: a file, or postgres://… [env: FOXWEDGE_STORE] [default: a file in your data folder]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) store: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct FollowArgs {
    /// What the agent prints, in a file; stdin if left out or `-`
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Whose stream it is
    #[arg(long, value_name = "AGENT", default_value = "auto")]
    pub(crate) from: FollowSource,
    /// One more tool that asks a person: an error of it is a hand-over, not a failure
    #[arg(long = "interactive", value_name = "TOOL")]
    pub(crate) interactive: Vec<String>,
    /// Keep the run in this store: a file, or postgres://… [env: FOXWEDGE_STORE]
    #[arg(long, value_name = "URL", help_heading = "Store", conflicts_with = "no_store")]
    pub(crate) store: Option<String>,
    /// Keep nothing, even if FOXWEDGE_STORE is set
    #[arg(long, help_heading = "Store")]
    pub(crate) no_store: bool,
    /// The session that the run belongs to [default: the agent's own]
    #[arg(long, value_name = "ID", help_heading = "Store")]
    pub(crate) session: Option<String>,
    /// The id of the run [default: a new one]
    #[arg(long, value_name = "ID", help_heading = "Store")]
    pub(crate) run: Option<String>,
    /// How the run is told
    #[arg(long = "as", value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) telling: RunView,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    /// Exit 1 if a line could not be read or was not understood
    #[arg(long, help_heading = "Exit code")]
    pub(crate) strict: bool,
}

/// How frames for user interfaces are written.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FrameArgs {
    /// Write server-sent events, with the ids that a reader goes on from
    #[arg(long, help_heading = "Output")]
    pub(crate) sse: bool,
    /// Which AG-UI: 0 is read by every client, 1 has words for stopped runs and sub-agents
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "0",
        hide_default_value = true,
        help_heading = "Output"
    )]
    pub(crate) agui: AgUiProtocolVersion,
}

/// Whose stream it is.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FollowSource {
    /// Look at the first lines
    Auto,
    /// `claude -p --output-format stream-json --verbose`, and what the Agent SDK yields
    ClaudeCode,
    /// `codex exec --json`
    Codex,
    /// `gemini --output-format stream-json`
    GeminiCli,
    /// Our own events, one in a line
    Events,
}

/// How a run is told.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunView {
    /// For people
    Text,
    /// Our own events, one in a line
    Jsonl,
    /// AG-UI events
    Agui,
    /// The UI message stream of the AI SDK
    AiSdk,
    /// Session updates of the Agent Client Protocol
    Acp,
}

impl RunView {
    /// The frames it consists of; none for people.
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

/// A standard that user interfaces speak.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameFormat {
    /// Our own events, one in a line
    Jsonl,
    /// AG-UI events
    Agui,
    /// The UI message stream of the AI SDK
    AiSdk,
    /// Session updates of the Agent Client Protocol
    Acp,
}

impl FrameFormat {
    /// The format by its own name.
    pub(crate) fn format(self) -> encode::UiFormat {
        match self {
            FrameFormat::Jsonl => encode::UiFormat::Jsonl,
            FrameFormat::Agui => encode::UiFormat::AgUi,
            FrameFormat::AiSdk => encode::UiFormat::AiSdk,
            FrameFormat::Acp => encode::UiFormat::Acp,
        }
    }
}

/// Which AG-UI.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AgUiProtocolVersion {
    /// What every client reads
    #[value(name = "0")]
    V0,
    /// What only clients of 1.0 read
    #[value(name = "1")]
    V1,
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
    /// List runs, the newest first
    List(ListRunsArgs),
    /// Draw a run: its calls, what became of each, and how it ended
    Show(ShowRunArgs),
    /// Print the events of a run, for programs and user interfaces
    Events(RunEventsArgs),
    /// End a run from outside: its outcome is `stopped`
    Stop(StopRunArgs),
    /// Run a file of events through the machine, and print what is true then
    Replay(ReplayArgs),
}

#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ListRunsArgs {
    /// Only runs of this session
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Only runs that are at work
    #[arg(long)]
    pub(crate) open: bool,
    /// At most so many, the newest first [default: 20]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<usize>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ShowRunArgs {
    /// The id of a run, or how it begins
    #[arg(value_name = "RUN", required_unless_present = "last")]
    pub(crate) run: Option<String>,
    /// The run that began last
    #[arg(long, conflicts_with = "run")]
    pub(crate) last: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RunEventsArgs {
    /// The id of a run, or how it begins
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// How they are written
    #[arg(long = "as", value_name = "FORMAT", default_value = "jsonl", help_heading = "Output")]
    pub(crate) telling: FrameFormat,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    /// Only what comes behind this one: the id of a frame (12.3) or the place of an event (12)
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<String>,
    /// Wait for more, until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StopRunArgs {
    /// The id of a run, or how it begins
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// Events, one in a line, in any order; stdin if `-`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print frames for user interfaces instead
    #[arg(long = "as", value_name = "FORMAT", help_heading = "Output", conflicts_with = "truth")]
    pub(crate) telling: Option<FrameFormat>,
    #[command(flatten)]
    pub(crate) frames: FrameArgs,
    /// Print what is true at the end, as JSON; this is the default
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
    /// Say where the store is, and what is in it
    Path(StorePathArgs),
    /// Look for damage: the database itself, and the chain of every run
    Check,
    /// Close runs whose process is gone
    Sweep,
    /// Delete sessions that nobody touched for a while
    Prune(PruneArgs),
    /// Delete sessions or runs
    Delete(DeleteArgs),
    /// Write sessions with their runs as JSON lines
    Export(StoreExportArgs),
    /// Read what `export` wrote; what is there already is passed over
    Import(ImportArgs),
    /// Give the space of what was deleted back
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
    /// How long nobody touched them: 30d, 12h, 90m, 45s
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: String,
    /// Say what would be deleted, and delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    /// Ids of sessions or runs, whole
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Do not ask
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
    /// What `export` wrote; stdin if `-`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
