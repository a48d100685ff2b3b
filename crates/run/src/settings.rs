//! What a machine may be told before it starts.

use crate::SharedId;

/// How a session's machine behaves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MachineSettings {
    /// How long events wait for what has to come before them, in milliseconds: for the start of
    /// their run, for a missing sequence number, for the end of a run that has been replaced.
    pub wait: u64,
    /// Tools that ask a person. A person who takes one over answers elsewhere, so its denial, and
    /// any error but one of the tool itself, is a hand-over and not a failure.
    pub interactive: Vec<SharedId>,
    /// How much may wait.
    pub limits: MachineLimits,
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
pub struct MachineLimits {
    /// Events that wait at once: in a session for the start of their run, and in a run for a
    /// missing place.
    pub waiting: usize,
    /// Runs of a session that are remembered. The oldest goes first, and ends if it has not.
    pub runs: usize,
}

impl Default for MachineSettings {
    fn default() -> MachineSettings {
        MachineSettings {
            wait: 2_000,
            interactive: INTERACTIVE.map(SharedId::from).to_vec(),
            limits: MachineLimits::default(),
        }
    }
}

impl Default for MachineLimits {
    fn default() -> MachineLimits {
        MachineLimits { waiting: 10_000, runs: 16 }
    }
}
