//! What can go wrong, one variant for each decision that a caller can take.

use crate::model::RunRow;

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such session.
    #[error("session `{0}` does not exist")]
    NoSession(String),
    /// There is no such run.
    #[error("run `{0}` does not exist")]
    NoRun(String),
    /// The run has ended; nothing is added to it any more.
    #[error("run `{}` has ended", .0.id)]
    Ended(Box<RunRow>),
    /// Somebody else holds the run now.
    #[error("run `{run}` is held by somebody else: lease {held}, yours is {yours}")]
    Fenced {
        /// The run.
        run: String,
        /// The fence of the holder.
        held: u64,
        /// The fence that was shown.
        yours: u64,
    },
    /// The log went on without the caller: read it and try again.
    #[error("run `{run}` moved on: its next place is {expected}, not {found}")]
    Stale {
        /// The run.
        run: String,
        /// The next place.
        expected: u64,
        /// The place that was asked for.
        found: u64,
    },
    /// Something else is there under that id.
    #[error("`{0}` is there already, and is something else")]
    Conflict(String),
    /// A run of the session is at work.
    #[error("session `{session}` has a run at work: `{run}`")]
    Busy {
        /// The session.
        session: String,
        /// The run.
        run: String,
    },
    /// An id that nobody may use, a text that is no JSON, or something larger than a limit.
    #[error("{0}")]
    Invalid(String),
    /// What is stored cannot be read.
    #[error("{what} is damaged: {why}")]
    Corrupt {
        /// What, with its place.
        what: String,
        /// In which way.
        why: String,
    },
    /// The store cannot be reached, or the disk is full: nothing was acknowledged.
    #[error("the store cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}
