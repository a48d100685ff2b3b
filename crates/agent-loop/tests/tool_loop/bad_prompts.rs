//! People who say what nobody should, and two who speak at once.

use std::{sync::Arc, time::Duration};

use foxwedge_agent_loop::tool_loop::{ApproveAll, LoopError, LoopSetup, SilentObserver, ToolLoop};
use foxwedge_run::Outcome;
use foxwedge_tools::Toolbox;
use tokio::task::{JoinSet, LocalSet};

use crate::{
    ground,
    play::{Name, SESSION, runs},
    player::Player,
    points::{runtime, stride},
    rig::{Make, plain},
    script::{Say, WIRES, call, reply, text},
    watched::{Leases, SHORT, Watched},
    world::{Act, Class, Seen, World},
};

#[test]
fn prompts_with_anything_in_them_are_told_as_they_are() {
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
        for wire in WIRES {
            for prompt in table {
                // One format is enough for what is only large.
                if prompt.len() > 1_000 && wire != WIRES[0] {
                    continue;
                }
                let mut rig = Make { wire, ..Make::default() }.rig(plain).await;
                let short: String = prompt.chars().take(12).collect();
                match rig.say(prompt).await {
                    Ok(finished) => {
                        assert_eq!(finished.ended.outcome, Some(Outcome::Completed), "{short:?}");
                        let body = rig.model.requests().pop().expect("a request").to_string();
                        let spelled = serde_json::Value::from(prompt).to_string();
                        let inner = spelled.trim_matches('"');
                        assert!(body.contains(inner), "{wire:?}: {short:?}");
                    }
                    Err(error) => {
                        let fine = matches!(error, LoopError::TooLarge { .. });
                        assert!(fine && prompt.len() > 1 << 20, "{short:?}: {error:?}");
                    }
                }
                rig.check();
            }
        }
    });
}

#[test]
fn prompts_beyond_all_measure_are_refused_and_leave_nothing() {
    runtime().block_on(async {
        let mut rig = Make::default().rig(plain).await;
        let told = rig.say(&"x".repeat(40 << 20)).await;
        assert!(matches!(told, Err(LoopError::TooLarge { .. })), "{:?}", told.map(|it| it.ended));
        assert_eq!(runs(&rig.store).await.len(), 0, "no run was begun");
        assert_eq!(rig.outcome("something smaller").await, Some(Outcome::Completed));
        assert_eq!(rig.shape(), "u:something smaller | a:That is all.");
        rig.check();
    });
}

#[test]
fn a_second_loop_at_the_same_session_is_refused_while_the_first_works() {
    runtime().block_on(async {
        let script = vec![reply([text("thinking"), Say::Hang])];
        let make = Make { script, leases: Leases::Real, ..Make::default() };
        let mut rig = make.rig(plain).await;
        let (address, world) = (rig.address().to_owned(), rig.world.clone());
        let second = async {
            while !world.log().contains(&Seen::Asked) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let world = World::quiet();
            let store = ground::open(&address).await;
            let watched = Arc::new(Watched::new(store, world.clone(), Leases::Real));
            let model = Player::new(foxwedge_core::Format::Anthropic, &world, Vec::new());
            let open = ToolLoop::open(
                watched,
                LoopSetup::new(SESSION),
                model,
                Toolbox::new(),
                Arc::new(ApproveAll),
            );
            // Either nobody may come in, or nobody may speak.
            match open.await {
                Err(error) => error,
                Ok(mut second) => second
                    .prompt("me too", &mut SilentObserver)
                    .await
                    .expect_err("somebody is at work"),
            }
        };
        let (outcome, told) = tokio::join!(rig.outcome("go"), async {
            let told = second.await;
            world.press();
            told
        });
        assert!(matches!(told, LoopError::Busy { .. }), "{told:?}");
        assert_eq!(outcome, Some(Outcome::Stopped));
        assert_eq!(rig.outcome("on").await, Some(Outcome::Completed));
        assert_eq!(rig.shape(), "u:go | a:thinking | u:on | a:That is all.");
        rig.check();
    });
}

