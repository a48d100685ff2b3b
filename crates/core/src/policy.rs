//! What a repair may invent, move or drop.

use crate::placeholder::PlaceholderLanguage;

/// What a repair may do where it has a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    /// What happens to calls that nobody answered.
    pub unanswered: UnansweredPolicy,
    /// What happens to answers without a call.
    pub orphans: OrphanPolicy,
    /// Whether open calls at the end are dead or still running.
    pub tail: TailPolicy,
    /// Whether a repair may speak for the user: asking the model to go on (FW403).
    pub allow_unsafe: bool,
    /// The language of invented text.
    pub language: PlaceholderLanguage,
}

/// What happens to calls that nobody answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnansweredPolicy {
    /// A placeholder answers them; nothing is lost.
    #[default]
    Answer,
    /// The whole assistant message goes, and with it every answer it had.
    DropTurn,
    /// The call goes; text and answered calls stay.
    DropCall,
}

impl UnansweredPolicy {
    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            UnansweredPolicy::Answer => "answer",
            UnansweredPolicy::DropTurn => "drop-turn",
            UnansweredPolicy::DropCall => "drop-call",
        }
    }
}

/// What happens to answers without a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OrphanPolicy {
    /// They are quoted as user text.
    #[default]
    Quote,
    /// They go.
    Drop,
}

/// Whether open calls at the end are dead or still running.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TailPolicy {
    /// Nobody will answer them any more.
    #[default]
    Dead,
    /// They are running: not a finding, never repaired.
    Pending,
}
