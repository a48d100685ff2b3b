//! The settings of a session's machine.

use crate::SharedId;

/// Configures a session's machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MachineSettings {
    /// How long events wait for something that must come first, in milliseconds: the start of their
    /// run, a missing sequence number, or the end of a run that has been replaced.
    pub wait: u64,
    /// Tools that ask a person a question. A person who takes the question over answers elsewhere.
    /// So a denial, and any error that the tool itself did not report, is a hand-over and not a
    /// failure.
    pub interactive: Vec<SharedId>,
    /// Memory limits.
    pub limits: MachineLimits,
}

/// The tools of known agents that ask a person a question.
const INTERACTIVE: [&str; 5] = [
    "AskUserQuestion",
    "ask_user_question",
    "ask_followup_question",
    "ExitPlanMode",
    "exit_plan_mode",
];

/// Limits on what a machine keeps in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MachineLimits {
    /// The maximum number of waiting events: in a session, for the start of their run; in a run,
    /// for a missing sequence number.
    pub waiting: usize,
    /// The maximum number of runs kept per session. The oldest is removed first, and ended if it is
    /// still open.
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
