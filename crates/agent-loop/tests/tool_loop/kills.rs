//! `kill -9` at every point: a child process runs the scenario and is killed there. Nothing runs
//! after that, not even destructors.

use std::{fs, path::Path};

use foxwedge_core::Format;

use crate::{
    checks::breaches,
    points::{runtime, stride},
    process::{self, Exit},
    scenario::{Continuation, End, OwnerName, Scenario, short_conversation},
    temporary::Temporary,
    test_store::{StoreKind, TestStore},
    test_tools::StopBehavior,
    world::{Class, Injection, LogEntry, World},
};

/// The part of the killed process.
pub(crate) const PART: &str = "killed";
const ADDRESS: &str = "FOXWEDGE_LOOP_ADDRESS";
const DIARY: &str = "FOXWEDGE_LOOP_DIARY";
const POINT: &str = "FOXWEDGE_LOOP_POINT";
const WIRE: &str = "FOXWEDGE_LOOP_WIRE";
const PRESS: &str = "FOXWEDGE_LOOP_PRESS";

fn scenario(kind: StoreKind, wire: Format) -> Scenario {
    let (conversation, name) = (short_conversation(), OwnerName::Own);
    Scenario { kind, stop_behavior: StopBehavior::Stops, conversation, name, ..Scenario::new(wire) }
}

/// Runs the scenario until it is killed.
pub(crate) fn run_part() {
    let wire = Format::parse(&process::value(WIRE)).expect("a format");
    let point: usize = process::value(POINT).parse().expect("a number");
    let interrupt: usize = process::value(PRESS).parse().expect("a number");
    let mut scenario = scenario(StoreKind::File, wire);
    scenario.plan = vec![(Class::All, point, Injection::Kill)];
    if interrupt > 0 {
        scenario.plan.push((Class::All, interrupt, Injection::Interrupt(1)));
    }
    let world = World::new(scenario.plan.clone());
    world.keep_journal(Path::new(&process::value(DIARY)));
    let end = runtime().block_on(scenario.act(&process::value(ADDRESS), &world));
    assert!(matches!(end, End::Finished(_)), "{end:?}");
}

/// Kills a process at each point, until one finishes.
fn campaign(kind: StoreKind, wire: Format, stride: usize, interrupt: usize) -> usize {
    let runtime = runtime();
    let folder = Temporary::folder();
    let mut failures = Vec::new();
    let mut kills = 0;
    for point in (1_usize..).step_by(stride) {
        let Some(test_store) = TestStore::new(kind) else { return 0 };
        let journal = folder.path(&format!("{point}"));
        let values = [
            (ADDRESS, test_store.address()),
            (DIARY, &journal.display().to_string()),
            (POINT, &point.to_string()),
            (WIRE, wire.name()),
            (PRESS, &point.saturating_sub(interrupt).to_string()),
        ];
        let values =
            if interrupt == 0 { [&values[..4], &[(PRESS, "0")]].concat() } else { values.to_vec() };
        if process::run_part(PART, &values) == Exit::Well {
            break;
        }
        kills += 1;
        let continuation = if point % 2 == 0 { Continuation::Resume } else { Continuation::Prompt };
        let mut scenario = Scenario { continuation, ..scenario(kind, wire) };
        scenario.plan = vec![(Class::All, point, Injection::Kill)];
        // What the process recorded before its end.
        let world = World::quiet();
        let journal = fs::read_to_string(&journal).unwrap_or_default();
        journal.lines().filter_map(LogEntry::of).for_each(|entry| world.record(entry));
        let report = runtime.block_on(scenario.afterwards(test_store.address(), &world, End::Gone));
        let found = breaches(&scenario, &report);
        if !found.is_empty() {
            failures.push(format!("killed at {point}:\n  {}", found.join("\n  ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(kills > 5, "{kills} kills");
    println!("{kills} kills, {wire:?}, {kind:?}");
    kills
}

#[test]
fn a_process_killed_at_every_point_leaves_a_conversation_that_can_continue() {
    campaign(StoreKind::File, Format::Anthropic, stride(2), 0);
}

#[test]
fn a_process_killed_while_it_stops() {
    campaign(StoreKind::File, Format::OpenaiChat, stride(5), 2);
}

#[test]
fn a_process_killed_over_postgres() {
    campaign(StoreKind::Postgres, Format::OpenaiChat, stride(12), 0);
}

#[test]
fn a_process_killed_in_every_format() {
    for wire in [Format::OpenaiResponses, Format::Gemini] {
        campaign(StoreKind::File, wire, stride(12), 0);
    }
}
