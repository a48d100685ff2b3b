//! What other loops got wrong, and this one must not.

use std::{sync::Arc, time::Duration};

use foxwedge_run::Outcome;
use foxwedge_scripted::ScriptedProvider;
use foxwedge_tools::{Tool, ToolCallResult, ToolEffect, Toolbox};
use foxwedge_upstream::model::ReplyStopReason;

use crate::{
    points::runtime,
    rig::{Make, custom, plain},
    script::{Reply, Say, call, reply, text, thought, trouble},
    workers::toolbox,
    world::{Seen, World},
};

/// Three tools that read and write, and one that interrupts from the middle of its work.
fn interrupting(world: &World) -> Toolbox {
    let inner = world.clone();
    let stop = custom("stop", ToolEffect::Writes, world, move |_| {
        let world = inner.clone();
        Box::pin(async move {
            world.press();
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
fn the_interrupted_question_is_not_replaced_by_the_next() {
    runtime().block_on(async {
        for wire in crate::script::WIRES {
            let script = vec![reply([call("x", "stop", "{}")])];
            let mut rig = Make { wire, script, ..Make::default() }.rig(interrupting).await;
            assert_eq!(rig.outcome("the old question").await, Some(Outcome::Stopped));
            assert_eq!(rig.outcome("the new question").await, Some(Outcome::Completed));
            let request = rig.model.requests().pop().expect("a request").to_string();
            let places = ["the old question", "it did its work", "the new question"]
                .map(|words| request.find(words).expect("its words"));
            assert!(places.is_sorted(), "{wire:?}: {request}");
            let shape = rig.shape();
            let told = "u:the old question | x=it did its work | u:the new question | a:";
            assert!(shape.starts_with(told), "{wire:?}: {shape}");
            rig.check();
        }
    });
}

#[test]
fn an_error_or_a_limit_leaves_no_open_call_for_every_later_request_to_mend() {
    runtime().block_on(async {
        let script = vec![reply([text("so"), call("x", "do", "{}"), Say::Break(trouble())])];
        let mut rig = Make { script, ..Make::default() }.rig(plain).await;
        assert_eq!(rig.outcome("go").await, Some(Outcome::Failed));
        let records = crate::play::records(&rig.store).await;
        let mut notes = 0;
        for prompt in ["one", "two"] {
            let mut listener = |told| {
                if let foxwedge_agent_loop::tool_loop::LoopEvent::Notice(_) = told {
                    notes += 1;
                }
            };
            rig.tool_loop.prompt(prompt, &mut listener).await.expect("a run");
        }
        assert_eq!(notes, 0, "nothing had to be mended");
        // Two prompts and two replies.
        assert_eq!(crate::play::records(&rig.store).await, records + 4);
        rig.check();
    });
}

#[test]
fn a_second_answer_to_one_call_never_comes_to_be() {
    runtime().block_on(async {
        let script = vec![reply([call("same", "do", "{}"), call("same", "do", "{}")])];
        for wire in crate::script::WIRES {
            let mut rig = Make { wire, script: script.clone(), ..Make::default() }.rig(plain).await;
            assert_eq!(rig.outcome("go").await, Some(Outcome::Completed), "{wire:?}");
            let said = rig.said();
            assert_eq!(said.orphans.len(), 0, "{wire:?}: {said:?}");
            assert!(said.calls().all(|call| call.answer.is_some()), "{wire:?}: {said:?}");
            rig.check();
        }
    });
}

#[test]
fn an_interrupt_is_noticed_between_two_tools_of_one_turn() {
    runtime().block_on(async {
        for wire in crate::script::WIRES {
            let script = vec![reply([
                call("a", "stop", "{}"),
                call("b", "do", "{}"),
                call("c", "see", "{}"),
                call("d", "see", "{}"),
            ])];
            let mut rig = Make { wire, script, ..Make::default() }.rig(interrupting).await;
            assert_eq!(rig.outcome("go").await, Some(Outcome::Stopped));
            let entered: Vec<Seen> =
                rig.world.log().into_iter().filter(|it| matches!(it, Seen::Entered(_))).collect();
            assert_eq!(entered, [Seen::Entered("a".to_owned())], "{wire:?}");
            rig.check();
        }
    });
}

#[test]
fn text_and_finished_answers_of_an_interrupted_turn_stay() {
    runtime().block_on(async {
        let script = vec![reply([
            text("I look, then I write."),
            call("a", "see", "{}"),
            call("b", "stop", "{}"),
            call("c", "do", "{}"),
        ])];
        let mut rig = Make { script, ..Make::default() }.rig(interrupting).await;
        assert_eq!(rig.outcome("go").await, Some(Outcome::Stopped));
        let shape = rig.shape();
        let kept =
            "u:go | a:I look, then I write. | a=answer to a | b=it did its work | c=[foxwedge]";
        assert!(shape.starts_with(kept), "{shape}");
        rig.check();
    });
}

#[test]
fn calls_are_run_whatever_the_model_says_why_it_stopped() {
    runtime().block_on(async {
        for stop in [
            ReplyStopReason::Done,
            ReplyStopReason::Length,
            ReplyStopReason::Pause,
            ReplyStopReason::Refused,
        ] {
            let script = vec![Reply { says: vec![call("x", "do", "{}")], stop }];
            let mut rig = Make { script, ..Make::default() }.rig(plain).await;
            rig.say("go").await.expect("a run");
            let shape = rig.shape();
            assert!(shape.starts_with("u:go | x=answer to x"), "{stop:?}: {shape}");
            rig.check();
        }
    });
}

#[test]
fn a_running_turn_that_grows_too_large_is_made_shorter_or_told_and_never_sent() {
    runtime().block_on(async {
        let script: Vec<Reply> = (0..12)
            .map(|n| reply([call(&format!("x{n}"), "much", format!("{{\"n\":{n}}}"))]))
            .collect();
        let make = Make { script, window: Some(20_000), ..Make::default() };
        let mut rig = make
            .rig(|world| {
                let much = custom("much", ToolEffect::Reads, world, |work| {
                    let many = format!("{} {}", work.input["n"], "words and words ".repeat(1_000));
                    Box::pin(async move { ToolCallResult::done(many) })
                });
                toolbox([Arc::new(much) as Arc<dyn Tool>])
            })
            .await;
        let finished = rig.say("go").await.expect("a run");
        let outcome = finished.ended.outcome;
        assert!(
            matches!(outcome, Some(Outcome::Completed | Outcome::Failed)),
            "{outcome:?} {finished:?}"
        );
        if outcome == Some(Outcome::Failed) {
            let code = finished.ended.problem.and_then(|problem| problem.code);
            assert_eq!(code.as_deref(), Some("overflow"));
        }
        for request in rig.model.requests() {
            // A token is hardly ever shorter than two letters.
            assert!(request.to_string().len() < 20_000 * 8, "{} bytes", request.to_string().len());
        }
        rig.model.rehearse(Vec::new());
        rig.say("on").await.expect("a run");
        rig.check();
    });
}

#[test]
fn two_calls_of_one_id_in_a_turn_are_told_apart_and_later_turns_are_their_own() {
    runtime().block_on(async {
        for wire in crate::script::WIRES {
            let script = vec![
                reply([call("i", "see", r#"{"n":1}"#), call("i", "see", r#"{"n":2}"#)]),
                reply([call("i", "see", r#"{"n":3}"#)]),
            ];
            let mut rig = Make { wire, script, ..Make::default() }
                .rig(|world| {
                    let see = custom("see", ToolEffect::Reads, world, |work| {
                        let number = work.input["n"].to_string();
                        Box::pin(async move { ToolCallResult::done(format!("number {number}")) })
                    });
                    toolbox([Arc::new(see) as Arc<dyn Tool>])
                })
                .await;
            assert_eq!(rig.outcome("go").await, Some(Outcome::Completed), "{wire:?}");
            for call in rig.said().calls() {
                let (asked, answer) = (call.arguments["n"].clone(), call.answer.clone());
                let told = answer.map(|answer| answer.text).unwrap_or_default();
                let own = told == format!("number {asked}");
                assert!(
                    own || told.contains("did not run") || told.contains("[foxwedge]"),
                    "{wire:?}: {asked} is answered by `{told}`"
                );
            }
            rig.check();
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
            let make =
                Make { wire, provider: Some(provider), script: script.clone(), ..Make::default() };
            let mut rig = make.rig(plain).await;
            assert_eq!(rig.outcome("go").await, Some(Outcome::Completed));
            let request = rig.model.requests().pop().expect("a request").to_string();
            assert!(request.contains("because of that") && request.contains("and so"), "{request}");
            assert_eq!(rig.world.breaches(), Vec::<String>::new());
        }
    });
}

#[test]
fn trouble_that_is_waited_out_can_be_interrupted() {
    runtime().block_on(async {
        // A model that waits for long between two tries says nothing meanwhile.
        let script = vec![reply([text("so far "), Say::Hang])];
        for wire in crate::script::WIRES {
            let mut rig = Make { wire, script: script.clone(), ..Make::default() }.rig(plain).await;
            let world = rig.world.clone();
            let (outcome, ()) = tokio::join!(rig.outcome("go"), async {
                while !world.log().iter().any(|seen| matches!(seen, Seen::Told(_))) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                world.press();
            });
            assert_eq!(outcome, Some(Outcome::Stopped), "{wire:?}");
            assert_eq!(rig.outcome("on").await, Some(Outcome::Completed), "{wire:?}");
            rig.check();
        }
    });
}
