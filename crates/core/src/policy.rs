//! What a repair may invent, move or drop.

use crate::placeholder::Language;

/// What a repair may do where it has a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    /// What happens to calls that nobody answered.
    pub unanswered: Unanswered,
    /// What happens to answers without a call.
    pub orphans: Orphans,
    /// Whether open calls at the end are dead or still running.
    pub tail: Tail,
    /// Whether a repair may speak for the user: asking the model to go on (FW403).
    pub bold: bool,
    /// The language of invented text.
    pub language: Language,
}

/// What happens to calls that nobody answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unanswered {
    /// A placeholder answers them; nothing is lost.
    #[default]
    Answer,
    /// The whole assistant message goes, and with it every answer it had.
    DropTurn,
    /// The call goes; text and answered calls stay.
    DropCall,
}

impl Unanswered {
    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Unanswered::Answer => "answer",
            Unanswered::DropTurn => "drop-turn",
            Unanswered::DropCall => "drop-call",
        }
    }
}

/// What happens to answers without a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Orphans {
    /// They are quoted as user text.
    #[default]
    Quote,
    /// They go.
    Drop,
}

/// Whether open calls at the end are dead or still running.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tail {
    /// Nobody will answer them any more.
    #[default]
    Dead,
    /// They are running: not a finding, never repaired.
    Pending,
}
