//! Tests of the checks: the report of a good scenario is falsified in every way, and the checks
//! must find it.

use foxwedge_core::Format;
use foxwedge_run::{EventPayload, Outcome, RunEffect, ToolOutcome};
use foxwedge_store::RunState;
use serde_json::{Value, json};

use crate::{
    checks::breaches,
    history::HistoryView,
    points::runtime,
    scenario::{NEXT, PROMPT, Scenario, ScenarioReport, SessionState},
    test_tools::StopBehavior,
    world::{Class, Injection, InterruptEffect, LogEntry, World},
};

/// A scenario that was interrupted while `write` was running: the reads are finished, `write` is
/// interrupted, `forbidden` never ran.
fn interrupted() -> (Scenario, ScenarioReport) {
    runtime().block_on(async {
        let mut scenario =
            Scenario { stop_behavior: StopBehavior::Stops, ..Scenario::new(Format::Anthropic) };
        for at in 1.. {
            scenario.plan = vec![(Class::Tool, at, Injection::Interrupt(1))];
            let report = scenario.run().await.expect("a file");
            if report.hit_points.iter().any(|name| name == "write c3 begins") {
                assert_eq!(breaches(&scenario, &report), Vec::<String>::new());
                return (scenario, report);
            }
        }
        unreachable!("`write` begins at some point")
    })
}

/// Changes the messages of a stored state.
fn rewrite(state: &mut SessionState, change: impl Fn(&mut Vec<Value>)) {
    let document = state.documents.get_mut("anthropic").expect("a document");
    change(document["messages"].as_array_mut().expect("messages"));
    state.history = HistoryView::of(document);
}

/// Changes every result of a call.
fn answer(messages: &mut Vec<Value>, id: &str, change: impl Fn(&mut Value)) {
    for message in messages {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            if block["tool_use_id"] == id {
                change(block);
            }
        }
    }
}

type Fault = (&'static str, fn(&mut ScenarioReport), &'static str);

/// A fault, how to inject it, and the expected breach.
const FAULTS: [Fault; 16] = [
    (
        "two outcomes",
        |report| {
            let events = &mut report.state.runs[0].1;
            let last = events.last().expect("an end").clone();
            events.push(last);
        },
        "has 2 ends",
    ),
    (
        "no outcome",
        |report| {
            report.state.runs[0].1.pop();
            report.state.runs[0].0.state = RunState::Open;
        },
        "has 0 ends",
    ),
    (
        "stopped is told as failed",
        |report| {
            let (row, events) = &mut report.state.runs[0];
            if let RunState::Ended { ended, .. } = &mut row.state {
                ended.outcome = Some(Outcome::Failed);
            }
            if let Some(EventPayload::Ended(ended)) = events.last_mut().map(|event| &mut event.body)
            {
                ended.outcome = Some(Outcome::Failed);
            }
        },
        "and not as",
    ),
    (
        "a placeholder over a real answer",
        |report| {
            rewrite(&mut report.state, |messages| {
                answer(messages, "c1", |block| {
                    block["content"] = "[foxwedge] Interrupted: no answer was recorded.".into();
                })
            });
        },
        "c1, Succeeded, says",
    ),
    (
        "answers in the order in which they came",
        |report| {
            rewrite(&mut report.state, |messages| {
                messages[2]["content"].as_array_mut().expect("answers").reverse();
            });
        },
        "are answered by",
    ),
    (
        "an answer is lost",
        |report| {
            rewrite(&mut report.state, |messages| {
                messages[2]["content"].as_array_mut().expect("answers").remove(0);
            });
        },
        "c1 has no answer",
    ),
    (
        "an answer twice",
        |report| {
            rewrite(&mut report.state, |messages| {
                let answers = messages[2]["content"].as_array_mut().expect("answers");
                answers.push(answers[0].clone());
            });
        },
        "answers without a call",
    ),
    (
        "the prompt behind the interrupted turn",
        |report| {
            rewrite(&mut report.state, |messages| {
                let prompt = messages.remove(0);
                messages.push(prompt);
            });
        },
        "the prompt is gone",
    ),
    (
        "the prompt is gone",
        |report| {
            rewrite(&mut report.state, |messages| {
                messages[0] = json!({ "role": "user", "content": NEXT })
            });
        },
        "the prompt is gone",
    ),
    (
        "the next prompt before the interrupted turn",
        |report| {
            let request = report.requests.last_mut().expect("a request");
            let messages = request["messages"].as_array_mut().expect("messages");
            let next = messages.pop().expect("a prompt");
            messages.insert(1, next);
        },
        "the next prompt is not the last",
    ),
    (
        "a call that ran is not told",
        |report| {
            rewrite(&mut report.state, |messages| messages.truncate(3));
        },
        "c3 ran, and is not told",
    ),
    (
        "text that was heard is gone",
        |report| {
            rewrite(&mut report.state, |messages| {
                messages[1]["content"]
                    .as_array_mut()
                    .expect("blocks")
                    .retain(|it| it["type"] != "text");
            });
        },
        "was said, and is gone",
    ),
    (
        "the wrong call is cancelled",
        |report| {
            let events = &mut report.state.runs[0].1;
            for event in events {
                if let EventPayload::ToolResult(result) = &mut event.body
                    && result.call.id.as_deref() == Some("c3")
                {
                    result.outcome = ToolOutcome::Cancelled;
                }
            }
        },
        "c3 is Cancelled",
    ),
    ("the queue is empty", |report| report.state.queued.clear(), "the queue holds"),
    (
        "it is repaired with every opening",
        |report| report.records_after_reopen += 1,
        "opened again",
    ),
    (
        "somebody was told more than is stored",
        |report| {
            let is_shown = |entry: &&LogEntry| matches!(entry, LogEntry::Delivered(it) if matches!(**it, RunEffect::Show { .. }));
            let last = report.log.iter().rev().find(is_shown).cloned().expect("something");
            report.log.push(last);
        },
        "told otherwise than stored",
    ),
];

#[test]
fn every_planted_fault_is_found() {
    let (scenario, report) = interrupted();
    assert!(report.state.history.shape().contains(PROMPT));
    for (name, inject, expected) in FAULTS {
        let mut changed = report.clone();
        inject(&mut changed);
        let found = breaches(&scenario, &changed);
        assert!(found.iter().any(|it| it.contains(expected)), "{name}: {found:#?}");
    }
}

#[test]
fn a_tool_that_starts_too_early_or_too_late_is_found() {
    let world = World::quiet();
    drop(world.enter("x"));
    let unknown = ["x starts, and the store does not know"];
    assert_eq!(world.breaches(), unknown);
    let world = World::quiet();
    world.record(LogEntry::Interrupted(InterruptEffect::Stopping));
    drop(world.enter("y"));
    assert!(world.breaches().contains(&"y starts behind an interrupt".to_owned()));
    let world = World::quiet();
    world.mark_dead();
    world.hit_point(Class::Store, "before append");
    assert_eq!(world.breaches(), ["before append: behind the end of its loop"]);
}
