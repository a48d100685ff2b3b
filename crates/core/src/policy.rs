//! What a repair may invent, move or drop.

use crate::placeholder::PlaceholderLanguage;

/// What a repair does where it has a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    /// What happens to calls without an answer.
    pub unanswered: UnansweredPolicy,
    /// What happens to answers without a call.
    pub orphans: OrphanPolicy,
    /// Whether open calls at the end are abandoned or still running.
    pub tail: TailPolicy,
    /// Whether a repair may write a user message that asks the model to continue (FW403).
    pub allow_unsafe: bool,
    /// The language of generated text.
    pub language: PlaceholderLanguage,
}

/// What happens to calls without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnansweredPolicy {
    /// They get a placeholder answer; nothing is lost.
    #[default]
    Answer,
    /// Remove the whole assistant message and all its answers.
    DropTurn,
    /// Remove the call; keep text and answered calls.
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
    /// Quote them as user text.
    #[default]
    Quote,
    /// Remove them.
    Drop,
}

/// Whether open calls at the end are abandoned or still running.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TailPolicy {
    /// They will never get an answer.
    #[default]
    Dead,
    /// They are still running: not a finding, never repaired.
    Pending,
}
