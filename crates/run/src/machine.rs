//! The state machine of a session: its runs, which one is the newest, and when each ends.
//!
//! There are two kinds of events. Events without a sequence number come from the process that runs
//! the agent: their order of arrival counts, and the machine numbers them. Events with a sequence
//! number come from a log: they may arrive in any order, and the state is that of the log.
//!
//! Invariants: a run ends once, no call is open after the end of its run, and an event of one run
//! never changes another run.

mod clock;
mod barrier;
mod order;
mod run;
mod change;
mod call_table;
mod call_positions;
mod tool;
mod approvals;
mod texts;
mod close;
mod tasks;
mod answer;
mod snapshot;

use std::sync::Arc;

pub use answer::{AnswerError, AnswerRoute, UserAnswer};
pub use approvals::ApprovalState;
pub use run::{ActivityFlags, EventCounts, Run, RunPhase};
pub use texts::{TextItem, TextKind};
pub use tool::ToolCallState;

use self::{barrier::EventBarrier, clock::MachineClock, tasks::SessionTasks};
use crate::{EventPayload, MachineSettings, RunEffect, RunEvent, SharedId, TaskItem};

/// The state of all runs of a session.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SessionMachine {
    settings: Arc<MachineSettings>,
    clock: MachineClock,
    /// The number of the newest run; 0 before the first.
    epoch: u64,
    /// The newest run.
    active: Option<SharedId>,
    /// Runs that have started, oldest first.
    runs: Vec<Run>,
    /// Boxed, since a session is moved with every step and the barrier is rarely used.
    barrier: Box<EventBarrier>,
    tasks: SessionTasks,
}

/// The input of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MachineInput {
    /// An event.
    Event(RunEvent),
    /// No event; only time has passed.
    Tick,
}

/// Applies one input. `now` is a clock in milliseconds. It need not be correct: when it jumps back,
/// the machine's own clock stands still.
#[inline]
pub fn step(
    mut session: SessionMachine,
    now: u64,
    input: MachineInput,
) -> (SessionMachine, Vec<RunEffect>) {
    // Most events cause the log entry and one or two changes.
    let mut effects = Vec::with_capacity(4);
    session.apply(now, input, &mut effects);
    (session, effects)
}

impl SessionMachine {
    /// Creates a session without runs.
    pub fn new(settings: impl Into<Arc<MachineSettings>>) -> SessionMachine {
        SessionMachine {
            settings: settings.into(),
            clock: MachineClock::default(),
            epoch: 0,
            active: None,
            runs: Vec::new(),
            barrier: Box::default(),
            tasks: SessionTasks::default(),
        }
    }

    /// Like [`step`], but in place, for callers that apply many inputs.
    pub fn apply(&mut self, now: u64, input: MachineInput, effects: &mut Vec<RunEffect>) {
        self.clock.advance(now);
        self.expire(effects);
        match input {
            MachineInput::Event(event) => self.take_event(event, effects),
            MachineInput::Tick => {}
        }
    }

    /// When the next timeout is due, on the caller's clock.
    pub fn deadline(&self) -> Option<u64> {
        let runs = self.runs.iter().filter_map(Run::deadline);
        let first = runs.chain(self.barrier.deadline()).min()?;
        Some(self.clock.to_caller_time(first))
    }

    /// The newest run.
    pub fn active(&self) -> Option<&Run> {
        self.run(self.active.as_deref()?)
    }

    /// Returns a run that has started and is still kept.
    pub fn run(&self, id: &str) -> Option<&Run> {
        // Most lookups are for the newest run.
        self.runs.iter().rev().find(|run| &*run.id == id)
    }

    /// The runs that have started and are still kept, oldest first.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The tasks of the session.
    pub fn tasks(&self) -> &[TaskItem] {
        self.tasks.list()
    }

    /// The number of the newest run; 0 before the first.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    fn take_event(&mut self, event: RunEvent, effects: &mut Vec<RunEffect>) {
        if let Some(index) = self.runs.iter().rposition(|run| run.id == event.run) {
            self.apply_to_run(index, event, effects);
        } else if matches!(event.body, EventPayload::Started(_)) {
            self.start_run(event, effects);
        } else {
            self.hold_event(event, effects);
        }
    }

    /// Applies an event to a run that has started.
    fn apply_to_run(&mut self, index: usize, event: RunEvent, effects: &mut Vec<RunEffect>) {
        let SessionMachine { settings, clock, runs, tasks, .. } = self;
        if let Some(run) = runs.get_mut(index) {
            run.take_event(event, &mut RunContext { settings, clock, tasks, effects });
        }
    }
}

/// What a run needs from its session while it applies an event.
struct RunContext<'a> {
    settings: &'a MachineSettings,
    clock: &'a MachineClock,
    tasks: &'a mut SessionTasks,
    effects: &'a mut Vec<RunEffect>,
}