#[test]
fn a_loop_whose_run_was_taken_away_writes_nothing_more() {
    runtime().block_on(async {
        // Its lease ran out, as if the machine had slept; another one comes, and goes on.
        let script =
            vec![reply([call("x", "wait", "{}")]), reply([text("this must never be told")])];
        let waiting = |world: &World| {
            let inner = world.clone();
            let tool =
                crate::rig::custom("wait", foxwedge_tools::ToolEffect::Writes, world, move |_| {
                    let world = inner.clone();
                    Box::pin(async move {
                        world.company(2).await;
                        foxwedge_tools::ToolCallResult::done("awake again")
                    })
                });
            crate::workers::toolbox([Arc::new(tool) as Arc<dyn foxwedge_tools::Tool>])
        };
        let make = Make { script, leases: Leases::Short, ..Make::default() };
        let mut rig = make.rig(waiting).await;
        let (address, world) = (rig.address().to_owned(), rig.world.clone());
        let second = async {
            world.company(1).await;
            tokio::time::sleep(Duration::from_millis(2 * SHORT)).await;
            let quiet = World::quiet();
            let store = ground::open(&address).await;
            let watched = Arc::new(Watched::new(store, quiet.clone(), Leases::Real));
            let model = Player::new(foxwedge_core::Format::Anthropic, &quiet, Vec::new());
            let setup = LoopSetup::new(SESSION);
            let mut second =
                ToolLoop::open(watched, setup, model, Toolbox::new(), Arc::new(ApproveAll))
                    .await
                    .expect("a loop");
            second.prompt("I go on", &mut SilentObserver).await.expect("a run");
            // Now the first one wakes up.
            world.enter_unseen();
            quiet.breaches()
        };
        let mut silent = SilentObserver;
        let (told, breaches) = tokio::join!(rig.tool_loop.prompt("go", &mut silent), second);
        assert_eq!(breaches, Vec::<String>::new());
        match told {
            Ok(finished) => assert_eq!(finished.ended.outcome, Some(Outcome::Interrupted)),
            Err(error) => {
                assert!(matches!(error, LoopError::Busy { .. } | LoopError::Store(_)), "{error:?}")
            }
        }
        let rows = runs(&rig.store).await;
        let outcomes: Vec<_> = rows.iter().map(|(row, _)| row.state.outcome()).collect();
        assert_eq!(outcomes, [Some(Outcome::Interrupted), Some(Outcome::Completed)]);
        let rig = rig.again(Make::default(), plain).await;
        let shape = rig.shape();
        assert!(shape.starts_with("u:go | x=[foxwedge] Interrupted"), "{shape}");
        assert!(shape.ends_with("| u:I go on | a:That is all."), "{shape}");
        rig.check();
    });
}

#[test]
fn two_loops_that_take_turns_see_what_the_other_said() {
    runtime().block_on(async {
        let mut rig = Make { leases: Leases::Real, ..Make::default() }.rig(plain).await;
        let world = World::quiet();
        let store = ground::open(rig.address()).await;
        let watched = Arc::new(Watched::new(store, world.clone(), Leases::Real));
        let model = Player::new(foxwedge_core::Format::OpenaiChat, &world, Vec::new());
        let setup = LoopSetup::new(SESSION);
        let mut second =
            ToolLoop::open(watched, setup, model.clone(), Toolbox::new(), Arc::new(ApproveAll))
                .await
                .expect("a loop");
        assert_eq!(rig.outcome("one").await, Some(Outcome::Completed));
        second.prompt("two", &mut SilentObserver).await.expect("a run");
        assert_eq!(rig.outcome("three").await, Some(Outcome::Completed));
        let all = "a:That is all.";
        assert_eq!(rig.shape(), format!("u:one | {all} | u:two | {all} | u:three | {all}"));
        assert_eq!(world.breaches(), Vec::<String>::new());
        rig.check();
    });
}

#[test]
fn a_loop_whose_store_was_away_goes_on_when_it_is_back() {
    LocalSet::new().block_on(&runtime(), async {
        let mut at_work = JoinSet::new();
        for at in (1..60).step_by(stride(3)) {
            at_work.spawn_local(away_at(at));
        }
        let told: Vec<String> = at_work.join_all().await.into_iter().flatten().collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
    });
}

/// The store is away from a call on, then back; what is wrong.
async fn away_at(at: usize) -> Option<String> {
    let script = vec![reply([text("so far"), call("x", "do", "{}")]), reply([text("more")])];
    let make = Make { script, name: Name::Own, ..Make::default() };
    let mut rig = make.rig(plain).await;
    let opened = rig.world.count(Class::Store);
    rig.world.plan(vec![(Class::Store, opened + at, Act::Out)]);
    let broken = rig.say("go").await;
    rig.world.heal();
    rig.model.rehearse(Vec::new());
    match rig.say("on").await {
        Ok(finished) if finished.ended.outcome == Some(Outcome::Completed) => {
            rig.check();
            None
        }
        other => Some(format!("{at}, {:?}: {other:?}", broken.map(|it| it.ended))),
    }
}
