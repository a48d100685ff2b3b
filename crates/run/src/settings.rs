//! What a machine may be told before it starts.

use crate::Id;

/// How a session's machine behaves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Settings {
    /// How long events wait for what has to come before them, in milliseconds: for the start of
    /// their run, for a missing sequence number, for the end of a run that has been replaced.
    pub wait: u64,
    /// Tools that ask a person. A person who takes one over answers elsewhere, so its denial, and
    /// any error but one of the tool itself, is a hand-over and not a failure.
    pub interactive: Vec<Id>,
    /// How much may wait.
    pub limits: Limits,
}

/// The tools of known agents that ask a person.
const INTERACTIVE: [&str; 5] = [
    "AskUserQuestion",
    "ask_user_question",
    "ask_followup_question",
    "ExitPlanMode",
    "exit_plan_mode",
];

/// What is kept in memory for events that cannot be told yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Events that wait at once: in a session for the start of their run, and in a run for a
    /// missing place.
    pub waiting: usize,
    /// Runs of a session that are remembered. The oldest goes first, and ends if it has not.
    pub runs: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            wait: 2_000,
            interactive: INTERACTIVE.map(Id::from).to_vec(),
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { waiting: 10_000, runs: 16 }
    }
}
