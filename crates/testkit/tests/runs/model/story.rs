//! A small session, and every way in which it can arrive.
//!
//! A state is the machine itself, what is still on its way, and somebody who saw all effects.
//! An action delivers something that is on its way, delivers something once more, or lets time
//! go by. The machine in here is the real one.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunEnd, RunEvent, RunPhase,
    SessionMachine, SharedId,
};
use foxwedge_testkit::runs::laws::{Watch, steady};
use serde_json::Value;
use stateright::{Model, Property};

use super::{fault::Fault, key::Key};

/// What happens, and how badly it may be told.
#[derive(Default)]
pub(super) struct Story {
    /// In their true order.
    pub(super) events: Vec<RunEvent>,
    /// How many events may come twice.
    pub(super) again: u8,
    /// How often time may go by, each time for longer than anything waits.
    pub(super) passes: u8,
    /// How many events may come before the start of their run.
    pub(super) held: u8,
    /// Events that cannot all be true: the first of each group is.
    pub(super) rivals: Vec<Vec<usize>>,
    pub(super) fault: Option<Fault>,
    /// Ends that were reached.
    pub(super) ends: AtomicU64,
    /// What is true at the end, by what it may depend on.
    pub(super) truths: Mutex<HashMap<Key, Value>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    pub(super) session: SessionMachine,
    pub(super) watch: Watch,
    /// A bit for each event that is on its way.
    pub(super) left: u32,
    again: u8,
    passes: u8,
    now: u64,
    /// Decisions that somebody is about to write: only where a fault makes two steps of it.
    pub(super) observed: u32,
    /// Whether what is being delivered was delivered before.
    pub(super) repeated: bool,
    pub(super) key: Key,
    pub(super) broken: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Deliver(usize),
    Again(usize),
    Write(usize),
    Pass,
}

impl Story {
    /// All that the events are about, in a machine with the usual settings.
    pub(super) fn of(events: Vec<RunEvent>) -> Story {
        assert!(events.len() <= 32, "an event is a bit");
        Story { events, held: 32, ..Story::default() }
    }

    /// The events of a run that are still on their way.
    fn of_run(&self, run: &SharedId) -> u32 {
        let mine = self.events.iter().enumerate().filter(|(_, event)| event.run == *run);
        mine.fold(0, |bits, (place, _)| bits | 1 << place)
    }

    fn may_come(&self, state: &State, place: usize) -> bool {
        let run = &self.events[place].run;
        let start = self.events.iter().position(|event| event.run == *run && is_start(event));
        let Some(start) = start else { return true };
        let started = state.left & 1 << start == 0 || place == start;
        started || (self.of_run(run) & !state.left).count_ones() < u32::from(self.held)
    }

    fn deliver(&self, before: &SessionMachine, state: &mut State, input: MachineInput) {
        let mut effects: Vec<RunEffect> = Vec::new();
        match self.fault {
            None => state.session.apply(state.now, input.clone(), &mut effects),
            Some(fault) => fault.step(state, input.clone(), &mut effects),
        }
        let seen = state.watch.take(&effects);
        // A fault may give the event to somebody else; it is judged by whose it was.
        state.broken = seen.and_then(|()| steady(before, &state.session, &input)).err();
    }

