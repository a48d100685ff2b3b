//! Access to the session files on this machine. The program that starts a gateway may provide it;
//! without it, the console shows only requests and runs.

use std::{collections::BTreeMap, sync::Arc};

use foxwedge_core::Format;
use serde_json::Value;

/// The session files of agents on this machine. Calls may block and run on a blocking thread. A
/// session is named by an id from [`LocalSessions::sessions`]; callers never pass a path.
pub trait LocalSessions: Send + Sync + 'static {
    /// The supported agents.
    fn agents(&self) -> Vec<&'static str>;

    /// All known session files, newest first. Returns at once; starts a scan in the background if
    /// the last one is old.
    fn sessions(&self) -> SessionFileList;

    /// One session: its summary and details.
    ///
    /// # Errors
    /// If there is no such session, or it cannot be read.
    fn session(&self, id: &str) -> Result<(Arc<SessionFileSummary>, Value), LocalSessionError>;

    /// The conversation in readable form; with `words`, only messages that contain them.
    ///
    /// # Errors
    /// As for [`LocalSessions::session`].
    fn messages(
        &self,
        id: &str,
        page: RowRange,
        words: Option<&str>,
    ) -> Result<Value, LocalSessionError>;

    /// The records as a tree.
    ///
    /// # Errors
    /// As for [`LocalSessions::session`].
    fn tree(
        &self,
        id: &str,
        page: RowRange,
        only: RecordFilter,
    ) -> Result<Value, LocalSessionError>;

    /// The lines of the file, each cut to this many bytes.
    ///
    /// # Errors
    /// As for [`LocalSessions::session`].
    fn records(
        &self,
        id: &str,
        page: RowRange,
        max_bytes: usize,
    ) -> Result<Value, LocalSessionError>;

    /// The findings of the session.
    ///
    /// # Errors
    /// As for [`LocalSessions::session`].
    fn findings(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError>;

    /// What a repair would do.
    ///
    /// # Errors
    /// As for [`LocalSessions::session`].
    fn plan(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError>;

    /// The repair plan as Markdown.
    ///
    /// # Errors
    /// As for [`LocalSessions::session`].
    fn plan_markdown(&self, id: &str) -> Result<String, LocalSessionError>;

    /// Applies exactly this plan.
    ///
    /// # Errors
    /// If the plan is outdated, another process writes to the file, or the repair fails. The file
    /// is unchanged then.
    fn repair(&self, id: &str, plan: &str) -> Result<Value, LocalSessionError>;

    /// Restores what the last repair replaced.
    ///
    /// # Errors
    /// If there is nothing to restore, or it fails. The file is unchanged then.
    fn undo(&self, id: &str) -> Result<Value, LocalSessionError>;

    /// What a compaction would do. Nothing is written.
    ///
    /// # Errors
    /// If the conversation cannot be read or cannot be cut that short.
    fn compaction(
        &self,
        subject: &CompactionSubject,
        options: &CompactionPreviewOptions,
    ) -> Result<Value, LocalSessionError>;
}

/// All known session files.
#[derive(Clone, Debug, Default)]
pub struct SessionFileList {
    /// Newest first.
    pub files: Vec<Arc<SessionFileSummary>>,
    /// Progress of the scan.
    pub scan: ScanProgress,
}

/// Progress of a scan over all files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScanProgress {
    /// Whether the scan is still running.
    pub running: bool,
    /// Number of files checked.
    pub checked: usize,
    /// Total number of files.
    pub total: usize,
    /// Start time, in milliseconds since 1970.
    pub began: u64,
    /// End time.
    pub ended: Option<u64>,
    /// Folders that cannot be read, and why.
    pub unreadable_folders: Vec<(String, String)>,
}

