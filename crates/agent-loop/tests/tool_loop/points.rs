//! A failure or an interrupt at every point of a scenario, after which the conversation is valid.

use std::pin::Pin;

use foxwedge_core::Format;
use tokio::{
    runtime::{Builder, Runtime},
    task::{JoinSet, LocalSet},
};

use crate::{
    checks::breaches,
    scenario::{Continuation, End, OwnerName, Scenario, ScenarioReport},
    test_store::StoreKind,
    test_tools::StopBehavior,
    world::{Class, Injection, LogEntry, Plan},
};

/// The distance between tried points in a usual run; a campaign tries all points.
pub(crate) fn stride(usual: usize) -> usize {
    match std::env::var("FOXWEDGE_LOOP_POINTS").as_deref() {
        Ok("all") => 1,
        _ => usual,
    }
}

pub(crate) fn runtime() -> TestRuntime {
    TestRuntime(Builder::new_current_thread().enable_all().build().expect("a runtime"))
}

/// A runtime that is compiled once, and not for each test: what it runs is behind a pointer.
pub(crate) struct TestRuntime(pub(crate) Runtime);

impl TestRuntime {
    pub(crate) fn block_on<T>(&self, test: impl Future<Output = T>) -> T {
        let test: Pin<Box<dyn Future<Output = T> + '_>> = Box::pin(test);
        self.0.block_on(test)
    }
}

/// Runs a scenario and returns its breaches.
pub(crate) async fn run_and_check(scenario: &Scenario) -> Option<(ScenarioReport, Vec<String>)> {
    let report = scenario.run().await?;
    let found = breaches(scenario, &report);
    Some((report, found))
}

/// Number of points of a class in a scenario without failures.
async fn points(scenario: &Scenario, class: Class) -> Option<usize> {
    let scenario = Scenario { plan: Plan::new(), ..scenario.clone() };
    let test_store = crate::test_store::TestStore::new(scenario.kind)?;
    let world = crate::world::World::quiet();
    let end = scenario.act(test_store.address(), &world).await;
    assert!(matches!(end, End::Finished(_)), "nothing went wrong, and it ended so: {end:?}");
    assert_eq!(world.breaches(), Vec::<String>::new());
    Some(world.count(class))
}

/// Scenarios that run concurrently: each of them mostly waits.
const AT_ONCE: usize = 8;

