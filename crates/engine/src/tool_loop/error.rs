//! What keeps a loop from going on. Trouble of a model is none of it: that ends a run, and a run's
//! end is no error.

use foxwedge_store::StoreError;

/// Why a loop cannot do what it is asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopError {
    /// The store cannot.
    #[error("the conversation cannot be kept")]
    Store(#[from] StoreError),
    /// Somebody else works on the session.
    #[error("session `{session}` is at work elsewhere: run `{run}` of {owner}")]
    Busy {
        /// The session.
        session: String,
        /// The run.
        run: String,
        /// Who runs it.
        owner: String,
    },
    /// There is nothing to say, or nothing to go on with.
    #[error("there is nothing to send")]
    NothingToSend,
    /// More than can be kept.
    #[error("{what} has {bytes} bytes, and at most {most} can be kept")]
    TooLarge {
        /// What.
        what: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The conversation cannot be told to this model.
    #[error("the conversation cannot be told to this model: {0}")]
    Unconvertible(String),
    /// The history cannot be made shorter.
    #[error("the history cannot be made shorter: {0}")]
    Compaction(String),
}
