//! Random sessions of runs, and the ways in which their logs can be damaged.
//!
//! [`story`] generates the events in their true order, without positions. [`recorded`] is the log
//! that the machine writes for them: every event has its position. [`damaged`] is either of them as
//! it may arrive: shuffled, repeated, truncated, late, without its start. [`log`] combines all of
//! this for one seed, as lines with a clock, in the notations of several agents and with some
//! garbage. Two implementations of the machine must agree on it.

mod generate;
mod calls;
mod damage;
mod respell;
pub mod oracle;
pub mod laws;

use foxwedge_run::{
    MachineInput, MachineSettings, RunEffect, RunEvent, SessionMachine, UserAnswer, wire,
};

use crate::Random;

pub use damage::{LogDamage, damaged};
pub use generate::story;
pub use respell::respelled;

/// The complete input of one machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Log {
    /// The seed that it was generated from.
    pub seed: u64,
    /// The settings of the machine.
    pub settings: MachineSettings,
    /// The inputs, in order.
    pub steps: Vec<Step>,
}

/// One input of a machine, with its time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The caller's clock, in milliseconds. It may jump, also backwards.
    pub now: u64,
    /// The input.
    pub given: Given,
}

/// An input of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Given {
    /// A line that should be an event.
    Line(String),
    /// Only the time.
    Tick,
    /// A user answer, to be routed and then delivered.
    Answer(UserAnswer),
}

/// Generates the log of a seed.
pub fn log(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let mut settings = MachineSettings::default();
    if random.chance(30) {
        settings.limits.waiting = 3 + random.below(8);
        settings.limits.runs = 1 + random.below(2);
    }
    if random.chance(20) {
        settings.wait = *random.pick(&[0, 50, 500]);
    }
    let events = story(&mut random);
    let events = if random.chance(45) { recorded(&events, &settings) } else { events };
    let damage = LogDamage::draw(&mut random);
    let events = damaged(&mut random, &events, damage);
    let foreign = random.chance(50);
    let mut now = *random.pick(&[0, 1_000, 1_763_000_000_000]);
    let mut steps = Vec::new();
    for event in events {
        now = later(&mut random, now);
        if random.chance(4) {
            steps.push(Step { now, given: Given::Tick });
            now = later(&mut random, now);
        }
        if random.chance(12) {
            steps.push(Step { now, given: Given::Answer(damage::answer(&mut random, &event)) });
        }
        let line = wire::write(&event);
        let line = if foreign { respelled(&mut random, &line) } else { line };
        steps.push(Step { now, given: Given::Line(line) });
    }
    for _ in 0..random.below(4) {
        now = now.saturating_add(random.below(3_000) as u64);
        steps.push(Step { now, given: Given::Tick });
    }
    Log { seed, settings, steps }
}

/// The log that a machine writes for events in their true order: they have positions, and
/// everything is closed before every end.
pub fn recorded(events: &[RunEvent], settings: &MachineSettings) -> Vec<RunEvent> {
    let mut session = SessionMachine::new(settings.clone());
    let mut effects = Vec::new();
    for event in events {
        session.apply(0, MachineInput::Event(event.clone()), &mut effects);
    }
    let emitted = effects.into_iter().filter_map(|effect| match effect {
        RunEffect::Emit(event) => Some(event),
        RunEffect::Show { .. }
        | RunEffect::Resolve { .. }
        | RunEffect::CancelTool { .. }
        | RunEffect::Announce { .. }
        | RunEffect::Drain { .. }
        | RunEffect::Warn(_) => None,
    });
    emitted.collect()
}

/// Advances the clock: mostly a little, sometimes a lot, sometimes backwards.
fn later(random: &mut Random, now: u64) -> u64 {
    match random.below(40) {
        0 => now.saturating_add(2_000 + random.below(4_000) as u64),
        1 => now.saturating_sub(random.below(100_000) as u64),
        2 => now.saturating_add(3_600_000),
        3..=12 => now.saturating_add(random.below(400) as u64),
        _ => now.saturating_add(random.below(8) as u64),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_log() {
        for seed in 0..20 {
            assert_eq!(log(seed), log(seed));
        }
    }

    #[test]
    fn every_kind_of_event_is_generated() {
        let mut kinds = BTreeSet::new();
        for seed in 0..200 {
            for event in story(&mut Random::new(seed)) {
                let line: serde_json::Value =
                    serde_json::from_str(&wire::write(&event)).expect("an object");
                kinds.insert(line["type"].as_str().expect("a type").to_owned());
            }
        }
        let expected = [
            "activity",
            "approval-answered",
            "approval-asked",
            "error",
            "question-answered",
            "question-asked",
            "run-ended",
            "run-started",
            "stop",
            "tasks",
            "text",
            "thought",
            "timed-out",
            "tool-arguments",
            "tool-call",
            "tool-cancelled",
            "tool-progress",
            "tool-result",
            "tools-available",
            "turn-started",
            "unknown",
            "usage",
        ];
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_recorded_log_has_all_places_of_every_run() {
        for seed in 0..100 {
            let events = recorded(&story(&mut Random::new(seed)), &MachineSettings::default());
            let runs: BTreeSet<_> = events.iter().map(|event| event.run.clone()).collect();
            for run in runs {
                let places: Vec<_> =
                    events.iter().filter(|event| event.run == run).map(|event| event.seq).collect();
                let expected: Vec<_> = (1..=places.len() as u64).map(Some).collect();
                assert_eq!(places, expected, "seed {seed}, run {run}");
            }
        }
    }
}
