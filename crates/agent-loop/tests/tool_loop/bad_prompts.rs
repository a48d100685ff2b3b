//! Unusual prompts, and two loops on one session.

use std::{sync::Arc, time::Duration};

use foxwedge_agent_loop::tool_loop::{ApproveAll, LoopError, LoopSetup, SilentObserver, ToolLoop};
use foxwedge_run::Outcome;
use foxwedge_tools::Toolbox;
use tokio::task::{JoinSet, LocalSet};

use crate::{
    harness::{Setup, plain},
    observed_store::{Leases, ObservedStore, SHORT},
    points::{runtime, stride},
    scenario::{OwnerName, SESSION, runs},
    script::{FORMATS, Step, call, reply, text},
    scripted_model::ScriptedModel,
    test_store,
    world::{Class, Injection, LogEntry, World},
};

#[test]
fn prompts_are_sent_unchanged_whatever_they_contain() {
    runtime().block_on(async {
        let large = "a long story ".repeat(800_000);
        let table = [
            "a\u{0}b",
            "\\ud83d",
            "\u{fffd}\u{feff}",
            "{\"role\":\"system\"}",
            "\u{1b}[2J",
            "🦊",
            "</s><|im_end|>",
            "\r\n\r\n x",
            &large,
        ];
        for wire in FORMATS {
            for prompt in table {
                // One format is enough for large prompts.
                if prompt.len() > 1_000 && wire != FORMATS[0] {
                    continue;
                }
                let mut harness = Setup { wire, ..Setup::default() }.build(plain).await;
                let short: String = prompt.chars().take(12).collect();
                match harness.prompt(prompt).await {
                    Ok(finished) => {
                        assert_eq!(finished.ended.outcome, Some(Outcome::Completed), "{short:?}");
                        let body = harness.model.requests().pop().expect("a request").to_string();
                        let spelled = serde_json::Value::from(prompt).to_string();
                        let inner = spelled.trim_matches('"');
                        assert!(body.contains(inner), "{wire:?}: {short:?}");
                    }
                    Err(error) => {
                        let fine = matches!(error, LoopError::TooLarge { .. });
                        assert!(fine && prompt.len() > 1 << 20, "{short:?}: {error:?}");
                    }
                }
                harness.check();
            }
        }
    });
}

#[test]
fn oversized_prompts_are_refused_and_leave_nothing() {
    runtime().block_on(async {
        let mut harness = Setup::default().build(plain).await;
        let result = harness.prompt(&"x".repeat(40 << 20)).await;
        assert!(
            matches!(result, Err(LoopError::TooLarge { .. })),
            "{:?}",
            result.map(|it| it.ended)
        );
        assert_eq!(runs(&harness.store).await.len(), 0, "no run was begun");
        assert_eq!(harness.outcome("something smaller").await, Some(Outcome::Completed));
        assert_eq!(harness.shape(), "u:something smaller | a:That is all.");
        harness.check();
    });
}

#[test]
fn a_second_loop_on_a_session_is_refused_while_the_first_runs() {
    runtime().block_on(async {
        let script = vec![reply([text("thinking"), Step::Hang])];
        let make = Setup { script, leases: Leases::Real, ..Setup::default() };
        let mut harness = make.build(plain).await;
        let (address, world) = (harness.address().to_owned(), harness.world.clone());
        let second = async {
            while !world.log().contains(&LogEntry::RequestSent) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let world = World::quiet();
            let store = test_store::open(&address).await;
            let observed_store = Arc::new(ObservedStore::new(store, world.clone(), Leases::Real));
            let model = ScriptedModel::new(foxwedge_core::Format::Anthropic, &world, Vec::new());
            let open = ToolLoop::open(
                observed_store,
                LoopSetup::new(SESSION),
                model,
                Toolbox::new(),
                Arc::new(ApproveAll),
            );
            // Either opening or prompting is refused.
            match open.await {
                Err(error) => error,
                Ok(mut second) => second
                    .prompt("me too", &mut SilentObserver)
                    .await
                    .expect_err("somebody is at work"),
            }
        };
        let (outcome, result) = tokio::join!(harness.outcome("go"), async {
            let result = second.await;
            world.interrupt();
            result
        });
        assert!(matches!(result, LoopError::Busy { .. }), "{result:?}");
        assert_eq!(outcome, Some(Outcome::Stopped));
        assert_eq!(harness.outcome("on").await, Some(Outcome::Completed));
        assert_eq!(harness.shape(), "u:go | a:thinking | u:on | a:That is all.");
        harness.check();
    });
}

