//! What a loop has to do, one behaviour at a time.

use std::{sync::Arc, time::Duration};

use foxwedge_agent_loop::tool_loop::{
    CompactOptions, LoopCompaction, LoopError, SilentObserver, ToolLoop,
};
use foxwedge_core::Format;
use foxwedge_run::{Outcome, ToolStatus};
use foxwedge_tools::{
    StopLevel, Tool, ToolCallResult, ToolCompletion, ToolEffect, ToolResultContent, Toolbox,
};
use serde_json::{Value, json};

use crate::{
    points::runtime,
    rig::{Make, Rig, custom, ends, plain},
    script::{Reply, Say, call, reply, text, trouble},
    workers::toolbox,
    world::{Pressing, Seen, World},
};

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn says(content: &[Value]) -> Value {
    json!({ "role": "assistant", "content": content })
}

fn calls(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "do", "input": {} })
}

fn answers(list: &[(&str, &str)]) -> Value {
    let blocks: Vec<Value> = list
        .iter()
        .map(|(id, text)| json!({ "type": "tool_result", "tool_use_id": id, "content": text }))
        .collect();
    json!({ "role": "user", "content": blocks })
}

/// A tool that interrupts once it is at work, then does something.
fn pressing_tool(
    name: &str,
    world: &World,
    times: usize,
    answer: Option<&'static str>,
) -> Arc<dyn Tool> {
    let inner = world.clone();
    Arc::new(custom(name, ToolEffect::Writes, world, move |_| {
        let world = inner.clone();
        Box::pin(async move {
            (0..times).for_each(|_| world.press());
            match answer {
                Some(answer) => ToolCallResult::done(answer),
                None => std::future::pending().await,
            }
        })
    }))
}

fn with_pressing(times: usize, answer: Option<&'static str>) -> impl FnOnce(&World) -> Toolbox {
    move |world| {
        let do_it = custom("do", ToolEffect::Writes, world, |work| {
            let call = work.call_id.to_owned();
            Box::pin(async move { ToolCallResult::done(format!("answer to {call}")) })
        });
        toolbox([Arc::new(do_it) as Arc<dyn Tool>, pressing_tool("stop", world, times, answer)])
    }
}

async fn left_by(before: Vec<Value>) -> Rig {
    let rig = Make { before, ..Make::default() }.rig(plain).await;
    rig.check();
    rig
}

#[test]
fn b4_1_what_was_left_broken_is_repaired_on_the_way_in_and_twice_changes_nothing() {
    runtime().block_on(async {
        let before = vec![user("go"), says(&[calls("x"), calls("y")]), user("well?")];
        let mut rig = left_by(before).await;
        assert_eq!(rig.outcome("next").await, Some(Outcome::Completed));
        rig.check();
        let (shape, records) = (rig.shape(), crate::play::records(&rig.store).await);
        let rig = rig.again(Make::default(), plain).await;
        assert_eq!((rig.shape(), crate::play::records(&rig.store).await), (shape, records));
    });
}

#[test]
fn b4_2_answers_before_their_call_behind_somebody_else_or_twice_are_put_right() {
    runtime().block_on(async {
        let table = [
            vec![user("go"), answers(&[("x", "early")]), says(&[calls("x")]), user("on")],
            vec![
                user("go"),
                says(&[calls("x")]),
                user("hm"),
                answers(&[("x", "late")]),
                user("on"),
            ],
            vec![
                user("go"),
                says(&[calls("x")]),
                answers(&[("x", "one"), ("x", "two")]),
                user("on"),
            ],
        ];
        for before in table {
            let mut rig = left_by(before.clone()).await;
            assert_eq!(rig.outcome("next").await, Some(Outcome::Completed), "{before:?}");
            rig.check();
        }
    });
}

