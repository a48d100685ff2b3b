//! Models that say what no model should.

use std::{sync::Arc, time::Duration};

use foxwedge_agent_loop::tool_loop::{LoopError, SilentObserver};
use foxwedge_run::Outcome;
use foxwedge_tools::{Tool, ToolCallResult, ToolEffect, Toolbox};
use foxwedge_upstream::model::ReplyStopReason;

use crate::{
    points::runtime,
    rig::{Make, Rig, custom, ends, plain},
    script::{Reply, Say, WIRES, call, reply, text, thought},
    workers::toolbox,
    world::{Seen, World},
};

/// Large ones are played in one format only.
const LARGE: usize = 100_000;

/// Plays replies in every format; everything has to hold, and to be told the same once more.
async fn in_every_format(script: &[Reply], mut check: impl FnMut(&Rig, Option<Outcome>)) {
    let is_large = script
        .iter()
        .flat_map(|reply| &reply.says)
        .any(|say| matches!(say, Say::Call(called) if called.arguments.len() > LARGE));
    for wire in WIRES.into_iter().skip(if is_large { 3 } else { 0 }) {
        let make = Make { wire, script: script.to_vec(), ..Make::default() };
        let mut rig = make.rig(plain).await;
        let outcome = rig.outcome("go").await;
        rig.check();
        assert_eq!(ends(&rig.events().await), 1);
        check(&rig, outcome);
        rig.model.rehearse(Vec::new());
        assert_eq!(rig.outcome("on").await, Some(Outcome::Completed), "{wire:?}");
        rig.check();
        let shape = rig.shape();
        let rig = rig.again(Make { wire, ..Make::default() }, plain).await;
        assert_eq!(rig.shape(), shape, "{wire:?}");
    }
}

fn entered(rig: &Rig) -> usize {
    rig.world.log().iter().filter(|seen| matches!(seen, Seen::Entered(_))).count()
}

#[test]
fn arguments_that_are_no_object_never_reach_a_tool() {
    let huge = format!("{{\"a\":\"{}", "x".repeat(1 << 20));
    let table = [
        "not json",
        "[1,2]",
        "\"text\"",
        "17",
        "true",
        "{\"a\":",
        "{\"a\":1}}",
        "{a:1}",
        "\u{0}",
        "{\"a\":\"\\ud83d\"",
        "{'a':1}",
        &huge,
    ];
    runtime().block_on(async {
        for arguments in table {
            let script = [reply([call("x", "do", arguments)])];
            let short: String = arguments.chars().take(20).collect();
            in_every_format(&script, |rig, outcome| {
                assert_eq!(outcome, Some(Outcome::Completed), "{short}");
                let said = rig.said();
                let call = said.calls().next().expect("the call");
                let answer = call.answer.as_ref().expect("an answer");
                // A format that holds an object was given an empty one by whoever wrote it down.
                if entered(rig) == 0 {
                    assert!(answer.text.contains("did not run"), "{short}: {answer:?}");
                }
                assert!(answer.text.len() < 2_000, "{short}: {} bytes", answer.text.len());
            })
            .await;
        }
    });
}

#[test]
fn arguments_that_are_left_out_or_said_twice_are_taken() {
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
    runtime().block_on(async {
        for arguments in ["", "  ", "null", "{}", r#"{"a":1,"a":2}"#, &large] {
            in_every_format(&[reply([call("x", "do", arguments)])], |rig, outcome| {
                assert_eq!(outcome, Some(Outcome::Completed));
                assert_eq!(entered(rig), 1);
            })
            .await;
        }
    });
}

#[test]
fn unknown_tools_and_odd_names_are_answered() {
    runtime().block_on(async {
        let long = "n".repeat(3_000);
        for name in ["nobody", "", " ", "do it", "do\u{0}", "функция", long.as_str(), "DO"] {
            in_every_format(&[reply([call("x", name, "{}")])], |rig, outcome| {
                assert_eq!(outcome, Some(Outcome::Completed), "{name:?}");
                assert_eq!(entered(rig), 0, "{name:?}");
                let said = rig.said();
                let answer = said.calls().next().and_then(|call| call.answer.clone());
                // A format without a mark for errors has only the words.
                let told = answer.is_some_and(|it| it.text.contains("did not run"));
                assert!(told, "{name:?}: {said:?}");
            })
            .await;
        }
    });
}

