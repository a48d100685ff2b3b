//! The machine of a session: which run is its newest, what belongs to it, and when it is over.
//!
//! Two kinds of events come in. Events without a place come from whoever runs the agent; the
//! order in which they arrive is the truth, and the machine gives each its place. Events with a
//! place come out of a log; they may arrive in any order, and the state is that of the log.
//!
//! What must never happen here: a second end of a run, a call that is open behind the end, an
//! event of one run that changes another.

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

/// Everything that is known about a session's runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SessionMachine {
    settings: Arc<MachineSettings>,
    clock: MachineClock,
    /// The number of the newest run; 0 before the first.
    epoch: u64,
    /// The newest run.
    active: Option<SharedId>,
    /// Runs that have begun, in that order.
    runs: Vec<Run>,
    /// Apart, since a session moves with every step and this is rarely looked at.
    barrier: Box<EventBarrier>,
    tasks: SessionTasks,
}

/// What a machine is given.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MachineInput {
    /// Something happened.
    Event(RunEvent),
    /// Nothing happened, but time went by.
    Tick,
}

/// One step. `now` is a clock in milliseconds that need not be right: one that jumps back stands
/// still for the machine.
#[inline]
pub fn step(
    mut session: SessionMachine,
    now: u64,
    input: MachineInput,
) -> (SessionMachine, Vec<RunEffect>) {
    // An event is put into the log, and changes a thing or two.
    let mut effects = Vec::with_capacity(4);
    session.apply(now, input, &mut effects);
    (session, effects)
}

impl SessionMachine {
    /// A session without runs.
    pub fn new(settings: MachineSettings) -> SessionMachine {
        SessionMachine {
            settings: Arc::new(settings),
            clock: MachineClock::default(),
            epoch: 0,
            active: None,
            runs: Vec::new(),
            barrier: Box::default(),
            tasks: SessionTasks::default(),
        }
    }

    /// [`step`], in place: for whoever takes many.
    pub fn apply(&mut self, now: u64, input: MachineInput, effects: &mut Vec<RunEffect>) {
        self.clock.advance(now);
        self.expire(effects);
        match input {
            MachineInput::Event(event) => self.take_event(event, effects),
            MachineInput::Tick => {}
        }
    }

    /// When time alone will change something, on the caller's clock.
    pub fn deadline(&self) -> Option<u64> {
        let runs = self.runs.iter().filter_map(Run::deadline);
        let first = runs.chain(self.barrier.deadline()).min()?;
        Some(self.clock.to_caller_time(first))
    }

    /// The newest run.
    pub fn active(&self) -> Option<&Run> {
        self.run(self.active.as_deref()?)
    }

    /// A run that has begun and is remembered.
    pub fn run(&self, id: &str) -> Option<&Run> {
        // The newest is nearly always the one.
        self.runs.iter().rev().find(|run| &*run.id == id)
    }

    /// The runs that have begun and are remembered, in that order.
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
        if let Some(place) = self.runs.iter().rposition(|run| run.id == event.run) {
            self.apply_to_run(place, event, effects);
        } else if matches!(event.body, EventPayload::Started(_)) {
            self.start_run(event, effects);
        } else {
            self.hold_event(event, effects);
        }
    }

    /// Gives an event to a run that has begun.
    fn apply_to_run(&mut self, place: usize, event: RunEvent, effects: &mut Vec<RunEffect>) {
        let SessionMachine { settings, clock, runs, tasks, .. } = self;
        if let Some(run) = runs.get_mut(place) {
            run.take_event(event, &mut RunContext { settings, clock, tasks, effects });
        }
    }
}

/// What a run sees of its surroundings while it works.
struct RunContext<'a> {
    settings: &'a MachineSettings,
    clock: &'a MachineClock,
    tasks: &'a mut SessionTasks,
    effects: &'a mut Vec<RunEffect>,
}
