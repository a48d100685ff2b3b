//! Defects of other loops that this one must not have.

use std::{sync::Arc, time::Duration};

use foxwedge_run::Outcome;
use foxwedge_scripted::ScriptedProvider;
use foxwedge_tools::{Tool, ToolCallResult, ToolEffect, Toolbox};
use foxwedge_upstream::model::ReplyStopReason;

use crate::{
    harness::{Setup, custom, plain},
    points::runtime,
    script::{Reply, Step, call, failure, reply, text, thought},
    test_tools::toolbox,
    world::{LogEntry, World},
};

/// Three tools that read and write, and one that interrupts while it runs.
fn interrupting(world: &World) -> Toolbox {
    let inner = world.clone();
    let stop = custom("stop", ToolEffect::Writes, world, move |_| {
        let world = inner.clone();
        Box::pin(async move {
            world.interrupt();
            ToolCallResult::done("it did its work")
        })
    });
    let quick = |name: &str, effect| {
        custom(name, effect, world, |work| {
            let call = work.call_id.to_owned();
            Box::pin(async move { ToolCallResult::done(format!("answer to {call}")) })
        })
    };
    toolbox([
        Arc::new(stop) as Arc<dyn Tool>,
        Arc::new(quick("do", ToolEffect::Writes)),
        Arc::new(quick("see", ToolEffect::Reads)),
    ])
}

#[test]
fn an_interrupted_prompt_is_not_replaced_by_the_next() {
    runtime().block_on(async {
        for wire in crate::script::FORMATS {
            let script = vec![reply([call("x", "stop", "{}")])];
            let mut harness = Setup { wire, script, ..Setup::default() }.build(interrupting).await;
            assert_eq!(harness.outcome("the old question").await, Some(Outcome::Stopped));
            assert_eq!(harness.outcome("the new question").await, Some(Outcome::Completed));
            let request = harness.model.requests().pop().expect("a request").to_string();
            let places = ["the old question", "it did its work", "the new question"]
                .map(|words| request.find(words).expect("its words"));
            assert!(places.is_sorted(), "{wire:?}: {request}");
            let shape = harness.shape();
            let expected = "u:the old question | x=it did its work | u:the new question | a:";
            assert!(shape.starts_with(expected), "{wire:?}: {shape}");
            harness.check();
        }
    });
}

#[test]
fn an_error_or_a_limit_leaves_no_open_call_for_later_requests_to_repair() {
    runtime().block_on(async {
        let script = vec![reply([text("so"), call("x", "do", "{}"), Step::Break(failure())])];
        let mut harness = Setup { script, ..Setup::default() }.build(plain).await;
        assert_eq!(harness.outcome("go").await, Some(Outcome::Failed));
        let records = crate::scenario::records(&harness.store).await;
        let mut notes = 0;
        for prompt in ["one", "two"] {
            let mut listener = |event| {
                if let foxwedge_agent_loop::tool_loop::LoopEvent::Notice(_) = event {
                    notes += 1;
                }
            };
            harness.tool_loop.prompt(prompt, &mut listener).await.expect("a run");
        }
        assert_eq!(notes, 0, "nothing had to be mended");
        // Two prompts and two replies.
        assert_eq!(crate::scenario::records(&harness.store).await, records + 4);
        harness.check();
    });
}

#[test]
fn a_call_never_gets_a_second_result() {
    runtime().block_on(async {
        let script = vec![reply([call("same", "do", "{}"), call("same", "do", "{}")])];
        for wire in crate::script::FORMATS {
            let mut harness =
                Setup { wire, script: script.clone(), ..Setup::default() }.build(plain).await;
            assert_eq!(harness.outcome("go").await, Some(Outcome::Completed), "{wire:?}");
            let history = harness.history();
            assert_eq!(history.orphans.len(), 0, "{wire:?}: {history:?}");
            assert!(history.calls().all(|call| call.answer.is_some()), "{wire:?}: {history:?}");
            harness.check();
        }
    });
}

#[test]
fn an_interrupt_is_noticed_between_two_tools_of_one_turn() {
    runtime().block_on(async {
        for wire in crate::script::FORMATS {
            let script = vec![reply([
                call("a", "stop", "{}"),
                call("b", "do", "{}"),
                call("c", "see", "{}"),
                call("d", "see", "{}"),
            ])];
            let mut harness = Setup { wire, script, ..Setup::default() }.build(interrupting).await;
            assert_eq!(harness.outcome("go").await, Some(Outcome::Stopped));
            let entered: Vec<LogEntry> = harness
                .world
                .log()
                .into_iter()
                .filter(|it| matches!(it, LogEntry::Entered(_)))
                .collect();
            assert_eq!(entered, [LogEntry::Entered("a".to_owned())], "{wire:?}");
            harness.check();
        }
    });
}

#[test]
fn text_and_finished_results_of_an_interrupted_turn_are_kept() {
    runtime().block_on(async {
        let script = vec![reply([
            text("I look, then I write."),
            call("a", "see", "{}"),
            call("b", "stop", "{}"),
            call("c", "do", "{}"),
        ])];
        let mut harness = Setup { script, ..Setup::default() }.build(interrupting).await;
        assert_eq!(harness.outcome("go").await, Some(Outcome::Stopped));
        let shape = harness.shape();
        let kept =
            "u:go | a:I look, then I write. | a=answer to a | b=it did its work | c=[foxwedge]";
        assert!(shape.starts_with(kept), "{shape}");
        harness.check();
    });
}