#[test]
fn a_hundred_calls_at_once_are_all_answered_in_their_order() {
    runtime().block_on(async {
        let calls = (0..100).map(|n| {
            let name = if n % 7 == 0 { "do" } else { "see" };
            call(&format!("x{n:03}"), name, format!("{{\"n\":{n}}}"))
        });
        in_every_format(&[reply(calls)], |rig, outcome| {
            assert_eq!(outcome, Some(Outcome::Completed));
            assert_eq!(entered(rig), 100);
            let said = rig.said();
            let answers: Vec<String> =
                said.calls().filter_map(|call| Some(call.answer.as_ref()?.text.clone())).collect();
            let expected: Vec<String> = (0..100).map(|n| format!("answer to x{n:03}")).collect();
            assert_eq!(answers, expected);
        })
        .await;
    });
}

#[test]
fn one_id_for_two_calls_of_a_turn() {
    runtime().block_on(async {
        let script =
            [reply([call("i", "see", "{}"), call("i", "do", "{}"), call("j", "see", "{}")])];
        in_every_format(&script, |rig, outcome| {
            assert_eq!(outcome, Some(Outcome::Completed));
            let said = rig.said();
            assert!(said.calls().all(|call| call.answer.is_some()), "{said:?}");
        })
        .await;
    });
}