#[test]
fn b4_3_a_sound_conversation_is_left_alone_and_earlier_pairs_survive_a_later_gap() {
    runtime().block_on(async {
        let sound = vec![
            user("go"),
            says(&[calls("x")]),
            answers(&[("x", "done")]),
            says(&[json!({"type":"text","text":"fine"})]),
        ];
        let rig = left_by(sound.clone()).await;
        assert_eq!(crate::play::records(&rig.store).await, 4);
        let bodies: Vec<String> =
            rig.tool_loop.history().iter().map(|it| it.body.to_string()).collect();
        assert_eq!(bodies, sound.iter().map(Value::to_string).collect::<Vec<_>>());
        let mut gap = sound;
        gap.extend([user("more"), says(&[calls("z")])]);
        let rig = left_by(gap).await;
        assert!(rig.shape().starts_with("u:go | x=done | a:fine | u:more | z="), "{}", rig.shape());
    });
}

#[test]
fn b4_4_a_batch_of_which_half_is_answered_keeps_that_half() {
    runtime().block_on(async {
        let before = vec![user("go"), says(&[calls("x"), calls("y")]), answers(&[("x", "kept")])];
        let rig = left_by(before).await;
        assert!(rig.shape().starts_with("u:go | x=kept | y=[foxwedge]"), "{}", rig.shape());
    });
}

