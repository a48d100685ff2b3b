//! Models that misbehave.

use std::{sync::Arc, time::Duration};

use foxwedge_agent_loop::tool_loop::{LoopError, SilentObserver};
use foxwedge_run::Outcome;
use foxwedge_tools::{Tool, ToolCallResult, ToolEffect, Toolbox};
use foxwedge_upstream::model::ReplyStopReason;

use crate::{
    harness::{Harness, Setup, custom, ends, plain},
    points::runtime,
    script::{FORMATS, Reply, Step, call, reply, text, thought},
    test_tools::toolbox,
    world::{LogEntry, World},
};

/// Larger replies are tested in one format only.
const LARGE: usize = 100_000;

/// Runs replies in every format, checks the result, and checks it again after a reopen.
async fn in_every_format(script: &[Reply], mut check: impl FnMut(&Harness, Option<Outcome>)) {
    let is_large = script
        .iter()
        .flat_map(|reply| &reply.steps)
        .any(|step| matches!(step, Step::Call(called) if called.arguments.len() > LARGE));
    for wire in FORMATS.into_iter().skip(if is_large { 3 } else { 0 }) {
        let make = Setup { wire, script: script.to_vec(), ..Setup::default() };
        let mut harness = make.build(plain).await;
        let outcome = harness.outcome("go").await;
        harness.check();
        assert_eq!(ends(&harness.events().await), 1);
        check(&harness, outcome);
        harness.model.set_script(Vec::new());
        assert_eq!(harness.outcome("on").await, Some(Outcome::Completed), "{wire:?}");
        harness.check();
        let shape = harness.shape();
        let harness = harness.reopen(Setup { wire, ..Setup::default() }, plain).await;
        assert_eq!(harness.shape(), shape, "{wire:?}");
    }
}

fn entered(harness: &Harness) -> usize {
    harness.world.log().iter().filter(|entry| matches!(entry, LogEntry::Entered(_))).count()
}

#[test]
fn arguments_that_are_not_an_object_never_reach_a_tool() {
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
            in_every_format(&script, |harness, outcome| {
                assert_eq!(outcome, Some(Outcome::Completed), "{short}");
                let history = harness.history();
                let call = history.calls().next().expect("the call");
                let answer = call.answer.as_ref().expect("an answer");
                // In a format with object arguments, the message holds an empty object.
                if entered(harness) == 0 {
                    assert!(answer.text.contains("did not run"), "{short}: {answer:?}");
                }
                assert!(answer.text.len() < 2_000, "{short}: {} bytes", answer.text.len());
            })
            .await;
        }
    });
}

#[test]
fn missing_arguments_and_duplicate_keys_are_accepted() {
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
    runtime().block_on(async {
        for arguments in ["", "  ", "null", "{}", r#"{"a":1,"a":2}"#, &large] {
            in_every_format(&[reply([call("x", "do", arguments)])], |harness, outcome| {
                assert_eq!(outcome, Some(Outcome::Completed));
                assert_eq!(entered(harness), 1);
            })
            .await;
        }
    });
}

#[test]
fn unknown_tools_and_odd_names_get_a_result() {
    runtime().block_on(async {
        let long = "n".repeat(3_000);
        for name in ["nobody", "", " ", "do it", "do\u{0}", "функция", long.as_str(), "DO"] {
            in_every_format(&[reply([call("x", name, "{}")])], |harness, outcome| {
                assert_eq!(outcome, Some(Outcome::Completed), "{name:?}");
                assert_eq!(entered(harness), 0, "{name:?}");
                let history = harness.history();
                let answer = history.calls().next().and_then(|call| call.answer.clone());
                // A format without an error flag has only the text.
                let is_reported = answer.is_some_and(|it| it.text.contains("did not run"));
                assert!(is_reported, "{name:?}: {history:?}");
            })
            .await;
        }
    });
}

