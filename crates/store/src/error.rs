//! Store errors: one variant for each decision that a caller can take.

use crate::model::RunRow;

/// Why a store operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The session does not exist.
    #[error("session `{0}` does not exist")]
    NoSession(String),
    /// The run does not exist.
    #[error("run `{0}` does not exist")]
    NoRun(String),
    /// The run has ended. It accepts no more events.
    #[error("run `{}` has ended", .0.id)]
    Ended(Box<RunRow>),
    /// Another process holds the lease of the run.
    #[error("run `{run}` is leased by another process: its lease is {held}, yours is {yours}")]
    Fenced {
        /// The run.
        run: String,
        /// Fence of the current holder.
        held: u64,
        /// Fence of the caller.
        yours: u64,
    },
    /// The log has other events than the caller expected. Read it and try again.
    #[error("run `{run}` has other events: its next event is {expected}, not {found}")]
    Stale {
        /// The run.
        run: String,
        /// The next sequence number.
        expected: u64,
        /// The sequence number that the caller sent.
        found: u64,
    },
    /// The id exists with other content.
    #[error("`{0}` already exists with other content")]
    Conflict(String),
    /// The session has an open run.
    #[error("session `{session}` has an open run: `{run}`")]
    Busy {
        /// The session.
        session: String,
        /// The open run.
        run: String,
    },
    /// An id that is not allowed, a text that is not JSON, or a value above a limit.
    #[error("{0}")]
    Invalid(String),
    /// Stored data cannot be read.
    #[error("{what} is damaged: {why}")]
    Corrupt {
        /// What is damaged, with its position.
        what: String,
        /// Why it cannot be read.
        why: String,
    },
    /// The store cannot be reached, or the disk is full. Nothing was acknowledged.
    #[error("the store cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}