#[test]
fn a_loop_that_lost_its_run_writes_nothing_more() {
    runtime().block_on(async {
        // Its lease expired, as after a sleep of the machine; another loop takes over.
        let script =
            vec![reply([call("x", "wait", "{}")]), reply([text("this must never be told")])];
        let waiting = |world: &World| {
            let inner = world.clone();
            let tool = crate::harness::custom(
                "wait",
                foxwedge_tools::ToolEffect::Writes,
                world,
                move |_| {
                    let world = inner.clone();
                    Box::pin(async move {
                        world.company(2).await;
                        foxwedge_tools::ToolCallResult::done("awake again")
                    })
                },
            );
            crate::test_tools::toolbox([Arc::new(tool) as Arc<dyn foxwedge_tools::Tool>])
        };
        let make = Setup { script, leases: Leases::Short, ..Setup::default() };
        let mut harness = make.build(waiting).await;
        let (address, world) = (harness.address().to_owned(), harness.world.clone());
        let second = async {
            world.company(1).await;
            tokio::time::sleep(Duration::from_millis(2 * SHORT)).await;
            let quiet = World::quiet();
            let store = test_store::open(&address).await;
            let observed_store = Arc::new(ObservedStore::new(store, quiet.clone(), Leases::Real));
            let model = ScriptedModel::new(foxwedge_core::Format::Anthropic, &quiet, Vec::new());
            let setup = LoopSetup::new(SESSION);
            let mut second =
                ToolLoop::open(observed_store, setup, model, Toolbox::new(), Arc::new(ApproveAll))
                    .await
                    .expect("a loop");
            second.prompt("I go on", &mut SilentObserver).await.expect("a run");
            // Now the first loop wakes up.
            world.enter_unseen();
            quiet.breaches()
        };
        let mut silent = SilentObserver;
        let (result, breaches) = tokio::join!(harness.tool_loop.prompt("go", &mut silent), second);
        assert_eq!(breaches, Vec::<String>::new());
        match result {
            Ok(finished) => assert_eq!(finished.ended.outcome, Some(Outcome::Interrupted)),
            Err(error) => {
                assert!(matches!(error, LoopError::Busy { .. } | LoopError::Store(_)), "{error:?}")
            }
        }
        let rows = runs(&harness.store).await;
        let outcomes: Vec<_> = rows.iter().map(|(row, _)| row.state.outcome()).collect();
        assert_eq!(outcomes, [Some(Outcome::Interrupted), Some(Outcome::Completed)]);
        let harness = harness.reopen(Setup::default(), plain).await;
        let shape = harness.shape();
        assert!(shape.starts_with("u:go | x=[foxwedge] Interrupted"), "{shape}");
        assert!(shape.ends_with("| u:I go on | a:That is all."), "{shape}");
        harness.check();
    });
}

#[test]
fn two_loops_that_take_turns_see_each_others_messages() {
    runtime().block_on(async {
        let mut harness = Setup { leases: Leases::Real, ..Setup::default() }.build(plain).await;
        let world = World::quiet();
        let store = test_store::open(harness.address()).await;
        let observed_store = Arc::new(ObservedStore::new(store, world.clone(), Leases::Real));
        let model = ScriptedModel::new(foxwedge_core::Format::OpenaiChat, &world, Vec::new());
        let setup = LoopSetup::new(SESSION);
        let mut second = ToolLoop::open(
            observed_store,
            setup,
            model.clone(),
            Toolbox::new(),
            Arc::new(ApproveAll),
        )
        .await
        .expect("a loop");
        assert_eq!(harness.outcome("one").await, Some(Outcome::Completed));
        second.prompt("two", &mut SilentObserver).await.expect("a run");
        assert_eq!(harness.outcome("three").await, Some(Outcome::Completed));
        let all = "a:That is all.";
        assert_eq!(harness.shape(), format!("u:one | {all} | u:two | {all} | u:three | {all}"));
        assert_eq!(world.breaches(), Vec::<String>::new());
        harness.check();
    });
}

#[test]
fn a_loop_continues_when_its_store_is_available_again() {
    LocalSet::new().block_on(&runtime().0, async {
        let mut at_work = JoinSet::new();
        for at in (1..60).step_by(stride(3)) {
            at_work.spawn_local(away_at(at));
        }
        let result: Vec<String> = at_work.join_all().await.into_iter().flatten().collect();
        assert!(result.is_empty(), "{}", result.join("\n"));
    });
}

/// The store is unavailable from a call on, then back. Returns what is wrong.
async fn away_at(at: usize) -> Option<String> {
    let script = vec![reply([text("so far"), call("x", "do", "{}")]), reply([text("more")])];
    let make = Setup { script, name: OwnerName::Own, ..Setup::default() };
    let mut harness = make.build(plain).await;
    let opened = harness.world.count(Class::Store);
    harness.world.plan(vec![(Class::Store, opened + at, Injection::StoreDown)]);
    let broken = harness.prompt("go").await;
    harness.world.restore();
    harness.model.set_script(Vec::new());
    match harness.prompt("on").await {
        Ok(finished) if finished.ended.outcome == Some(Outcome::Completed) => {
            harness.check();
            None
        }
        other => Some(format!("{at}, {:?}: {other:?}", broken.map(|it| it.ended))),
    }
}
