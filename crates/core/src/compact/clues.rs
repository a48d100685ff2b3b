//! What is known about calls from their JSON. Only the importance strategy uses it.

/// What is known about calls and messages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HistoryClues {
    /// For each call of the pairing, in order.
    pub calls: Vec<CallClue>,
    /// User messages with constraints (what must or must not be), in order.
    pub constraints: Vec<usize>,
}

/// What is known about a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallClue {
    /// A digest of tool and arguments: equal for equal calls. Zero if not known.
    pub call_digest: u64,
    /// A digest of the file it is about. Zero if it is about none.
    pub file_digest: u64,
    /// Its effect on the file.
    pub effect: CallEffect,
    /// Its answer reports a failure.
    pub failed: bool,
}

/// What a call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CallEffect {
    /// Unknown.
    #[default]
    Unknown,
    /// It only reads.
    Reads,
    /// It changes something.
    Writes,
}