    /// Everything has arrived: every run is over once time has gone by, nothing waits, and what
    /// is true is what this story says, whatever the order was.
    pub(super) fn ends_well(&self, state: &State) -> Result<(), String> {
        if state.left != 0 || state.observed != 0 {
            return Ok(());
        }
        self.ends.fetch_add(1, Ordering::Relaxed);
        let (mut session, mut watch) = (state.session.clone(), state.watch.clone());
        let mut now = state.now;
        for _ in 0..3 {
            now += LONGER;
            let mut effects = Vec::new();
            session.apply(now, MachineInput::Tick, &mut effects);
            watch.take(&effects)?;
        }
        // An end that came too early may be lost; then somebody else says that it is over.
        let open: Vec<SharedId> = watch.open().cloned().collect();
        if let Some(run) = open.first().filter(|_| state.passes == self.passes) {
            return Err(format!("`{run}` has no end"));
        }
        for run in open {
            let ended = RunEnd { outcome: Some(Outcome::Interrupted), ..RunEnd::default() };
            let mut effects = Vec::new();
            session.apply(
                now,
                MachineInput::Event(RunEvent::new(&run, EventPayload::Ended(ended))),
                &mut effects,
            );
            watch.take(&effects)?;
        }
        for run in session.runs() {
            if watch.announced(run.id()) != 1 || !matches!(run.phase(), RunPhase::Ended { .. }) {
                return Err(format!("`{}` has no end", run.id()));
            }
        }
        let snapshot = session.snapshot();
        if snapshot["waiting"] != 0 || session.deadline().is_some() {
            return Err(format!("something waits for ever: {snapshot}"));
        }
        if state.passes != self.passes || state.key == Key::Arrival {
            // Whoever comes too late is not heard; what is true depends on it.
            return Ok(());
        }
        self.is_true(state)
    }

    fn is_true(&self, state: &State) -> Result<(), String> {
        let truth = state.key.sorted(state.session.canonical_state());
        let mut truths = self.truths.lock().map_err(|_| "somebody else panicked".to_owned())?;
        let expected = truths.entry(state.key.clone()).or_insert_with(|| {
            let expected = state.key.in_order(self);
            expected.map_or_else(
                || truth.clone(),
                |session| state.key.sorted(session.canonical_state()),
            )
        });
        match *expected == truth {
            true => Ok(()),
            false => Err(format!("{:?}:\n{truth}\nis not\n{expected}", state.key)),
        }
    }
}

impl State {
    pub(super) fn now(&self) -> u64 {
        self.now
    }
}

impl Model for Story {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            session: SessionMachine::new(MachineSettings::default()),
            watch: Watch::default(),
            left: (0..self.events.len()).fold(0, |bits, place| bits | 1 << place),
            again: self.again,
            passes: self.passes,
            now: 0,
            observed: 0,
            repeated: false,
            key: Key::of(self),
            broken: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        for place in 0..self.events.len() {
            let is_left = state.left & 1 << place != 0;
            if state.observed & 1 << place != 0 {
                actions.push(Action::Write(place));
            } else if is_left && self.may_come(state, place) {
                actions.push(Action::Deliver(place));
            } else if !is_left && state.again > 0 && self.may_come(state, place) {
                actions.push(Action::Again(place));
            }
        }
        if state.passes > 0 {
            actions.push(Action::Pass);
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        match action {
            Action::Deliver(place) => {
                next.left &= !(1 << place);
                if self
                    .fault
                    .is_some_and(|fault| fault.observes(&mut next, &self.events[place], place))
                {
                    return Some(next);
                }
                next.key.note(self, state, place);
                self.deliver(
                    &state.session,
                    &mut next,
                    MachineInput::Event(self.events[place].clone()),
                );
            }
            Action::Again(place) => {
                next.again -= 1;
                next.repeated = true;
                self.deliver(
                    &state.session,
                    &mut next,
                    MachineInput::Event(self.events[place].clone()),
                );
                next.repeated = false;
            }
            Action::Write(place) => {
                next.observed &= !(1 << place);
                next.key.note(self, state, place);
                self.deliver(
                    &state.session,
                    &mut next,
                    MachineInput::Event(self.events[place].clone()),
                );
            }
            Action::Pass => {
                next.passes -= 1;
                next.now += LONGER;
                self.deliver(&state.session, &mut next, MachineInput::Tick);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("every step is sound", |_, state: &State| state.broken.is_none()),
            Property::always("every end is right", |story: &Story, state| {
                story.ends_well(state).is_ok()
            }),
        ]
    }
}

/// Longer than anything waits.
const LONGER: u64 = 20_000;

pub(super) fn is_start(event: &RunEvent) -> bool {
    matches!(event.body, EventPayload::Started(_))
}