/// A session file in the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionFileSummary {
    /// Id in the console.
    pub id: String,
    /// Session id of the agent.
    pub session: String,
    /// The agent whose format the file has.
    pub agent: &'static str,
    /// The product, where several products share a format.
    pub product: &'static str,
    /// Title of the session.
    pub title: Option<String>,
    /// Project folder.
    pub project: Option<String>,
    /// Path for display.
    pub path: String,
    /// Time of the last change, in milliseconds since 1970.
    pub touched: u64,
    /// Size in bytes.
    pub size: u64,
    /// Result of the last check; `None` before the first one.
    pub check: Option<SessionFileCheck>,
    /// Whether a process writes to it; `None` if unknown.
    pub live: Option<bool>,
    /// Whether another session started it.
    pub sub_agent: bool,
    /// The session that started it, if known.
    pub parent: Option<String>,
    /// Number of sessions it started.
    pub sub_agents: usize,
}

/// The result of a check of a session file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionFileCheck {
    /// Health of the file.
    pub health: SessionFileHealth,
    /// Why it cannot be read.
    pub unreadable_reason: Option<String>,
    /// Number of messages.
    pub messages: usize,
    /// Number of findings by rule label.
    pub findings: BTreeMap<String, usize>,
    /// Whether a repair would change the file.
    pub repairable: bool,
}

/// Health of a session file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionFileHealth {
    /// The agent opens it completely.
    Ok,
    /// The agent opens it without a part of the history.
    HistoryMissing,
    /// The agent cannot open it, or the provider rejects what the agent sends.
    NeedsRepair,
    /// The file cannot be read.
    Unreadable,
}

impl SessionFileHealth {
    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SessionFileHealth::Ok => "ok",
            SessionFileHealth::HistoryMissing => "history-missing",
            SessionFileHealth::NeedsRepair => "needs-repair",
            SessionFileHealth::Unreadable => "unreadable",
        }
    }
}

/// A part of a list with a fixed order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowRange {
    /// The first row; a negative number counts from the end.
    pub from: i64,
    /// Maximum number of rows.
    pub limit: usize,
}

impl RowRange {
    /// Index of the first row in a list of `total` rows.
    pub fn first(self, total: usize) -> usize {
        match usize::try_from(self.from) {
            Ok(from) => from.min(total),
            Err(_) => {
                let from_end = usize::try_from(self.from.unsigned_abs()).unwrap_or(usize::MAX);
                total.saturating_sub(from_end)
            }
        }
    }
}

/// Which records of a file are returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordFilter {
    /// All records.
    All,
    /// Only messages.
    Messages,
}

/// What to compact.
#[derive(Clone, Debug)]
pub enum CompactionSubject {
    /// A session file.
    File(String),
    /// A request, or a list of messages.
    Body {
        /// The JSON text.
        text: String,
        /// The format, if the client names it.
        wire: Option<Format>,
    },
}

/// Options of a compaction preview.
#[derive(Clone, Debug)]
pub struct CompactionPreviewOptions {
    /// How much to remove.
    pub cut: CompactionAmount,
    /// The model whose tokens are counted, if it is not the one in the conversation.
    pub model: Option<String>,
}

/// How much a compaction removes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CompactionAmount {
    /// This share of the messages.
    Fraction(f64),
    /// All but what fits into this many tokens.
    Budget(u64),
}

/// Why an operation on a session failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalSessionError {
    /// There is no such session.
    #[error("no such session")]
    NotFound,
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It is larger than the console reads.
    #[error("the session has more bytes than the console reads: {0}")]
    TooLarge(u64),
    /// Its agent is using it.
    #[error("{0}")]
    Live(String),
    /// The file changed since the plan was made.
    #[error("the file changed since the repair was planned; plan it again")]
    Changed,
    /// A repair would change nothing.
    #[error("there is nothing to repair")]
    NothingToRepair,
    /// No repair can be undone.
    #[error("there is no repair to undo")]
    NothingToUndo,
    /// The file changed since the repair.
    #[error(
        "the file changed since it was repaired; `foxwedge undo --force` puts it back all the same"
    )]
    ChangedSince,
    /// What must remain is too large.
    #[error("{0}")]
    CannotShrink(String),
    /// The operation failed and changed nothing.
    #[error("{0}")]
    Failed(String),
}
