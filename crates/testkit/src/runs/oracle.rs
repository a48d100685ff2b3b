//! A second, slow reading of logs: what is true once all of it has arrived.
//!
//! All events of a run are put in order first, and read once, from the first to the last. Calls
//! are lists of what was said about them; everything else about a call is worked out from its
//! list whenever it is asked for. Nothing in here is shared with the machine.

mod tool;
mod asks;
mod calls;
mod said;
mod run;

use std::collections::BTreeMap;

use foxwedge_run::{EventPayload, MachineSettings, RunEvent, SharedId};
use serde_json::{Value, json};

use self::run::Reading;

/// What else happens behind the last event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// Nothing, for no time at all: what lies behind a gap still waits.
    Nothing,
    /// Somebody says of every run that it was interrupted, and no gap will be filled any more.
    Interrupted,
}

/// What is true after events of logs, in the words of the machine.
pub fn truth(arrived: &[RunEvent], settings: &MachineSettings, then: Then) -> Value {
    let starts = starts(arrived);
    let runs: Vec<Reading<'_>> = starts
        .iter()
        .map(|start| Reading::of(start, &log(start, arrived, then), settings, then))
        .collect();
    let newest = starts.last();
    json!({
        "epoch": newest.and_then(|start| start.epoch).unwrap_or(0),
        "active": newest.map(|start| &*start.run),
        "runs": runs.iter().map(Reading::truth).collect::<Vec<_>>(),
        "tasks": runs.iter().rev().find_map(Reading::tasks).unwrap_or_default(),
    })
}

/// The starts that count: each is newer than all before it.
fn starts(arrived: &[RunEvent]) -> Vec<&RunEvent> {
    let mut heard: Vec<&SharedId> = Vec::new();
    let mut counted: Vec<&RunEvent> = Vec::new();
    for event in arrived.iter().filter(|event| matches!(event.body, EventPayload::Started(_))) {
        let newest = counted.last().and_then(|start| start.epoch);
        if !heard.contains(&&event.run) && event.epoch > newest {
            counted.push(event);
        }
        heard.push(&event.run);
    }
    counted
}

/// The events of a run behind its start: each place once, in order, without those that wait.
fn log<'a>(start: &RunEvent, arrived: &'a [RunEvent], then: Then) -> Vec<&'a RunEvent> {
    let mut places: BTreeMap<u64, &RunEvent> = BTreeMap::new();
    for event in arrived.iter().filter(|event| event.run == start.run) {
        if let Some(seq) = event.seq.filter(|seq| Some(*seq) > start.seq) {
            places.entry(seq).or_insert(event);
        }
    }
    let first = start.seq.unwrap_or(0) + 1;
    let in_turn =
        |(place, due): &((&u64, &&RunEvent), u64)| then == Then::Interrupted || *place.0 == *due;
    places.iter().zip(first..).take_while(in_turn).map(|((_, event), _)| *event).collect()
}
