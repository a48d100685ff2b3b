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
mod table;
mod places;
mod tool;
mod asks;
mod texts;
mod close;
mod tasks;
mod answer;
mod snapshot;

use std::sync::Arc;

pub use answer::{Answer, AnswerError, Routed};
pub use asks::Asked;
pub use run::{Counts, Flags, Phase, Run};
pub use texts::{TextItem, TextKind};
pub use tool::Tool;

use self::{barrier::Waiting, clock::Clock, tasks::Tasks};
use crate::{Body, Effect, Event, Id, Settings, Task};

/// Everything that is known about a session's runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Session {
    settings: Arc<Settings>,
    clock: Clock,
    /// The number of the newest run; 0 before the first.
    epoch: u64,
    /// The newest run.
    active: Option<Id>,
    /// Runs that have begun, in that order.
    runs: Vec<Run>,
    /// Apart, since a session moves with every step and this is rarely looked at.
    waiting: Box<Waiting>,
    tasks: Tasks,
}

/// What a machine is given.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    /// Something happened.
    Event(Event),
    /// Nothing happened, but time went by.
    Tick,
}

/// One step. `now` is a clock in milliseconds that need not be right: one that jumps back stands
/// still for the machine.
#[inline]
pub fn step(mut session: Session, now: u64, input: Input) -> (Session, Vec<Effect>) {
    // An event is put into the log, and changes a thing or two.
    let mut effects = Vec::with_capacity(4);
    session.apply(now, input, &mut effects);
    (session, effects)
}

impl Session {
    /// A session without runs.
    pub fn new(settings: Settings) -> Session {
        Session {
            settings: Arc::new(settings),
            clock: Clock::default(),
            epoch: 0,
            active: None,
            runs: Vec::new(),
            waiting: Box::default(),
            tasks: Tasks::default(),
        }
    }

    /// [`step`], in place: for whoever takes many.
    pub fn apply(&mut self, now: u64, input: Input, effects: &mut Vec<Effect>) {
        self.clock.advance(now);
        self.expire(effects);
        match input {
            Input::Event(event) => self.take(event, effects),
            Input::Tick => {}
        }
    }

    /// When time alone will change something, on the caller's clock.
    pub fn deadline(&self) -> Option<u64> {
        let runs = self.runs.iter().filter_map(Run::deadline);
        let first = runs.chain(self.waiting.deadline()).min()?;
        Some(self.clock.tell(first))
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
    pub fn tasks(&self) -> &[Task] {
        self.tasks.list()
    }

    /// The number of the newest run; 0 before the first.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    fn take(&mut self, event: Event, effects: &mut Vec<Effect>) {
        if let Some(place) = self.runs.iter().rposition(|run| run.id == event.run) {
            self.give(place, event, effects);
        } else if matches!(event.body, Body::Started(_)) {
            self.start(event, effects);
        } else {
            self.hold(event, effects);
        }
    }

    /// Gives an event to a run that has begun.
    fn give(&mut self, place: usize, event: Event, effects: &mut Vec<Effect>) {
        let Session { settings, clock, runs, tasks, .. } = self;
        if let Some(run) = runs.get_mut(place) {
            run.take(event, &mut World { settings, clock, tasks, effects });
        }
    }
}

/// What a run sees of its surroundings while it works.
struct World<'a> {
    settings: &'a Settings,
    clock: &'a Clock,
    tasks: &'a mut Tasks,
    effects: &'a mut Vec<Effect>,
}