#[test]
fn calls_run_whatever_the_stop_reason() {
    runtime().block_on(async {
        for stop in [
            ReplyStopReason::Done,
            ReplyStopReason::Length,
            ReplyStopReason::Pause,
            ReplyStopReason::Refused,
        ] {
            let script = vec![Reply { steps: vec![call("x", "do", "{}")], stop }];
            let mut harness = Setup { script, ..Setup::default() }.build(plain).await;
            harness.prompt("go").await.expect("a run");
            let shape = harness.shape();
            assert!(shape.starts_with("u:go | x=answer to x"), "{stop:?}: {shape}");
            harness.check();
        }
    });
}

#[test]
fn a_turn_that_grows_too_large_is_compacted_or_reported_and_never_sent() {
    runtime().block_on(async {
        let script: Vec<Reply> = (0..12)
            .map(|n| reply([call(&format!("x{n}"), "much", format!("{{\"n\":{n}}}"))]))
            .collect();
        let make = Setup { script, window: Some(20_000), ..Setup::default() };
        let mut harness = make
            .build(|world| {
                let much = custom("much", ToolEffect::Reads, world, |work| {
                    let many = format!("{} {}", work.input["n"], "words and words ".repeat(1_000));
                    Box::pin(async move { ToolCallResult::done(many) })
                });
                toolbox([Arc::new(much) as Arc<dyn Tool>])
            })
            .await;
        let finished = harness.prompt("go").await.expect("a run");
        let outcome = finished.ended.outcome;
        assert!(
            matches!(outcome, Some(Outcome::Completed | Outcome::Failed)),
            "{outcome:?} {finished:?}"
        );
        if outcome == Some(Outcome::Failed) {
            let code = finished.ended.problem.and_then(|problem| problem.code);
            assert_eq!(code.as_deref(), Some("overflow"));
        }
        for request in harness.model.requests() {
            // A token rarely has fewer than two letters.
            assert!(request.to_string().len() < 20_000 * 8, "{} bytes", request.to_string().len());
        }
        harness.model.set_script(Vec::new());
        harness.prompt("on").await.expect("a run");
        harness.check();
    });
}

#[test]
fn two_calls_with_one_id_in_a_turn_are_kept_apart() {
    runtime().block_on(async {
        for wire in crate::script::FORMATS {
            let script = vec![
                reply([call("i", "see", r#"{"n":1}"#), call("i", "see", r#"{"n":2}"#)]),
                reply([call("i", "see", r#"{"n":3}"#)]),
            ];
            let mut harness = Setup { wire, script, ..Setup::default() }
                .build(|world| {
                    let see = custom("see", ToolEffect::Reads, world, |work| {
                        let number = work.input["n"].to_string();
                        Box::pin(async move { ToolCallResult::done(format!("number {number}")) })
                    });
                    toolbox([Arc::new(see) as Arc<dyn Tool>])
                })
                .await;
            assert_eq!(harness.outcome("go").await, Some(Outcome::Completed), "{wire:?}");
            for call in harness.history().calls() {
                let (asked, answer) = (call.arguments["n"].clone(), call.answer.clone());
                let text = answer.map(|answer| answer.text).unwrap_or_default();
                let own = text == format!("number {asked}");
                assert!(
                    own || text.contains("did not run") || text.contains("[foxwedge]"),
                    "{wire:?}: {asked} is answered by `{text}`"
                );
            }
            harness.check();
        }
    });
}

#[test]
fn b4_14_what_a_model_reasoned_stays_with_its_calls_where_its_provider_wants_it() {
    runtime().block_on(async {
        let script = vec![
            reply([thought("because "), thought("of that"), call("x", "do", "{}")]),
            reply([thought("and so"), text("done"), call("y", "do", r#"{"n":2}"#)]),
        ];
        for provider in [ScriptedProvider::Deepseek, ScriptedProvider::Anthropic] {
            let wire = provider.request_format();
            let make = Setup {
                wire,
                provider: Some(provider),
                script: script.clone(),
                ..Setup::default()
            };
            let mut harness = make.build(plain).await;
            assert_eq!(harness.outcome("go").await, Some(Outcome::Completed));
            let request = harness.model.requests().pop().expect("a request").to_string();
            assert!(request.contains("because of that") && request.contains("and so"), "{request}");
            assert_eq!(harness.world.breaches(), Vec::<String>::new());
        }
    });
}

#[test]
fn a_retry_pause_can_be_interrupted() {
    runtime().block_on(async {
        // A model with a long pause between two attempts sends nothing meanwhile.
        let script = vec![reply([text("so far "), Step::Hang])];
        for wire in crate::script::FORMATS {
            let mut harness =
                Setup { wire, script: script.clone(), ..Setup::default() }.build(plain).await;
            let world = harness.world.clone();
            let (outcome, ()) = tokio::join!(harness.outcome("go"), async {
                while !world.log().iter().any(|entry| matches!(entry, LogEntry::Delivered(_))) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                world.interrupt();
            });
            assert_eq!(outcome, Some(Outcome::Stopped), "{wire:?}");
            assert_eq!(harness.outcome("on").await, Some(Outcome::Completed), "{wire:?}");
            harness.check();
        }
    });
}