#[test]
fn calls_without_an_id_are_answered() {
    runtime().block_on(async {
        let script =
            [reply([call("", "see", r#"{"n":1}"#), call("", "see", r#"{"n":2}"#), text("so")])];
        in_every_format(&script, |rig, outcome| {
            assert_eq!(outcome, Some(Outcome::Completed));
            let said = rig.said();
            assert!(said.calls().all(|call| call.answer.is_some()), "{said:?}");
        })
        .await;
    });
}

#[test]
fn odd_ids_are_answered() {
    runtime().block_on(async {
        let long = "i".repeat(5_000);
        for id in ["a b", "ä", "\u{0}", "call:1/2", long.as_str()] {
            in_every_format(&[reply([call(id, "see", "{}")])], |rig, outcome| {
                assert_eq!(outcome, Some(Outcome::Completed), "{id:?}");
                let said = rig.said();
                let answer = said.calls().next().and_then(|call| call.answer.clone());
                assert!(answer.is_some_and(|it| it.text.starts_with("answer to")), "{said:?}");
            })
            .await;
        }
    });
}

#[test]
fn replies_that_say_nothing_end_and_text_behind_calls_is_kept() {
    runtime().block_on(async {
        for says in [vec![], vec![text("")], vec![text("  \n")], vec![thought("only thoughts")]] {
            in_every_format(&[reply(says.clone())], |_, outcome| {
                assert!(
                    matches!(outcome, Some(Outcome::NoText | Outcome::Completed)),
                    "{says:?}: {outcome:?}"
                );
            })
            .await;
        }
        let script = [reply([call("x", "do", "{}"), text("said behind it")])];
        in_every_format(&script, |rig, _| {
            assert!(rig.shape().contains("said behind it"), "{}", rig.shape());
            assert!(rig.shape().contains("x=answer to x"), "{}", rig.shape());
        })
        .await;
    });
}

#[test]
fn a_model_that_wants_to_be_asked_again_and_again_ends_by_the_limit() {
    runtime().block_on(async {
        let again = Reply { says: vec![text("wait")], stop: ReplyStopReason::Pause };
        let mut make = Make { script: vec![again; 50], ..Make::default() };
        make.limits.max_turns = 5;
        let mut rig = make.rig(plain).await;
        assert_eq!(rig.outcome("go").await, Some(Outcome::MaxTurns));
        assert_eq!(rig.model.requests().len(), 5);
        rig.check();
    });
}

#[test]
fn the_same_call_for_ever_ends_by_a_limit_and_says_so() {
    runtime().block_on(async {
        let same = reply([call("x", "do", r#"{"n":1}"#)]);
        let mut make = Make { script: vec![same; 50], ..Make::default() };
        make.limits.max_repeats = 4;
        let mut rig = make
            .rig(|world| {
                let tool = custom("do", ToolEffect::Writes, world, |_| {
                    Box::pin(async { ToolCallResult::done("the same") })
                });
                toolbox([Arc::new(tool) as Arc<dyn Tool>])
            })
            .await;
        let finished = rig.say("go").await.expect("a run");
        assert_eq!(finished.ended.outcome, Some(Outcome::Failed));
        let problem = finished.ended.problem.expect("why");
        assert_eq!(problem.code.as_deref(), Some("repeated_calls"));
        assert_eq!(entered(&rig), 4);
        rig.check();
        // Different answers are no circle: the limit of turns ends it.
        let other: Vec<Reply> =
            (0..30).map(|n| reply([call("x", "do", format!("{{\"n\":{n}}}"))])).collect();
        let mut make = Make { script: other, ..Make::default() };
        (make.limits.max_repeats, make.limits.max_turns) = (4, 9);
        let mut rig = make.rig(plain).await;
        assert_eq!(rig.outcome("go").await, Some(Outcome::MaxTurns));
        rig.check();
    });
}

#[test]
fn a_reply_of_fifty_megabytes_ends_with_a_clear_word() {
    runtime().block_on(async {
        let piece = "all work and no play ".repeat(50_000);
        let says: Vec<Say> = (0..50).map(|_| text(piece.clone())).collect();
        let mut rig = Make { script: vec![reply(says)], ..Make::default() }.rig(plain).await;
        match rig.say("go").await {
            Ok(finished) => {
                assert!(finished.ended.outcome.is_some(), "{:?}", finished.ended.problem);
                assert_eq!(ends(&rig.events().await), 1);
            }
            Err(error) => assert!(matches!(error, LoopError::TooLarge { .. }), "{error}"),
        }
        assert_eq!(rig.world.breaches(), Vec::<String>::new());
        // Whatever became of it, the conversation goes on.
        let mut rig = rig.again(Make::default(), plain).await;
        rig.tool_loop.prompt("on", &mut SilentObserver).await.expect("a run");
        rig.check();
    });
}

#[test]
fn a_stream_that_hangs_can_be_stopped_by_a_wish_and_by_force() {
    runtime().block_on(async {
        for (times, says) in [(1, vec![]), (2, vec![text("so ")]), (1, vec![call("x", "do", "{}")])]
        {
            let mut says: Vec<Say> = says;
            says.push(Say::Hang);
            let mut rig = Make { script: vec![reply(says)], ..Make::default() }.rig(plain).await;
            let world = rig.world.clone();
            let (outcome, ()) = tokio::join!(rig.outcome("go"), async {
                while !world.log().contains(&Seen::Asked) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
                (0..times).for_each(|_| world.press());
            });
            assert_eq!(outcome, Some(Outcome::Stopped));
            assert_eq!(entered(&rig), 0);
            assert_eq!(rig.outcome("on").await, Some(Outcome::Completed));
            rig.check();
        }
    });
}

/// Nobody is asked at all if there is nobody to ask: an empty set of tools is fine.
#[test]
fn a_model_that_calls_where_there_are_no_tools() {
    runtime().block_on(async {
        for wire in WIRES {
            let script = vec![reply([call("x", "do", "{}")])];
            let none = |_: &World| Toolbox::new();
            let mut rig = Make { wire, script, ..Make::default() }.rig(none).await;
            assert_eq!(rig.outcome("go").await, Some(Outcome::Completed));
            assert!(rig.shape().contains("there is no tool `do`"), "{}", rig.shape());
            rig.check();
        }
    });
}
