//! The laws, on one story.

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunEnd, RunEvent, RunPhase,
    SessionMachine, SharedId, wire,
};
use serde_json::Value;

use super::{Broken, Watch, steady, stored};
use crate::{
    Random,
    runs::{
        Damage, damaged,
        oracle::{self, Then},
    },
};

/// In how many ways a log is damaged.
const DAMAGES: usize = 3;

/// Whether the laws hold, and which does not.
pub(super) type Verdict = Result<(), Broken>;

/// Tries every law on the events of a source. The seed decides how their log is damaged.
///
/// # Errors
/// The first law that is broken.
pub fn judge(seed: u64, events: &[RunEvent]) -> Verdict {
    let settings = MachineSettings::default();
    let mut live = Witness::new(&settings);
    let mut reader = SessionMachine::new(settings.clone());
    for event in events {
        let known = live.log.len();
        live.take(0, MachineInput::Event(event.clone()))?;
        for event in &live.log[known..] {
            reader.apply(0, MachineInput::Event(written(event)?), &mut Vec::new());
        }
        let (told, read) = (live.session.canonical_state(), reader.canonical_state());
        holds("a log says what happened", told == read, || different(&told, &read))?;
    }
    let log = live.log.clone();
    every_order_ends_in_one_truth(seed, &log, &settings)?;
    every_prefix_has_one_end(&log, &settings)?;
    live.is_over_once_time_has_passed()?;
    live.interrupt()?;
    live.session.runs().iter().try_for_each(stored::is_sound)
}

/// An event, written and read.
fn written(event: &RunEvent) -> Result<RunEvent, Broken> {
    let again = wire::read(&wire::write(event));
    let same = again.as_ref() == Ok(event);
    holds("an event survives its spelling", same, || format!("{event:?}\n{again:?}"))?;
    Ok(again.unwrap_or_else(|_| event.clone()))
}

/// Shuffled, repeated, cut off: what is true is what a slow reading of the same events says.
fn every_order_ends_in_one_truth(
    seed: u64,
    log: &[RunEvent],
    settings: &MachineSettings,
) -> Verdict {
    let mut random = Random::new(seed ^ 0x0dd5);
    for _ in 0..if log.is_empty() { 0 } else { DAMAGES } {
        let damage = Damage::draw(&mut random);
        let mut arrived = damaged(&mut random, log, damage);
        if random.chance(50) {
            random.shuffle(&mut arrived);
        }
        let mut machine = Witness::new(settings);
        for event in &arrived {
            machine.take(0, MachineInput::Event(event.clone()))?;
        }
        machine.says(&oracle::truth(&arrived, settings, Then::Nothing), damage)?;
        machine.interrupt()?;
        machine.says(&oracle::truth(&arrived, settings, Then::Interrupted), damage)?;
    }
    Ok(())
}

/// Wherever a log breaks off: one end, nothing open.
fn every_prefix_has_one_end(log: &[RunEvent], settings: &MachineSettings) -> Verdict {
    let mut machine = Witness::new(settings);
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

/// A machine, and somebody who looks at everything it does.
#[derive(Clone)]
struct Witness {
    session: SessionMachine,
    watch: Watch,
    /// What was emitted.
    log: Vec<RunEvent>,
}

impl Witness {
    fn new(settings: &MachineSettings) -> Witness {
        let (session, watch) = (SessionMachine::new(settings.clone()), Watch::default());
        Witness { session, watch, log: Vec::new() }
    }

    fn take(&mut self, now: u64, input: MachineInput) -> Verdict {
        let before = self.session.clone();
        let mut effects = Vec::new();
        self.session.apply(now, input.clone(), &mut effects);
        let told = |trouble| format!("{trouble}\nat {input:?}");
        let seen = self.watch.take(&effects);
        seen.map_err(|trouble| ("what is told is well formed", told(trouble)))?;
        let held = steady(&before, &self.session, &input);
        held.map_err(|trouble| ("what is final stays final", told(trouble)))?;
        self.log.extend(effects.into_iter().filter_map(|effect| match effect {
            RunEffect::Emit(event) => Some(event),
            _ => None,
        }));
        Ok(())
    }

    fn says(&self, expected: &Value, damage: Damage) -> Verdict {
        let truth = self.session.canonical_state();
        holds("every order ends in one truth", truth == *expected, || {
            format!("{damage:?}: {}", different(&truth, expected))
        })
    }

    /// Somebody says of every run that it is over.
    fn interrupt(&mut self) -> Verdict {
        let open: Vec<SharedId> = self.watch.open().cloned().collect();
        for run in open {
            let ended = RunEnd { outcome: Some(Outcome::Interrupted), ..RunEnd::default() };
            self.take(0, MachineInput::Event(RunEvent::new(&run, EventPayload::Ended(ended))))?;
        }
        self.nothing_is_open()
    }

    fn nothing_is_open(&self) -> Verdict {
        let over = |run: &foxwedge_run::Run| {
            matches!(run.phase(), RunPhase::Ended { .. }) && self.watch.announced(run.id()) == 1
        };
        let open = self.session.runs().iter().find(|run| !over(run));
        holds("every run has one end", open.is_none(), || format!("{open:?}"))
    }

    /// Whoever is replaced or stopped is over after a while, and nothing is waited for.
    fn is_over_once_time_has_passed(&mut self) -> Verdict {
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

pub(super) fn holds(law: &'static str, fine: bool, what: impl FnOnce() -> String) -> Verdict {
    if fine { Ok(()) } else { Err((law, what())) }
}

/// The first place where two truths differ.
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
