//! What the gateway wants to know of the machine that it runs on. Whoever starts a gateway may give
//! it such a view; without one, the console shows requests and runs only.

use std::{collections::BTreeMap, sync::Arc};

use foxwedge_core::Format;
use serde_json::Value;

/// The session files of agents on a machine. Everything may take its time and is called where
/// waiting holds up nobody. A session is named by an id that [`Machine::sessions`] told; no path is
/// ever taken from a caller.
pub trait LocalSessions: Send + Sync + 'static {
    /// The agents whose files are looked for.
    fn agents(&self) -> Vec<&'static str>;

    /// Every session file that is known, the newest first. Looks again in the background if the
    /// last look is old, and does not wait for that: the answer is there at once.
    fn sessions(&self) -> SessionFileList;

    /// One session: what the list says, and more about it.
    ///
    /// # Errors
    /// If there is no such session, or it cannot be read.
    fn session(&self, id: &str) -> Result<(Arc<SessionFileSummary>, Value), LocalSessionError>;

    /// The conversation as people read it; only messages with these words, if there are any.
    ///
    /// # Errors
    /// As for [`Machine::session`].
    fn messages(
        &self,
        id: &str,
        page: RowRange,
        words: Option<&str>,
    ) -> Result<Value, LocalSessionError>;

    /// Its records as a tree.
    ///
    /// # Errors
    /// As for [`Machine::session`].
    fn tree(
        &self,
        id: &str,
        page: RowRange,
        only: RecordFilter,
    ) -> Result<Value, LocalSessionError>;

    /// Its lines, each cut to so many bytes.
    ///
    /// # Errors
    /// As for [`Machine::session`].
    fn records(&self, id: &str, page: RowRange, most: usize) -> Result<Value, LocalSessionError>;

    /// What is wrong with it.
    ///
    /// # Errors
    /// As for [`Machine::session`].
    fn findings(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError>;

    /// What a repair would do.
    ///
    /// # Errors
    /// As for [`Machine::session`].
    fn plan(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError>;

    /// The same, as Markdown.
    ///
    /// # Errors
    /// As for [`Machine::session`].
    fn plan_markdown(&self, id: &str) -> Result<String, LocalSessionError>;

    /// Makes the repair of that very plan.
    ///
    /// # Errors
    /// If it is no longer the plan, if somebody writes to the file, or if it cannot be done. The
    /// file then is as it was.
    fn repair(&self, id: &str, plan: &str) -> Result<Value, LocalSessionError>;

    /// Puts back what the last repair replaced.
    ///
    /// # Errors
    /// If there is nothing to put back, or it cannot be done. The file then is as it was.
    fn undo(&self, id: &str) -> Result<Value, LocalSessionError>;

    /// What a compaction would do. Nothing is written.
    ///
    /// # Errors
    /// If the conversation cannot be read, or cannot become that short.
    fn compaction(
        &self,
        of: &CompactionSubject,
        wish: &CompactionPreviewOptions,
    ) -> Result<Value, LocalSessionError>;
}

/// Every session file that is known.
#[derive(Clone, Debug, Default)]
pub struct SessionFileList {
    /// The newest first.
    pub files: Vec<Arc<SessionFileSummary>>,
    /// How far the look at them is.
    pub scan: ScanProgress,
}

/// A look at every file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScanProgress {
    /// It is not over.
    pub running: bool,
    /// Files whose health is known.
    pub checked: usize,
    /// Files in all.
    pub total: usize,
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// When it was over.
    pub ended: Option<u64>,
    /// Folders that cannot be looked into, and why.
    pub unreadable_folders: Vec<(String, String)>,
}

/// A session file, as a list shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionFileSummary {
    /// Its name in the console.
    pub id: String,
    /// Its id among the sessions of its agent.
    pub session: String,
    /// Whose format it is.
    pub agent: &'static str,
    /// Whose file it is, where several products share a format.
    pub product: &'static str,
    /// What it is called.
    pub title: Option<String>,
    /// The folder it is about.
    pub project: Option<String>,
    /// Where it lies, for people.
    pub path: String,
    /// When it was written to, in milliseconds since 1970.
    pub touched: u64,
    /// Its bytes.
    pub size: u64,
    /// What one look at it told; `None` if nobody looked yet.
    pub check: Option<SessionFileCheck>,
    /// Whether somebody writes to it; `None` if nobody looked.
    pub live: Option<bool>,
    /// Another session started it.
    pub sub_agent: bool,
    /// The session that started it, where that is known.
    pub parent: Option<String>,
    /// How many sessions it started.
    pub sub_agents: usize,
}

/// What one look at a session file told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionFileCheck {
    /// How it is.
    pub health: SessionFileHealth,
    /// Why it cannot be read.
    pub unreadable_reason: Option<String>,
    /// Messages of the conversation.
    pub messages: usize,
    /// How often each rule is broken, by its label.
    pub findings: BTreeMap<String, usize>,
    /// Whether a repair does something about it.
    pub repairable: bool,
}

/// How a session file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionFileHealth {
    /// Its agent opens all of it.
    Ok,
    /// Its agent opens it, but leaves something out.
    HistoryMissing,
    /// Its agent cannot open it, or the provider refuses what the agent sends.
    NeedsRepair,
    /// Nobody can say.
    Unreadable,
}

impl SessionFileHealth {
    /// The word for it.
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
    /// The first row; below zero it is counted from the end.
    pub from: i64,
    /// At most so many rows.
    pub limit: usize,
}

impl RowRange {
    /// The first row of a list of so many.
    pub fn first(self, total: usize) -> usize {
        match usize::try_from(self.from) {
            Ok(from) => from.min(total),
            Err(_) => {
                let back = usize::try_from(self.from.unsigned_abs()).unwrap_or(usize::MAX);
                total.saturating_sub(back)
            }
        }
    }
}

/// Which records of a file are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordFilter {
    /// All.
    All,
    /// Those that are messages.
    Messages,
}

/// What is to become shorter.
#[derive(Clone, Debug)]
pub enum CompactionSubject {
    /// A session file.
    File(String),
    /// A request, or a list of messages.
    Body {
        /// Its text.
        text: String,
        /// Its format, if somebody says so.
        wire: Option<Format>,
    },
}

/// How short it shall become.
#[derive(Clone, Debug)]
pub struct CompactionPreviewOptions {
    /// How much.
    pub cut: CompactionAmount,
    /// The model whose tokens are counted, if it is another than the conversation names.
    pub model: Option<String>,
}

/// How much goes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CompactionAmount {
    /// This share of the messages.
    Fraction(f64),
    /// All but what fits into so many tokens.
    Budget(u64),
}

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalSessionError {
    /// There is no such session.
    #[error("no such session")]
    NotFound,
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It has more bytes than are read here.
    #[error("the session has more bytes than the console reads: {0}")]
    TooLarge(u64),
    /// Its agent is at work on it.
    #[error("{0}")]
    Live(String),
    /// The file is not what the plan was made for.
    #[error("the file changed since the repair was planned; plan it again")]
    Changed,
    /// Nothing would change.
    #[error("there is nothing to repair")]
    NothingToRepair,
    /// No repair can be undone.
    #[error("there is no repair to undo")]
    NothingToUndo,
    /// The file went on since it was repaired.
    #[error(
        "the file changed since it was repaired; `foxwedge undo --force` puts it back all the same"
    )]
    ChangedSince,
    /// What has to stay is too much.
    #[error("{0}")]
    CannotShrink(String),
    /// It could not be done, and nothing was changed.
    #[error("{0}")]
    Failed(String),
}
