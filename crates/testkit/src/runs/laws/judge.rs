//! Checks the laws on one session.

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunEnd, RunEvent, RunPhase,
    SessionMachine, SharedId, wire,
};
use serde_json::Value;

use super::{RunBreach, Watch, steady, stored};
use crate::{
    Random,
    runs::{
        LogDamage, damaged,
        oracle::{self, LogEnding},
    },
};

/// Number of ways in which a log is damaged.
const DAMAGES: usize = 3;

/// Whether the laws hold, otherwise the broken law.
pub(super) type RunVerdict = Result<(), RunBreach>;

/// Checks every law on the events of a source. The seed decides how their log is damaged.
///
/// # Errors
/// The first broken law.
pub fn judge(seed: u64, events: &[RunEvent]) -> RunVerdict {
    let settings = MachineSettings::default();
    let mut live = ObservedMachine::new(&settings);
    let mut reader = SessionMachine::new(settings.clone());
    for event in events {
        let known = live.log.len();
        live.take(0, MachineInput::Event(event.clone()))?;
        for event in &live.log[known..] {
            reader.apply(0, MachineInput::Event(written(event)?), &mut Vec::new());
        }
        let (live_state, read) = (live.session.canonical_state(), reader.canonical_state());
        holds("a log says what happened", live_state == read, || different(&live_state, &read))?;
    }
    let log = live.log.clone();
    every_order_ends_in_one_truth(seed, &log, &settings)?;
    every_prefix_has_one_end(&log, &settings)?;
    live.is_over_once_time_has_passed()?;
    live.interrupt()?;
    live.session.runs().iter().try_for_each(stored::is_sound)
}

/// An event after it was written and read.
fn written(event: &RunEvent) -> Result<RunEvent, RunBreach> {
    let again = wire::read(&wire::write(event));
    let same = again.as_ref() == Ok(event);
    holds("an event survives its spelling", same, || format!("{event:?}\n{again:?}"))?;
    Ok(again.unwrap_or_else(|_| event.clone()))
}

/// Shuffled, repeated or truncated: the state is always the one that the oracle computes from the
/// same events.
fn every_order_ends_in_one_truth(
    seed: u64,
    log: &[RunEvent],
    settings: &MachineSettings,
) -> RunVerdict {
    let mut random = Random::new(seed ^ 0x0dd5);
    for _ in 0..if log.is_empty() { 0 } else { DAMAGES } {
        let damage = LogDamage::draw(&mut random);
        let mut arrived = damaged(&mut random, log, damage);
        if random.chance(50) {
            random.shuffle(&mut arrived);
        }
        let mut machine = ObservedMachine::new(settings);
        for event in &arrived {
            machine.take(0, MachineInput::Event(event.clone()))?;
        }
        machine.says(&oracle::truth(&arrived, settings, LogEnding::Nothing), damage)?;
        machine.interrupt()?;
        machine.says(&oracle::truth(&arrived, settings, LogEnding::Interrupted), damage)?;
    }
    Ok(())
}

/// Every prefix of a log leads to one end and nothing open.
fn every_prefix_has_one_end(log: &[RunEvent], settings: &MachineSettings) -> RunVerdict {
    let mut machine = ObservedMachine::new(settings);
    for (place, event) in log.iter().enumerate() {
        machine.take(0, MachineInput::Event(event.clone()))?;
        let mut cut = machine.clone();
        if place % 3 == 0 {
            cut.is_over_once_time_has_passed()?;
        }
        cut.interrupt()?;
    }
    Ok(())
}

/// A machine with a monitor of all its effects.
#[derive(Clone)]
struct ObservedMachine {
    session: SessionMachine,
    watch: Watch,
    /// The emitted events.
    log: Vec<RunEvent>,
}

impl ObservedMachine {
    fn new(settings: &MachineSettings) -> ObservedMachine {
        let (session, watch) = (SessionMachine::new(settings.clone()), Watch::default());
        ObservedMachine { session, watch, log: Vec::new() }
    }

    fn take(&mut self, now: u64, input: MachineInput) -> RunVerdict {
        let before = self.session.clone();
        let mut effects = Vec::new();
        self.session.apply(now, input.clone(), &mut effects);
        let describe = |problem| format!("{problem}\nat {input:?}");
        let checked = self.watch.take(&effects);
        checked.map_err(|problem| ("what is told is well formed", describe(problem)))?;
        let result = steady(&before, &self.session, &input);
        result.map_err(|problem| ("what is final stays final", describe(problem)))?;
        self.log.extend(effects.into_iter().filter_map(|effect| match effect {
            RunEffect::Emit(event) => Some(event),
            _ => None,
        }));
        Ok(())
    }

    fn says(&self, expected: &Value, damage: LogDamage) -> RunVerdict {
        let truth = self.session.canonical_state();
        holds("every order ends in one truth", truth == *expected, || {
            format!("{damage:?}: {}", different(&truth, expected))
        })
    }

    /// Interrupts every run.
    fn interrupt(&mut self) -> RunVerdict {
        let open: Vec<SharedId> = self.watch.open().cloned().collect();
        for run in open {
            let ended = RunEnd { outcome: Some(Outcome::Interrupted), ..RunEnd::default() };
            self.take(0, MachineInput::Event(RunEvent::new(&run, EventPayload::Ended(ended))))?;
        }
        self.nothing_is_open()
    }

    fn nothing_is_open(&self) -> RunVerdict {
        let over = |run: &foxwedge_run::Run| {
            matches!(run.phase(), RunPhase::Ended { .. }) && self.watch.announced(run.id()) == 1
        };
        let open = self.session.runs().iter().find(|run| !over(run));
        holds("every run has one end", open.is_none(), || format!("{open:?}"))
    }

    /// A run that was replaced or stopped ends after some time, and nothing stays pending.
    fn is_over_once_time_has_passed(&mut self) -> RunVerdict {
        let mut now = 0;
        for _ in 0..1_000 {
            let Some(deadline) = self.session.deadline() else { break };
            now = deadline.max(now);
            self.take(now, MachineInput::Tick)?;
        }
        let waits = self.session.deadline();
        holds("nothing waits for ever", waits.is_none(), || format!("until {waits:?}"))?;
        let newest = self.session.active().map(|run| run.id().clone());
        let open = self.watch.open().find(|run| Some(*run) != newest.as_ref());
        holds("whoever is replaced is over", open.is_none(), || format!("{open:?}"))
    }
}

pub(super) fn holds(law: &'static str, fine: bool, what: impl FnOnce() -> String) -> RunVerdict {
    if fine { Ok(()) } else { Err((law, what())) }
}

/// The first difference between two states.
fn different(left: &Value, right: &Value) -> String {
    match (left, right) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys());
            let mut differing = keys.filter(|key| one.get(*key) != other.get(*key));
            match differing.next() {
                Some(key) => format!("{key}: {}", different(&left[key], &right[key])),
                None => String::new(),
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let place = one.iter().zip(other).position(|(one, other)| one != other);
            let place = place.unwrap_or_default();
            format!("{place}: {}", different(&left[place], &right[place]))
        }
        (left, right) => format!("{left}\nand not\n{right}"),
    }
}