/// Runs the scenario for each point of a class with the injections of `plan`.
pub(crate) fn at_every_point(
    scenario: &Scenario,
    class: Class,
    stride: usize,
    plan: impl Fn(usize) -> Plan,
) -> usize {
    LocalSet::new().block_on(&runtime().0, async {
        let Some(count) = points(scenario, class).await else { return 0 };
        assert!(count > 5, "{count} points of {class:?}");
        let (mut failures, mut done, mut running) = (Vec::new(), 0, JoinSet::new());
        let mut places = (1..=count).step_by(stride);
        while failures.len() < 4 {
            for at in places.by_ref().take(AT_ONCE.saturating_sub(running.len())) {
                // The continuation alternates: the next prompt, or a resume first.
                let continuation =
                    if at % 2 == 0 { Continuation::Resume } else { Continuation::Prompt };
                let name = if at / 2 % 2 == 0 { OwnerName::StandIn } else { OwnerName::Own };
                let scenario = Scenario { plan: plan(at), continuation, name, ..scenario.clone() };
                running.spawn_local(async move { (at, run_and_check(&scenario).await) });
            }
            let Some(ended) = running.join_next().await else { break };
            let (at, Some((report, found))) = ended.expect("a play") else { return 0 };
            done += 1;
            if !found.is_empty() {
                let (what, hit_points, end) = (found.join("\n  "), report.hit_points, report.end);
                failures
                    .push(format!("{class:?} {at} of {count} {hit_points:?}, {end:?}:\n  {what}"));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
        println!("{done} of {count} points of {class:?}");
        done
    })
}

fn interrupt_everywhere(kind: StoreKind, stop_behavior: StopBehavior, times: usize, usual: usize) {
    let scenario = Scenario { kind, stop_behavior, ..Scenario::new(Format::Anthropic) };
    at_every_point(&scenario, Class::All, stride(usual), |at| {
        vec![(Class::All, at, Injection::Interrupt(times))]
    });
}

#[test]
fn a_scenario_without_failures_has_no_breaches() {
    for wire in crate::script::FORMATS {
        let scenario = Scenario::new(wire);
        let (report, found) = runtime().block_on(run_and_check(&scenario)).expect("a file");
        assert_eq!(found, Vec::<String>::new(), "{wire:?}");
        let entered =
            report.log.iter().filter(|entry| matches!(entry, LogEntry::Entered(_))).count();
        assert_eq!(entered, 4, "all but the forbidden one");
    }
}

#[test]
fn an_interrupt_at_every_point_keeps_what_is_done_in_a_file() {
    interrupt_everywhere(StoreKind::File, StopBehavior::Finishes, 1, 1);
}

#[test]
fn an_interrupt_at_every_point_of_tools_that_stop() {
    interrupt_everywhere(StoreKind::File, StopBehavior::Stops, 1, 5);
}

#[test]
fn an_interrupt_at_every_point_of_tools_that_ignore_it() {
    interrupt_everywhere(StoreKind::File, StopBehavior::Ignores, 1, 5);
}

#[test]
fn an_interrupt_by_force_at_every_point() {
    interrupt_everywhere(StoreKind::File, StopBehavior::Ignores, 2, 5);
}

#[test]
fn a_third_interrupt_changes_nothing_more() {
    interrupt_everywhere(StoreKind::File, StopBehavior::Ignores, 3, 9);
}

#[test]
fn a_graceful_stop_followed_by_a_forced_one() {
    let scenario =
        Scenario { stop_behavior: StopBehavior::Ignores, ..Scenario::new(Format::OpenaiChat) };
    for gap in [1, 2, 5] {
        at_every_point(&scenario, Class::All, stride(17), |at| {
            vec![
                (Class::All, at, Injection::Interrupt(1)),
                (Class::All, at + gap, Injection::Interrupt(1)),
            ]
        });
    }
}

#[test]
fn an_interrupt_whenever_the_loop_waits() {
    let scenario =
        Scenario { stop_behavior: StopBehavior::Stops, ..Scenario::new(Format::OpenaiChat) };
    at_every_point(&scenario, Class::Wait, stride(4), |at| {
        vec![(Class::Wait, at, Injection::Interrupt(1))]
    });
}

#[test]
fn a_loop_dropped_at_every_point_goes_on_in_a_file() {
    let scenario = Scenario::new(Format::Anthropic);
    at_every_point(&scenario, Class::All, stride(1), |at| vec![(Class::All, at, Injection::Drop)]);
}

#[test]
fn a_loop_dropped_whenever_it_waits_goes_on() {
    let scenario = Scenario::new(Format::OpenaiChat);
    at_every_point(&scenario, Class::Wait, stride(4), |at| {
        vec![(Class::Wait, at, Injection::Drop)]
    });
}

#[test]
fn a_loop_dropped_while_it_stops_goes_on() {
    let scenario =
        Scenario { stop_behavior: StopBehavior::Ignores, ..Scenario::new(Format::OpenaiChat) };
    for gap in [1, 2, 3] {
        at_every_point(&scenario, Class::All, stride(17), |at| {
            vec![(Class::All, at, Injection::Interrupt(1)), (Class::All, at + gap, Injection::Drop)]
        });
    }
}

#[test]
fn interrupts_and_drops_in_postgres() {
    let scenario = Scenario { kind: StoreKind::Postgres, ..Scenario::new(Format::OpenaiChat) };
    at_every_point(&scenario, Class::All, stride(13), |at| {
        vec![(Class::All, at, Injection::Interrupt(1))]
    });
    at_every_point(&scenario, Class::All, stride(13), |at| vec![(Class::All, at, Injection::Drop)]);
}

#[test]
fn a_model_that_fails_at_every_delta() {
    let scenario = Scenario::new(Format::OpenaiChat);
    at_every_point(&scenario, Class::Model, stride(1), |at| {
        vec![(Class::Model, at, Injection::Fail)]
    });
}

#[test]
fn a_tool_that_panics_at_every_step() {
    let scenario = Scenario::new(Format::Anthropic);
    at_every_point(&scenario, Class::Tool, stride(1), |at| {
        vec![(Class::Tool, at, Injection::Fail)]
    });
}

#[test]
fn a_store_that_fails_once_at_every_call() {
    let scenario = Scenario::new(Format::Anthropic);
    at_every_point(&scenario, Class::Store, stride(3), |at| {
        vec![(Class::Store, at, Injection::Fail)]
    });
}

#[test]
fn a_store_that_is_unavailable_from_any_call_on() {
    let scenario = Scenario::new(Format::Anthropic);
    at_every_point(&scenario, Class::Store, stride(7), |at| {
        vec![(Class::Store, at, Injection::StoreDown)]
    });
}

#[test]
fn an_interrupt_at_every_point_in_every_format() {
    for wire in crate::script::FORMATS {
        let scenario = Scenario { stop_behavior: StopBehavior::Stops, ..Scenario::new(wire) };
        at_every_point(&scenario, Class::All, stride(13), |at| {
            vec![(Class::All, at, Injection::Interrupt(1))]
        });
        at_every_point(&scenario, Class::All, stride(17), |at| {
            vec![(Class::All, at, Injection::Drop)]
        });
    }
}

#[test]
fn a_limit_at_every_turn() {
    for wire in crate::script::FORMATS {
        for turns in 1..=4 {
            let mut scenario = Scenario::new(wire);
            scenario.limits.max_turns = turns;
            let (_, found) = runtime().block_on(run_and_check(&scenario)).expect("a file");
            assert_eq!(found, Vec::<String>::new(), "{wire:?}, {turns} turns");
        }
    }
}

#[test]
fn a_tool_that_takes_too_long_at_every_call() {
    for wire in crate::script::FORMATS {
        for hanging_tool in ["look", "peek", "write", "build"] {
            let scenario = Scenario { hanging_tool: Some(hanging_tool), ..Scenario::new(wire) };
            let (_, found) = runtime().block_on(run_and_check(&scenario)).expect("a file");
            assert_eq!(found, Vec::<String>::new(), "{wire:?}, {hanging_tool}");
        }
    }
}
