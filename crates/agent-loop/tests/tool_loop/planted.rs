//! What is wrong is found: a play that went well is told wrongly, once in every way, and the truth
//! has to notice.

use foxwedge_core::Format;
use foxwedge_run::{EventPayload, Outcome, RunEffect, ToolOutcome};
use foxwedge_store::RunState;
use serde_json::{Value, json};

use crate::{
    play::{Left, NEXT, PROMPT, Played, Scene},
    points::runtime,
    said::Said,
    truth::breaches,
    workers::Manner,
    world::{Act, Class, Pressing, Seen, World},
};

/// A play that somebody interrupted while `write` was at work: what reads is finished, `write` is
/// interrupted, `forbidden` never ran.
fn interrupted() -> (Scene, Played) {
    runtime().block_on(async {
        let mut scene = Scene { manner: Manner::Stops, ..Scene::new(Format::Anthropic) };
        for at in 1.. {
            scene.plan = vec![(Class::Tool, at, Act::Press(1))];
            let played = scene.play().await.expect("a file");
            if played.struck.iter().any(|name| name == "write c3 begins") {
                assert_eq!(breaches(&scene, &played), Vec::<String>::new());
                return (scene, played);
            }
        }
        unreachable!("`write` begins at some point")
    })
}

/// Changes the messages of what was left.
fn rewrite(left: &mut Left, change: impl Fn(&mut Vec<Value>)) {
    let document = left.documents.get_mut("anthropic").expect("a document");
    change(document["messages"].as_array_mut().expect("messages"));
    left.said = Said::of(document);
}

/// Changes every answer to a call.
fn answer(messages: &mut Vec<Value>, id: &str, change: impl Fn(&mut Value)) {
    for message in messages {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            if block["tool_use_id"] == id {
                change(block);
            }
        }
    }
}

type Fault = (&'static str, fn(&mut Played), &'static str);

/// What somebody could get wrong, how it looks, and what is said about it.
const FAULTS: [Fault; 16] = [
    (
        "two outcomes",
        |played| {
            let events = &mut played.left.runs[0].1;
            let last = events.last().expect("an end").clone();
            events.push(last);
        },
        "has 2 ends",
    ),
    (
        "no outcome",
        |played| {
            played.left.runs[0].1.pop();
            played.left.runs[0].0.state = RunState::Open;
        },
        "has 0 ends",
    ),
    (
        "stopped is told as failed",
        |played| {
            let (row, events) = &mut played.left.runs[0];
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
        |played| {
            rewrite(&mut played.left, |messages| {
                answer(messages, "c1", |block| {
                    block["content"] = "[foxwedge] Interrupted: no answer was recorded.".into();
                })
            });
        },
        "c1, Succeeded, says",
    ),
    (
        "answers in the order in which they came",
        |played| {
            rewrite(&mut played.left, |messages| {
                messages[2]["content"].as_array_mut().expect("answers").reverse();
            });
        },
        "are answered by",
    ),
    (
        "an answer is lost",
        |played| {
            rewrite(&mut played.left, |messages| {
                messages[2]["content"].as_array_mut().expect("answers").remove(0);
            });
        },
        "c1 has no answer",
    ),
    (
        "an answer twice",
        |played| {
            rewrite(&mut played.left, |messages| {
                let answers = messages[2]["content"].as_array_mut().expect("answers");
                answers.push(answers[0].clone());
            });
        },
        "answers without a call",
    ),
    (
        "the prompt behind the interrupted turn",
        |played| {
            rewrite(&mut played.left, |messages| {
                let prompt = messages.remove(0);
                messages.push(prompt);
            });
        },
        "the prompt is gone",
    ),
    (
        "the prompt is gone",
        |played| {
            rewrite(&mut played.left, |messages| {
                messages[0] = json!({ "role": "user", "content": NEXT })
            });
        },
        "the prompt is gone",
    ),
    (
        "the next prompt before the interrupted turn",
        |played| {
            let request = played.requests.last_mut().expect("a request");
            let messages = request["messages"].as_array_mut().expect("messages");
            let next = messages.pop().expect("a prompt");
            messages.insert(1, next);
        },
        "the next prompt is not the last",
    ),
    (
        "a call that ran is not told",
        |played| {
            rewrite(&mut played.left, |messages| messages.truncate(3));
        },
        "c3 ran, and is not told",
    ),
    (
        "text that was heard is gone",
        |played| {
            rewrite(&mut played.left, |messages| {
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
        |played| {
            let events = &mut played.left.runs[0].1;
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
    ("the queue is empty", |played| played.left.queued.clear(), "the queue holds"),
    ("it is repaired with every opening", |played| played.again += 1, "opened again"),
    (
        "somebody was told more than is stored",
        |played| {
            let told = |seen: &&Seen| matches!(seen, Seen::Told(it) if matches!(**it, RunEffect::Show { .. }));
            let last = played.log.iter().rev().find(told).cloned().expect("something");
            played.log.push(last);
        },
        "told otherwise than stored",
    ),
];

#[test]
fn every_planted_fault_is_found() {
    let (scene, played) = interrupted();
    assert!(played.left.said.shape().contains(PROMPT));
    for (name, plant, words) in FAULTS {
        let mut planted = played.clone();
        plant(&mut planted);
        let found = breaches(&scene, &planted);
        assert!(found.iter().any(|it| it.contains(words)), "{name}: {found:#?}");
    }
}

#[test]
fn a_tool_that_starts_too_early_or_too_late_is_found() {
    let world = World::quiet();
    drop(world.enter("x"));
    let unknown = ["x starts, and the store does not know"];
    assert_eq!(world.breaches(), unknown);
    let world = World::quiet();
    world.see(Seen::Pressed(Pressing::Asked));
    drop(world.enter("y"));
    assert!(world.breaches().contains(&"y starts behind an interrupt".to_owned()));
    let world = World::quiet();
    world.bury();
    world.strike(Class::Store, "before append");
    assert_eq!(world.breaches(), ["before append: behind the end of its loop"]);
}
