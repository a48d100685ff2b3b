//! A second, slow reader of logs: the state after all events have arrived.
//!
//! It sorts all events of a run and reads them once, from the first to the last. A call is the list
//! of its facts; everything else about it is computed from that list on demand. No code is shared
//! with the machine.

mod tool;
mod asks;
mod calls;
mod said;
mod run;

use std::collections::BTreeMap;

use foxwedge_run::{EventPayload, MachineSettings, RunEvent, SharedId};
use serde_json::{Value, json};

use self::run::RunReading;

/// What happens after the last event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogEnding {
    /// Nothing, and no time passes: events after a gap still wait.
    Nothing,
    /// Every run is interrupted, and no gap will be filled.
    Interrupted,
}

/// The expected state after these events, in the form of the machine.
pub fn truth(arrived: &[RunEvent], settings: &MachineSettings, then: LogEnding) -> Value {
    let starts = starts(arrived);
    let runs: Vec<RunReading<'_>> = starts
        .iter()
        .map(|start| RunReading::of(start, &log(start, arrived, then), settings, then))
        .collect();
    let newest = starts.last();
    json!({
        "epoch": newest.and_then(|start| start.epoch).unwrap_or(0),
        "active": newest.map(|start| &*start.run),
        "runs": runs.iter().map(RunReading::truth).collect::<Vec<_>>(),
        "tasks": runs.iter().rev().find_map(RunReading::tasks).unwrap_or_default(),
    })
}

/// The starts that count: each is newer than all before it.
fn starts(arrived: &[RunEvent]) -> Vec<&RunEvent> {
    let mut known_runs: Vec<&SharedId> = Vec::new();
    let mut counted: Vec<&RunEvent> = Vec::new();
    for event in arrived.iter().filter(|event| matches!(event.body, EventPayload::Started(_))) {
        let newest = counted.last().and_then(|start| start.epoch);
        if !known_runs.contains(&&event.run) && event.epoch > newest {
            counted.push(event);
        }
        known_runs.push(&event.run);
    }
    counted
}

/// The events of a run after its start: each position once, in order, without those that wait.
fn log<'a>(start: &RunEvent, arrived: &'a [RunEvent], then: LogEnding) -> Vec<&'a RunEvent> {
    let mut places: BTreeMap<u64, &RunEvent> = BTreeMap::new();
    for event in arrived.iter().filter(|event| event.run == start.run) {
        if let Some(seq) = event.seq.filter(|seq| Some(*seq) > start.seq) {
            places.entry(seq).or_insert(event);
        }
    }
    let first = start.seq.unwrap_or(0) + 1;
    let in_turn = |(place, due): &((&u64, &&RunEvent), u64)| {
        then == LogEnding::Interrupted || *place.0 == *due
    };
    places.iter().zip(first..).take_while(in_turn).map(|((_, event), _)| *event).collect()
}
