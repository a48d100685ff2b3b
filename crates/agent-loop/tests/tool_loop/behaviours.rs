//! Required behavior of a loop, one test each.

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
    harness::{Harness, Setup, custom, ends, plain},
    points::runtime,
    scenario,
    script::{Reply, Step, call, failure, reply, text},
    test_tools::toolbox,
    world::{InterruptEffect, LogEntry, World},
};

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn model(content: &[Value]) -> Value {
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

/// A tool that interrupts the run while it is running, then returns or hangs.
fn interrupter(
    name: &str,
    world: &World,
    times: usize,
    answer: Option<&'static str>,
) -> Arc<dyn Tool> {
    let inner = world.clone();
    Arc::new(custom(name, ToolEffect::Writes, world, move |_| {
        let world = inner.clone();
        Box::pin(async move {
            (0..times).for_each(|_| world.interrupt());
            match answer {
                Some(answer) => ToolCallResult::done(answer),
                None => std::future::pending().await,
            }
        })
    }))
}

fn stopping(times: usize, answer: Option<&'static str>) -> impl FnOnce(&World) -> Toolbox {
    move |world| {
        let do_it = custom("do", ToolEffect::Writes, world, |work| {
            let call = work.call_id.to_owned();
            Box::pin(async move { ToolCallResult::done(format!("answer to {call}")) })
        });
        toolbox([Arc::new(do_it) as Arc<dyn Tool>, interrupter("stop", world, times, answer)])
    }
}

async fn left_by(before: Vec<Value>) -> Harness {
    let agent = Setup { before, ..Setup::default() }.build(plain).await;
    agent.check();
    agent
}

#[test]
fn b4_1_what_was_left_broken_is_repaired_on_the_way_in_and_twice_changes_nothing() {
    runtime().block_on(async {
        let before = vec![user("go"), model(&[calls("x"), calls("y")]), user("well?")];
        let mut agent = left_by(before).await;
        assert_eq!(agent.outcome("next").await, Some(Outcome::Completed));
        agent.check();
        let (shape, records) = (agent.shape(), scenario::records(&agent.store).await);
        let agent = agent.reopen(Setup::default(), plain).await;
        assert_eq!((agent.shape(), scenario::records(&agent.store).await), (shape, records));
    });
}

#[test]
fn b4_2_answers_before_their_call_behind_somebody_else_or_twice_are_put_right() {
    runtime().block_on(async {
        let table = [
            vec![user("go"), answers(&[("x", "early")]), model(&[calls("x")]), user("on")],
            vec![
                user("go"),
                model(&[calls("x")]),
                user("hm"),
                answers(&[("x", "late")]),
                user("on"),
            ],
            vec![
                user("go"),
                model(&[calls("x")]),
                answers(&[("x", "one"), ("x", "two")]),
                user("on"),
            ],
        ];
        for before in table {
            let mut agent = left_by(before.clone()).await;
            assert_eq!(agent.outcome("next").await, Some(Outcome::Completed), "{before:?}");
            agent.check();
        }
    });
}

#[test]
fn b4_3_a_sound_conversation_is_left_alone_and_earlier_pairs_survive_a_later_gap() {
    runtime().block_on(async {
        let valid = vec![
            user("go"),
            model(&[calls("x")]),
            answers(&[("x", "done")]),
            model(&[json!({"type":"text","text":"fine"})]),
        ];
        let agent = left_by(valid.clone()).await;
        assert_eq!(scenario::records(&agent.store).await, 4);
        let bodies: Vec<String> =
            agent.tool_loop.history().iter().map(|it| it.body.to_string()).collect();
        assert_eq!(bodies, valid.iter().map(Value::to_string).collect::<Vec<_>>());
        let mut gap = valid;
        gap.extend([user("more"), model(&[calls("z")])]);
        let shape = left_by(gap).await.shape();
        assert!(shape.starts_with("u:go | x=done | a:fine | u:more | z="), "{shape}");
    });
}

#[test]
fn b4_4_a_batch_of_which_half_is_answered_keeps_that_half() {
    runtime().block_on(async {
        let before = vec![user("go"), model(&[calls("x"), calls("y")]), answers(&[("x", "kept")])];
        let shape = left_by(before).await.shape();
        assert!(shape.starts_with("u:go | x=kept | y=[foxwedge]"), "{shape}");
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
        for wire in crate::script::FORMATS {
            let mut agent = Setup { wire, script: script.clone(), ..Setup::default() }
                .build(|world| {
                    let tool = custom("do", ToolEffect::Writes, world, |work| {
                        let number = work.input["n"].to_string();
                        Box::pin(async move { ToolCallResult::done(format!("number {number}")) })
                    });
                    toolbox([Arc::new(tool) as Arc<dyn Tool>])
                })
                .await;
            assert_eq!(agent.outcome("go").await, Some(Outcome::Completed), "{wire:?}");
            agent.check();
            let results: Vec<String> = agent
                .history()
                .calls()
                .filter_map(|call| call.answer.as_ref().map(|answer| answer.text.clone()))
                .collect();
            assert_eq!(results, ["number 1", "number 2", "number 3"], "{wire:?}");
        }
    });
}

#[test]
fn b4_6_an_interrupt_while_the_history_is_made_shorter_leaves_it_as_it_was() {
    runtime().block_on(async {
        let mut before = Vec::new();
        for number in 0..40 {
            before.push(user(&format!("question {number}: {}", "why ".repeat(200))));
            before.push(model(&[json!({"type":"text","text": format!("answer {number}")})]));
        }
        // The request for a summary hangs.
        let script = vec![reply([Step::Hang])];
        let setup = Setup { before, script, window: Some(12_000), ..Setup::default() };
        let mut agent = setup.build(plain).await;
        let shape = agent.shape();
        let world = agent.world.clone();
        let (outcome, ()) = tokio::join!(agent.outcome("next"), async {
            while !world.log().contains(&LogEntry::RequestSent) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            world.interrupt();
        });
        assert_eq!(outcome, Some(Outcome::Stopped));
        agent.check();
        assert_eq!(agent.shape(), format!("{shape} | u:next"));
    });
}

#[test]
fn b4_7_the_next_prompt_comes_behind_the_interrupted_turn() {
    runtime().block_on(async {
        let script = vec![reply([text("let me see"), call("x", "stop", "{}")])];
        let mut agent = Setup { script, ..Setup::default() }.build(stopping(1, Some("seen"))).await;
        assert_eq!(agent.outcome("first").await, Some(Outcome::Stopped));
        assert_eq!(agent.outcome("second").await, Some(Outcome::Completed));
        assert_eq!(agent.shape(), "u:first | a:let me see | x=seen | u:second | a:That is all.");
        agent.check();
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
        let mut agent = Setup { script, ..Setup::default() }.build(stopping(1, Some("done"))).await;
        let finished = agent.prompt("go").await.expect("a run");
        assert_eq!(finished.ended.outcome, Some(Outcome::Stopped));
        let counts =
            [ToolStatus::Succeeded, ToolStatus::Cancelled].map(|it| finished.summary.count(it));
        assert_eq!(counts, [2, 2]);
        let shape = agent.shape();
        assert!(
            shape.starts_with("u:go | a=answer to a | b=done | c=[foxwedge] Not started"),
            "{shape}"
        );
        let log = agent.world.log();
        let entered = log.iter().filter(|entry| matches!(entry, LogEntry::Entered(_))).count();
        assert_eq!(entered, 2);
        agent.check();
    });
}

#[test]
fn b4_9_an_interrupt_is_no_error_a_second_is_harmless_and_one_for_nothing_does_nothing() {
    runtime().block_on(async {
        let script = vec![reply([call("x", "stop", "{}")]), reply([Step::Break(failure())])];
        let mut agent = Setup { script, ..Setup::default() }.build(stopping(5, None)).await;
        let idle = agent.tool_loop.handle();
        assert!(!idle.is_busy());
        agent.world.interrupt();
        let finished = agent.prompt("go").await.expect("a run");
        assert_eq!(finished.ended.outcome, Some(Outcome::Stopped));
        assert!(finished.ended.problem.is_none(), "{finished:?}");
        agent.world.interrupt();
        let failed = agent.prompt("on").await.expect("a run");
        assert_eq!(failed.ended.outcome, Some(Outcome::Failed));
        assert!(failed.ended.problem.is_some());
        assert_eq!(agent.outcome("and on").await, Some(Outcome::Completed));
        let effects: Vec<InterruptEffect> = agent
            .world
            .log()
            .iter()
            .filter_map(|it| if let LogEntry::Interrupted(it) = it { Some(*it) } else { None })
            .collect();
        use InterruptEffect::{AlreadyForced as Again, Forced, Idle, Stopping};
        assert_eq!(effects, [Idle, Stopping, Forced, Again, Again, Again, Idle]);
        agent.check();
    });
}

#[test]
fn b4_10_a_repair_is_kept_and_not_told_again_with_every_request() {
    runtime().block_on(async {
        let before = vec![user("go"), model(&[calls("x")]), user("well?")];
        let mut agent = left_by(before).await;
        let mut repaired = 0;
        for prompt in ["one", "two", "three"] {
            let mut listener = |result| {
                use foxwedge_agent_loop::tool_loop::{LoopEvent, LoopNotice};
                if let LoopEvent::Notice(LoopNotice::Repaired(changes)) = result {
                    repaired += 1;
                    assert!(!changes.is_empty());
                }
            };
            agent.tool_loop.prompt(prompt, &mut listener).await.expect("a run");
        }
        assert!(repaired <= 1, "told {repaired} times");
        agent.check();
    });
}

#[test]
fn b4_11_a_limit_of_turns_runs_and_records_the_same_calls() {
    runtime().block_on(async {
        let script: Vec<Reply> = (0..5)
            .map(|n| reply([call(&format!("x{n}"), "do", format!("{{\"n\":{n}}}"))]))
            .collect();
        let mut setup = Setup { script, ..Setup::default() };
        setup.limits.max_turns = 3;
        let mut agent = setup.build(plain).await;
        assert_eq!(agent.outcome("go").await, Some(Outcome::MaxTurns));
        assert_eq!(agent.shape(), "u:go | x0=answer to x0 | x1=answer to x1 | x2=answer to x2");
        let log = agent.world.log();
        let entered = log.iter().filter(|entry| matches!(entry, LogEntry::Entered(_))).count();
        assert_eq!((entered, agent.model.requests().len()), (3, 3));
        agent.model.set_script(Vec::new());
        assert_eq!(agent.outcome("on").await, Some(Outcome::Completed));
        agent.check();
    });
}

#[test]
fn b4_12_an_error_a_time_out_and_a_limit_leave_as_much_as_an_interrupt() {
    runtime().block_on(async {
        // A tool that exceeds its timeout.
        let script = vec![reply([call("x", "slow", "{}"), call("y", "do", "{}")])];
        let mut agent = Setup { script, ..Setup::default() }
            .build(|world| {
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
        let finished = agent.prompt("go").await.expect("a run");
        assert_eq!(finished.ended.outcome, Some(Outcome::Completed));
        let shape = agent.shape();
        assert!(
            shape.starts_with("u:go | x=[foxwedge] Timed out") && shape.contains("not yet"),
            "{shape}"
        );
        assert!(shape.contains("y=quick"), "{shape}");
        agent.check();
        // An error after a finished pair, and in the middle of a reply.
        let script = vec![
            reply([call("x", "do", "{}")]),
            reply([text("half a "), call("y", "do", "{}"), Step::Break(failure())]),
        ];
        let mut agent = Setup { script, ..Setup::default() }.build(plain).await;
        assert_eq!(agent.outcome("go").await, Some(Outcome::Failed));
        let shape = agent.shape();
        assert!(shape.starts_with("u:go | x=answer to x | a:half a"), "{shape}");
        assert!(shape.contains("y=[foxwedge] Not started"), "{shape}");
        assert_eq!(ends(&agent.events().await), 1);
        assert_eq!(agent.outcome("on").await, Some(Outcome::Completed));
        agent.check();
    });
}

#[test]
fn b4_13_a_history_made_shorter_parts_no_unit_and_one_that_cannot_be_is_told_before_any_request() {
    runtime().block_on(async {
        let mut before = Vec::new();
        for number in 0..30 {
            before.push(user(&format!("question {number} {}", "why ".repeat(150))));
            before.push(model(&[calls(&format!("x{number}"))]));
            before.push(answers(&[(&format!("x{number}"), &"because ".repeat(100))]));
            before.push(model(&[json!({"type":"text","text": format!("answer {number}")})]));
        }
        let setup = Setup { before, ..Setup::default() };
        let mut agent = setup.build(plain).await;
        let count = agent.tool_loop.history().len();
        let shorter = agent
            .tool_loop
            .compact(CompactOptions::default(), &mut SilentObserver)
            .await
            .expect("a compaction");
        if let LoopCompaction::Compacted { .. } = shorter {
            assert!(agent.tool_loop.history().len() < count);
        }
        agent.check();
        assert_eq!(agent.outcome("next").await, Some(Outcome::Completed));
        agent.check();
        // One prompt that exceeds the window.
        let mut agent = Setup { window: Some(2_000), ..Setup::default() }.build(plain).await;
        let finished = agent.prompt(&"much too much ".repeat(4_000)).await;
        match finished {
            Ok(finished) => assert_eq!(finished.ended.outcome, Some(Outcome::Failed)),
            Err(error) => assert!(
                matches!(error, LoopError::Unconvertible(_) | LoopError::TooLarge { .. }),
                "{error:?}"
            ),
        }
        assert_eq!(agent.model.requests().len(), 0, "nobody was asked");
        agent.check();
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
        let mut agent = Setup { script, ..Setup::default() }.build(hanging).await;
        let world = agent.world.clone();
        tokio::select! {
            _ = agent.prompt("go") => panic!("it hangs"),
            () = async {
                world.company(2).await;
                // The first result is stored by now: the second call runs alone, after it.
            } => {}
        }
        let agent = agent.reopen(Setup::default(), hanging).await;
        let shape = agent.shape();
        assert!(shape.starts_with("u:go | a=done | b=[foxwedge] Interrupted"), "{shape}");
        assert!(shape.contains("| c=[foxwedge] Not started"), "{shape}");
        let rows = scenario::runs(&agent.store).await;
        let outcome = rows.last().and_then(|(row, _)| row.state.outcome());
        assert_eq!(outcome, Some(Outcome::Interrupted));
        agent.check();
    });
}

#[test]
fn b0_7_an_end_and_a_repair_of_it_add_one_answer_for_each_call() {
    runtime().block_on(async {
        let script = vec![reply([call("x", "stop", "{}"), call("y", "do", "{}")])];
        let mut agent = Setup { script, ..Setup::default() }.build(stopping(2, None)).await;
        assert_eq!(agent.outcome("go").await, Some(Outcome::Stopped));
        let (shape, records) = (agent.shape(), scenario::records(&agent.store).await);
        let mut agent = agent.reopen(Setup::default(), plain).await;
        assert_eq!((agent.shape(), scenario::records(&agent.store).await), (shape, records));
        assert_eq!(agent.outcome("on").await, Some(Outcome::Completed));
        let agent = agent.reopen(Setup::default(), plain).await;
        let document = agent.document(Format::Anthropic).to_string();
        for id in ["x", "y"] {
            let answer = format!("\"tool_use_id\":\"{id}\"");
            assert_eq!(document.matches(&answer).count(), 1, "{document}");
        }
        agent.check();
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
                    world.interrupt();
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
        let mut setup = Setup { script, ..Setup::default() };
        setup.limits.stop_grace = Duration::from_secs(5);
        let mut agent = setup.build(tools).await;
        assert_eq!(agent.outcome("go").await, Some(Outcome::Stopped));
        let shape = agent.shape();
        assert!(shape.starts_with("u:go | x=the real one | y=[foxwedge] Interrupted"), "{shape}");
        assert!(shape.contains("half"), "{shape}");
        agent.check();
    });
}

/// Opening a missing session creates it; an empty prompt changes nothing.
#[test]
fn an_empty_prompt_and_nothing_to_resume_are_errors() {
    runtime().block_on(async {
        let mut agent = Setup::default().build(plain).await;
        for prompt in ["", "  \n"] {
            let result = agent.prompt(prompt).await;
            assert!(matches!(result, Err(LoopError::NothingToSend)), "{result:?}");
        }
        let result = agent.tool_loop.resume(&mut SilentObserver).await;
        assert!(matches!(result, Err(LoopError::NothingToSend)), "{result:?}");
        let _: &ToolLoop<_> = &agent.tool_loop;
        agent.check();
    });
}
