//! How a run ended, and what it did in numbers.

use crate::ToolStatus;

/// How a run ended. There is one for every run, and the first one stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// It came to its end and said something.
    Completed,
    /// Somebody stopped it.
    Stopped,
    /// It ended in an error.
    Failed,
    /// It came to its end and said nothing.
    NoText,
    /// It had no turn left.
    MaxTurns,
    /// The model would not.
    Refused,
    /// A newer run of the session took its place.
    Replaced,
    /// Whoever ran it is gone, and nobody knows more.
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

    /// The word that logs, stores and user interfaces see.
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

    /// The outcome of a word, in our spelling or in one that agents use.
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

/// A run in numbers. The counts of the statuses add up to the calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RunSummary {
    /// Tools that the agent could have called; none if it never said.
    pub available: Option<usize>,
    /// Calls it made.
    pub calls: usize,
    /// Calls by status, in the order of [`Status::ALL`].
    pub by_status: [usize; ToolStatus::ALL.len()],
}

impl RunSummary {
    /// How many calls have a status.
    pub fn count(&self, status: ToolStatus) -> usize {
        let place = ToolStatus::ALL.iter().position(|other| *other == status);
        place.and_then(|place| self.by_status.get(place)).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, status: ToolStatus) {
        self.calls += 1;
        let place = ToolStatus::ALL.iter().position(|other| *other == status);
        if let Some(count) = place.and_then(|place| self.by_status.get_mut(place)) {
            *count += 1;
        }
    }
}
