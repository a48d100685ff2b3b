//! Errors of a loop. A model error is not among them: it ends the run, and the end of a run is not
//! an error of the loop.

use foxwedge_store::StoreError;

/// Why an operation of a loop fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopError {
    /// The store failed.
    #[error("the conversation cannot be stored")]
    Store(#[from] StoreError),
    /// Another process works on the session.
    #[error("session `{session}` is in use elsewhere: run `{run}` of {owner}")]
    Busy {
        /// The session.
        session: String,
        /// The run.
        run: String,
        /// The owner of the run.
        owner: String,
    },
    /// The prompt is empty, or there is nothing to continue.
    #[error("there is nothing to send")]
    NothingToSend,
    /// More than can be stored.
    #[error("{what} has {bytes} bytes, and at most {most} can be stored")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The conversation cannot be converted to the model's format.
    #[error("the conversation cannot be converted for this model: {0}")]
    Unconvertible(String),
    /// The history cannot be compacted.
    #[error("the history cannot be compacted: {0}")]
    Compaction(String),
}