#[test]
fn b4_5_ids_used_again_in_later_turns_have_their_own_answers() {
    runtime().block_on(async {
        let script = vec![
            reply([call("same", "do", r#"{"n":1}"#)]),
            reply([call("same", "do", r#"{"n":2}"#)]),
            reply([call("same", "do", r#"{"n":3}"#)]),
        ];
        for wire in crate::script::WIRES {
            let mut rig = Make { wire, script: script.clone(), ..Make::default() }
                .rig(|world| {
                    let tool = custom("do", ToolEffect::Writes, world, |work| {
                        let said = work.input["n"].to_string();
                        Box::pin(async move { ToolCallResult::done(format!("number {said}")) })
                    });
                    toolbox([Arc::new(tool) as Arc<dyn Tool>])
                })
                .await;
            assert_eq!(rig.outcome("go").await, Some(Outcome::Completed), "{wire:?}");
            rig.check();
            let said: Vec<String> = rig
                .said()
                .calls()
                .filter_map(|call| call.answer.as_ref().map(|answer| answer.text.clone()))
                .collect();
            assert_eq!(said, ["number 1", "number 2", "number 3"], "{wire:?}");
        }
    });
}

#[test]
fn b4_6_an_interrupt_while_the_history_is_made_shorter_leaves_it_as_it_was() {
    runtime().block_on(async {
        let mut before = Vec::new();
        for number in 0..40 {
            before.push(user(&format!("question {number}: {}", "why ".repeat(200))));
            before.push(says(&[json!({"type":"text","text": format!("answer {number}")})]));
        }
        // Whoever is asked for a summary never comes to its end.
        let script = vec![reply([Say::Hang])];
        let make = Make { before, script, window: Some(12_000), ..Make::default() };
        let mut rig = make.rig(plain).await;
        let shape = rig.shape();
        let world = rig.world.clone();
        let (outcome, ()) = tokio::join!(rig.outcome("next"), async {
            while !world.log().contains(&Seen::Asked) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            world.press();
        });
        assert_eq!(outcome, Some(Outcome::Stopped));
        rig.check();
        assert_eq!(rig.shape(), format!("{shape} | u:next"));
    });
}

#[test]
fn b4_7_the_next_prompt_comes_behind_the_interrupted_turn() {
    runtime().block_on(async {
        let script = vec![reply([text("let me see"), call("x", "stop", "{}")])];
        let mut rig = Make { script, ..Make::default() }.rig(with_pressing(1, Some("seen"))).await;
        assert_eq!(rig.outcome("first").await, Some(Outcome::Stopped));
        assert_eq!(rig.outcome("second").await, Some(Outcome::Completed));
        assert_eq!(rig.shape(), "u:first | a:let me see | x=seen | u:second | a:That is all.");
        rig.check();
    });
}

#[test]
fn b4_8_nothing_starts_behind_an_interrupt_and_what_was_finished_is_kept() {
    runtime().block_on(async {
        let script = vec![reply([
            call("a", "do", "{}"),
            call("b", "stop", "{}"),
            call("c", "do", "{}"),
            call("d", "do", "{}"),
        ])];
        let mut rig = Make { script, ..Make::default() }.rig(with_pressing(1, Some("done"))).await;
        let finished = rig.say("go").await.expect("a run");
        assert_eq!(finished.ended.outcome, Some(Outcome::Stopped));
        let counts =
            [ToolStatus::Succeeded, ToolStatus::Cancelled].map(|it| finished.summary.count(it));
        assert_eq!(counts, [2, 2]);
        let shape = rig.shape();
        assert!(
            shape.starts_with("u:go | a=answer to a | b=done | c=[foxwedge] Not started"),
            "{shape}"
        );
        let log = rig.world.log();
        let entered = log.iter().filter(|seen| matches!(seen, Seen::Entered(_))).count();
        assert_eq!(entered, 2);
        rig.check();
    });
}

#[test]
fn b4_9_an_interrupt_is_no_error_a_second_is_harmless_and_one_for_nothing_does_nothing() {
    runtime().block_on(async {
        let script = vec![reply([call("x", "stop", "{}")]), reply([Say::Break(trouble())])];
        let mut rig = Make { script, ..Make::default() }.rig(with_pressing(5, None)).await;
        let idle = rig.tool_loop.handle();
        assert!(!idle.is_busy());
        rig.world.press();
        let finished = rig.say("go").await.expect("a run");
        assert_eq!(finished.ended.outcome, Some(Outcome::Stopped));
        assert!(finished.ended.problem.is_none(), "{finished:?}");
        rig.world.press();
        let failed = rig.say("on").await.expect("a run");
        assert_eq!(failed.ended.outcome, Some(Outcome::Failed));
        assert!(failed.ended.problem.is_some());
        assert_eq!(rig.outcome("and on").await, Some(Outcome::Completed));
        let pressed: Vec<Pressing> = rig
            .world
            .log()
            .iter()
            .filter_map(|seen| if let Seen::Pressed(it) = seen { Some(*it) } else { None })
            .collect();
        use Pressing::{Asked, Forced, Idle, Leave};
        assert_eq!(pressed, [Idle, Asked, Forced, Leave, Leave, Leave, Idle]);
        rig.check();
    });
}

#[test]
fn b4_10_a_repair_is_kept_and_not_told_again_with_every_request() {
    runtime().block_on(async {
        let before = vec![user("go"), says(&[calls("x")]), user("well?")];
        let mut rig = left_by(before).await;
        let mut repaired = 0;
        for prompt in ["one", "two", "three"] {
            let mut listener = |told| {
                use foxwedge_agent_loop::tool_loop::{LoopEvent, LoopNotice};
                if let LoopEvent::Notice(LoopNotice::Repaired(changes)) = told {
                    repaired += 1;
                    assert!(!changes.is_empty());
                }
            };
            rig.tool_loop.prompt(prompt, &mut listener).await.expect("a run");
        }
        assert!(repaired <= 1, "told {repaired} times");
        rig.check();
    });
}

#[test]
fn b4_11_a_limit_of_turns_runs_and_records_the_same_calls() {
    runtime().block_on(async {
        let script: Vec<Reply> = (0..5)
            .map(|n| reply([call(&format!("x{n}"), "do", format!("{{\"n\":{n}}}"))]))
            .collect();
        let mut make = Make { script, ..Make::default() };
        make.limits.max_turns = 3;
        let mut rig = make.rig(plain).await;
        assert_eq!(rig.outcome("go").await, Some(Outcome::MaxTurns));
        assert_eq!(rig.shape(), "u:go | x0=answer to x0 | x1=answer to x1 | x2=answer to x2");
        let log = rig.world.log();
        let entered = log.iter().filter(|seen| matches!(seen, Seen::Entered(_))).count();
        assert_eq!((entered, rig.model.requests().len()), (3, 3));
        rig.model.rehearse(Vec::new());
        assert_eq!(rig.outcome("on").await, Some(Outcome::Completed));
        rig.check();
    });
}

#[test]
fn b4_12_an_error_a_time_out_and_a_limit_leave_as_much_as_an_interrupt() {
    runtime().block_on(async {
        // A tool that takes too long.
        let script = vec![reply([call("x", "slow", "{}"), call("y", "do", "{}")])];
        let mut rig = Make { script, ..Make::default() }
            .rig(|world| {
                let mut slow = custom("slow", ToolEffect::Writes, world, |work| {
                    work.output.push(b"not yet");
                    Box::pin(std::future::pending())
                });
                slow.about_mut().limit = Duration::from_millis(20);
                let quick = custom("do", ToolEffect::Writes, world, |_| {
                    Box::pin(async { ToolCallResult::done("quick") })
                });
                toolbox([Arc::new(slow) as Arc<dyn Tool>, Arc::new(quick)])
            })
            .await;
        let finished = rig.say("go").await.expect("a run");
        assert_eq!(finished.ended.outcome, Some(Outcome::Completed));
        let shape = rig.shape();
        assert!(
            shape.starts_with("u:go | x=[foxwedge] Timed out") && shape.contains("not yet"),
            "{shape}"
        );
        assert!(shape.contains("y=quick"), "{shape}");
        rig.check();
        // An error behind a finished pair, and in the middle of a reply.
        let script = vec![
            reply([call("x", "do", "{}")]),
            reply([text("half a "), call("y", "do", "{}"), Say::Break(trouble())]),
        ];
        let mut rig = Make { script, ..Make::default() }.rig(plain).await;
        assert_eq!(rig.outcome("go").await, Some(Outcome::Failed));
        let shape = rig.shape();
        assert!(shape.starts_with("u:go | x=answer to x | a:half a"), "{shape}");
        assert!(shape.contains("y=[foxwedge] Not started"), "{shape}");
        assert_eq!(ends(&rig.events().await), 1);
        assert_eq!(rig.outcome("on").await, Some(Outcome::Completed));
        rig.check();
    });
}

#[test]
fn b4_13_a_history_made_shorter_parts_no_unit_and_one_that_cannot_be_is_told_before_any_request() {
    runtime().block_on(async {
        let mut before = Vec::new();
        for number in 0..30 {
            before.push(user(&format!("question {number} {}", "why ".repeat(150))));
            before.push(says(&[calls(&format!("x{number}"))]));
            before.push(answers(&[(&format!("x{number}"), &"because ".repeat(100))]));
            before.push(says(&[json!({"type":"text","text": format!("answer {number}")})]));
        }
        let make = Make { before, ..Make::default() };
        let mut rig = make.rig(plain).await;
        let count = rig.tool_loop.history().len();
        let shorter = rig
            .tool_loop
            .compact(CompactOptions::default(), &mut SilentObserver)
            .await
            .expect("a compaction");
        if let LoopCompaction::Compacted { .. } = shorter {
            assert!(rig.tool_loop.history().len() < count);
        }
        rig.check();
        assert_eq!(rig.outcome("next").await, Some(Outcome::Completed));
        rig.check();
        // One prompt that alone is more than the window holds.
        let mut rig = Make { window: Some(2_000), ..Make::default() }.rig(plain).await;
        let finished = rig.say(&"much too much ".repeat(4_000)).await;
        match finished {
            Ok(finished) => assert_eq!(finished.ended.outcome, Some(Outcome::Failed)),
            Err(error) => assert!(
                matches!(error, LoopError::Unconvertible(_) | LoopError::TooLarge { .. }),
                "{error:?}"
            ),
        }
        assert_eq!(rig.model.requests().len(), 0, "nobody was asked");
        rig.check();
    });
}

#[test]
fn b0_6_a_load_shows_open_calls_and_the_end_of_a_dead_run_answers_exactly_those_in_their_order() {
    runtime().block_on(async {
        let script =
            vec![reply([call("a", "do", "{}"), call("b", "hang", "{}"), call("c", "do", "{}")])];
        let hanging = |world: &World| {
            let hang =
                custom("hang", ToolEffect::Writes, world, |_| Box::pin(std::future::pending()));
            let quick = custom("do", ToolEffect::Writes, world, |_| {
                Box::pin(async { ToolCallResult::done("done") })
            });
            toolbox([Arc::new(hang) as Arc<dyn Tool>, Arc::new(quick)])
        };
        let mut rig = Make { script, ..Make::default() }.rig(hanging).await;
        let world = rig.world.clone();
        tokio::select! {
            _ = rig.say("go") => panic!("it hangs"),
            () = async {
                world.company(2).await;
                // The first answer is stored by now: the second call runs alone, behind it.
            } => {}
        }
        let rig = rig.again(Make::default(), hanging).await;
        let shape = rig.shape();
        assert!(shape.starts_with("u:go | a=done | b=[foxwedge] Interrupted"), "{shape}");
        assert!(shape.contains("| c=[foxwedge] Not started"), "{shape}");
        let rows = crate::play::runs(&rig.store).await;
        assert_eq!(
            rows.last().and_then(|(row, _)| row.state.outcome()),
            Some(Outcome::Interrupted)
        );
        rig.check();
    });
}

#[test]
fn b0_7_an_end_and_a_repair_of_it_add_one_answer_for_each_call() {
    runtime().block_on(async {
        let script = vec![reply([call("x", "stop", "{}"), call("y", "do", "{}")])];
        let mut rig = Make { script, ..Make::default() }.rig(with_pressing(2, None)).await;
        assert_eq!(rig.outcome("go").await, Some(Outcome::Stopped));
        let (shape, records) = (rig.shape(), crate::play::records(&rig.store).await);
        let mut rig = rig.again(Make::default(), plain).await;
        assert_eq!((rig.shape(), crate::play::records(&rig.store).await), (shape, records));
        let rig = {
            assert_eq!(rig.outcome("on").await, Some(Outcome::Completed));
            rig.again(Make::default(), plain).await
        };
        let document = rig.document(Format::Anthropic).to_string();
        for id in ["x", "y"] {
            let answer = format!("\"tool_use_id\":\"{id}\"");
            assert_eq!(document.matches(&answer).count(), 1, "{document}");
        }
        rig.check();
    });
}

#[test]
fn b0_8_an_answer_that_comes_before_the_end_is_written_wins_over_a_placeholder() {
    runtime().block_on(async {
        let script = vec![reply([call("x", "late", "{}"), call("y", "slow", "{}")])];
        let tools = |world: &World| {
            let inner = world.clone();
            let late = custom("late", ToolEffect::Reads, world, move |mut work| {
                let world = inner.clone();
                Box::pin(async move {
                    world.company(2).await;
                    world.press();
                    work.stop.wait_for(StopLevel::Graceful).await;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    ToolCallResult::done("the real one")
                })
            });
            let slow = custom("slow", ToolEffect::Reads, world, |mut work| {
                Box::pin(async move {
                    work.stop.wait_for(StopLevel::Graceful).await;
                    let content = ToolResultContent::Text("half".to_owned());
                    ToolCallResult { completion: ToolCompletion::Stopped, content }
                })
            });
            toolbox([Arc::new(late) as Arc<dyn Tool>, Arc::new(slow)])
        };
        let mut make = Make { script, ..Make::default() };
        make.limits.stop_grace = Duration::from_secs(5);
        let mut rig = make.rig(tools).await;
        assert_eq!(rig.outcome("go").await, Some(Outcome::Stopped));
        let shape = rig.shape();
        assert!(shape.starts_with("u:go | x=the real one | y=[foxwedge] Interrupted"), "{shape}");
        assert!(shape.contains("half"), "{shape}");
        rig.check();
    });
}

/// Somebody who opens a session that is not there begins it, and nothing is lost by saying nothing.
#[test]
fn nothing_to_say_and_nothing_to_go_on_with_is_told() {
    runtime().block_on(async {
        let mut rig = Make::default().rig(plain).await;
        for prompt in ["", "  \n"] {
            let told = rig.say(prompt).await;
            assert!(matches!(told, Err(LoopError::NothingToSend)), "{told:?}");
        }
        let told = rig.tool_loop.resume(&mut SilentObserver).await;
        assert!(matches!(told, Err(LoopError::NothingToSend)), "{told:?}");
        let _: &ToolLoop<_> = &rig.tool_loop;
        rig.check();
    });
}