#[test]
fn a_hundred_parallel_calls_get_results_in_order() {
    runtime().block_on(async {
        let calls = (0..100).map(|n| {
            let name = if n % 7 == 0 { "do" } else { "see" };
            call(&format!("x{n:03}"), name, format!("{{\"n\":{n}}}"))
        });
        in_every_format(&[reply(calls)], |harness, outcome| {
            assert_eq!(outcome, Some(Outcome::Completed));
            assert_eq!(entered(harness), 100);
            let history = harness.history();
            let answers: Vec<String> = history
                .calls()
                .filter_map(|call| Some(call.answer.as_ref()?.text.clone()))
                .collect();
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
        in_every_format(&script, |harness, outcome| {
            assert_eq!(outcome, Some(Outcome::Completed));
            let history = harness.history();
            assert!(history.calls().all(|call| call.answer.is_some()), "{history:?}");
        })
        .await;
    });
}

#[test]
fn calls_without_an_id_get_a_result() {
    runtime().block_on(async {
        let script =
            [reply([call("", "see", r#"{"n":1}"#), call("", "see", r#"{"n":2}"#), text("so")])];
        in_every_format(&script, |harness, outcome| {
            assert_eq!(outcome, Some(Outcome::Completed));
            let history = harness.history();
            assert!(history.calls().all(|call| call.answer.is_some()), "{history:?}");
        })
        .await;
    });
}

#[test]
fn calls_with_odd_ids_get_a_result() {
    runtime().block_on(async {
        let long = "i".repeat(5_000);
        for id in ["a b", "ä", "\u{0}", "call:1/2", long.as_str()] {
            in_every_format(&[reply([call(id, "see", "{}")])], |harness, outcome| {
                assert_eq!(outcome, Some(Outcome::Completed), "{id:?}");
                let history = harness.history();
                let answer = history.calls().next().and_then(|call| call.answer.clone());
                assert!(answer.is_some_and(|it| it.text.starts_with("answer to")), "{history:?}");
            })
            .await;
        }
    });
}

#[test]
fn empty_replies_end_the_run_and_text_after_calls_is_kept() {
    runtime().block_on(async {
        for steps in [vec![], vec![text("")], vec![text("  \n")], vec![thought("only thoughts")]] {
            in_every_format(&[reply(steps.clone())], |_, outcome| {
                assert!(
                    matches!(outcome, Some(Outcome::NoText | Outcome::Completed)),
                    "{steps:?}: {outcome:?}"
                );
            })
            .await;
        }
        let script = [reply([call("x", "do", "{}"), text("said behind it")])];
        in_every_format(&script, |harness, _| {
            assert!(harness.shape().contains("said behind it"), "{}", harness.shape());
            assert!(harness.shape().contains("x=answer to x"), "{}", harness.shape());
        })
        .await;
    });
}

#[test]
fn endless_pauses_end_at_the_turn_limit() {
    runtime().block_on(async {
        let again = Reply { steps: vec![text("wait")], stop: ReplyStopReason::Pause };
        let mut make = Setup { script: vec![again; 50], ..Setup::default() };
        make.limits.max_turns = 5;
        let mut harness = make.build(plain).await;
        assert_eq!(harness.outcome("go").await, Some(Outcome::MaxTurns));
        assert_eq!(harness.model.requests().len(), 5);
        harness.check();
    });
}

#[test]
fn an_endlessly_repeated_call_ends_at_a_limit_with_a_reason() {
    runtime().block_on(async {
        let same = reply([call("x", "do", r#"{"n":1}"#)]);
        let mut make = Setup { script: vec![same; 50], ..Setup::default() };
        make.limits.max_repeats = 4;
        let mut harness = make
            .build(|world| {
                let tool = custom("do", ToolEffect::Writes, world, |_| {
                    Box::pin(async { ToolCallResult::done("the same") })
                });
                toolbox([Arc::new(tool) as Arc<dyn Tool>])
            })
            .await;
        let finished = harness.prompt("go").await.expect("a run");
        assert_eq!(finished.ended.outcome, Some(Outcome::Failed));
        let problem = finished.ended.problem.expect("why");
        assert_eq!(problem.code.as_deref(), Some("repeated_calls"));
        assert_eq!(entered(&harness), 4);
        harness.check();
        // Different results are not a loop: the turn limit ends the run.
        let other: Vec<Reply> =
            (0..30).map(|n| reply([call("x", "do", format!("{{\"n\":{n}}}"))])).collect();
        let mut make = Setup { script: other, ..Setup::default() };
        (make.limits.max_repeats, make.limits.max_turns) = (4, 9);
        let mut harness = make.build(plain).await;
        assert_eq!(harness.outcome("go").await, Some(Outcome::MaxTurns));
        harness.check();
    });
}

#[test]
fn a_reply_of_fifty_megabytes_ends_with_a_clear_error() {
    runtime().block_on(async {
        let piece = "all work and no play ".repeat(50_000);
        let steps: Vec<Step> = (0..50).map(|_| text(piece.clone())).collect();
        let mut harness =
            Setup { script: vec![reply(steps)], ..Setup::default() }.build(plain).await;
        match harness.prompt("go").await {
            Ok(finished) => {
                assert!(finished.ended.outcome.is_some(), "{:?}", finished.ended.problem);
                assert_eq!(ends(&harness.events().await), 1);
            }
            Err(error) => assert!(matches!(error, LoopError::TooLarge { .. }), "{error}"),
        }
        assert_eq!(harness.world.breaches(), Vec::<String>::new());
        // In both cases the conversation continues.
        let mut harness = harness.reopen(Setup::default(), plain).await;
        harness.tool_loop.prompt("on", &mut SilentObserver).await.expect("a run");
        harness.check();
    });
}

#[test]
fn a_hanging_stream_can_be_stopped_gracefully_and_by_force() {
    runtime().block_on(async {
        for (times, steps) in
            [(1, vec![]), (2, vec![text("so ")]), (1, vec![call("x", "do", "{}")])]
        {
            let mut steps: Vec<Step> = steps;
            steps.push(Step::Hang);
            let mut harness =
                Setup { script: vec![reply(steps)], ..Setup::default() }.build(plain).await;
            let world = harness.world.clone();
            let (outcome, ()) = tokio::join!(harness.outcome("go"), async {
                while !world.log().contains(&LogEntry::RequestSent) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
                (0..times).for_each(|_| world.interrupt());
            });
            assert_eq!(outcome, Some(Outcome::Stopped));
            assert_eq!(entered(&harness), 0);
            assert_eq!(harness.outcome("on").await, Some(Outcome::Completed));
            harness.check();
        }
    });
}

/// An empty toolbox is allowed.
#[test]
fn a_call_without_any_tools_gets_a_result() {
    runtime().block_on(async {
        for wire in FORMATS {
            let script = vec![reply([call("x", "do", "{}")])];
            let none = |_: &World| Toolbox::new();
            let mut harness = Setup { wire, script, ..Setup::default() }.build(none).await;
            assert_eq!(harness.outcome("go").await, Some(Outcome::Completed));
            assert!(harness.shape().contains("there is no tool `do`"), "{}", harness.shape());
            harness.check();
        }
    });
}
