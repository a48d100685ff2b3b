//! The outcome of a run, and its calls by status.

use crate::ToolStatus;

/// How a run ended. Every run has exactly one outcome; the first one counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// It ended normally and produced text.
    Completed,
    /// It was stopped on request.
    Stopped,
    /// It ended in an error.
    Failed,
    /// It ended normally without any text.
    NoText,
    /// It reached the turn limit.
    MaxTurns,
    /// The model refused.
    Refused,
    /// A newer run of the session replaced it.
    Replaced,
    /// The process that ran it is gone; nothing more is known.
    Interrupted,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 8] = [
        Outcome::Completed,
        Outcome::Stopped,
        Outcome::Failed,
        Outcome::NoText,
        Outcome::MaxTurns,
        Outcome::Refused,
        Outcome::Replaced,
        Outcome::Interrupted,
    ];

    /// The name in logs, stores and user interfaces.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Stopped => "stopped",
            Outcome::Failed => "failed",
            Outcome::NoText => "no_text",
            Outcome::MaxTurns => "max_turns",
            Outcome::Refused => "refused",
            Outcome::Replaced => "replaced",
            Outcome::Interrupted => "interrupted",
        }
    }

    /// Parses an outcome, in our spelling or in one that agents use.
    pub fn from_name(name: &str) -> Option<Outcome> {
        Some(match name {
            "completed" | "complete" | "success" | "end_turn" | "stop" | "idle" => {
                Outcome::Completed
            }
            "stopped" | "cancelled" | "canceled" | "aborted" | "aborted_streaming"
            | "aborted_tools" => Outcome::Stopped,
            "failed" | "error" | "error_during_execution" => Outcome::Failed,
            "no_text" => Outcome::NoText,
            "max_turns" | "error_max_turns" | "max_turn_requests" => Outcome::MaxTurns,
            "refused" | "refusal" => Outcome::Refused,
            "replaced" => Outcome::Replaced,
            "interrupted" => Outcome::Interrupted,
            _ => return None,
        })
    }
}

/// Counts of a run. The counts by status add up to `calls`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunSummary {
    /// The number of tools the agent had; `None` if it never listed them.
    pub available: Option<usize>,
    /// The number of calls.
    pub calls: usize,
    /// Calls by status, in the order of [`ToolStatus::ALL`].
    pub by_status: [usize; ToolStatus::ALL.len()],
}

impl RunSummary {
    /// Returns the number of calls with a status.
    pub fn count(&self, status: ToolStatus) -> usize {
        let index = ToolStatus::ALL.iter().position(|other| *other == status);
        index.and_then(|index| self.by_status.get(index)).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, status: ToolStatus) {
        self.calls += 1;
        let index = ToolStatus::ALL.iter().position(|other| *other == status);
        if let Some(count) = index.and_then(|index| self.by_status.get_mut(index)) {
            *count += 1;
        }
    }
}
