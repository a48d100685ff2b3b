//! Errors of the console.

/// Why an operation on a session failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
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
