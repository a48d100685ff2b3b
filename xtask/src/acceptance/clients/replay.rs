//! A log as the other reducer gets it, and what ours makes of it.

use foxwedge_run::{AnswerRoute, MachineInput, RunEffect, SessionMachine, UserAnswer, wire};
use foxwedge_testkit::runs::{Given, Log, Step};
use serde_json::{Value, json};

use super::effects::{self, object};

/// The log, as one line of JSON.
pub(super) fn line(log: &Log) -> Value {
    let settings = &log.settings;
    let interactive: Vec<&str> = settings.interactive.iter().map(|name| &**name).collect();
    json!({
        "settings": {
            "wait": settings.wait,
            "interactive": interactive,
            "limits": { "waiting": settings.limits.waiting, "runs": settings.limits.runs },
        },
        "steps": log.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

/// The effects of our reducer after every step, and its state in the end.
pub(super) fn ours(log: &Log) -> Value {
    let mut session = SessionMachine::new(log.settings.clone());
    let effects: Vec<Value> = log.steps.iter().map(|step| apply(&mut session, step)).collect();
    json!({ "told": effects, "truth": session.canonical_state(), "snapshot": session.snapshot() })
}

/// A step, for the other reducer and for a person.
pub(super) fn step(step: &Step) -> Value {
    let (line, answer) = match &step.given {
        Given::Line(line) => (Some(line.as_str().into()), None),
        Given::Tick => (None, None),
        Given::Answer(answer) => (None, Some(answer_json(answer))),
    };
    object([("now", Some(step.now.into())), ("line", line), ("answer", answer)])
}

fn answer_json(answer: &UserAnswer) -> Value {
    object([
        ("run", answer.run.as_deref().map(Value::from)),
        ("call", answer.call.id.as_deref().map(Value::from)),
        ("turn", answer.call.turn.map(Value::from)),
        ("id", answer.id.as_deref().map(Value::from)),
        ("verdict", Some(answer.verdict.name().into())),
        ("answer", answer.answer.as_ref().map(|answer| answer.value())),
    ])
}

fn apply(session: &mut SessionMachine, step: &Step) -> Value {
    let mut effects: Vec<RunEffect> = Vec::new();
    let mut routed = None;
    let mut unreadable = None;
    match &step.given {
        Given::Line(line) => match wire::read(line) {
            Ok(event) => session.apply(step.now, MachineInput::Event(event), &mut effects),
            Err(error) => {
                session.apply(step.now, MachineInput::Tick, &mut effects);
                unreadable = Some(effects::unreadable(error));
            }
        },
        Given::Tick => session.apply(step.now, MachineInput::Tick, &mut effects),
        Given::Answer(answer) => {
            routed = Some(match session.route(answer) {
                Ok(AnswerRoute::Deliver(event)) => {
                    session.apply(step.now, MachineInput::Event(event), &mut effects);
                    "deliver"
                }
                Ok(AnswerRoute::Repeated) => "repeated",
                Err(error) => error.code(),
            });
        }
    }
    let effects: Vec<Value> = effects.iter().map(effects::effect).chain(unreadable).collect();
    object([
        ("routed", routed.map(Value::from)),
        ("effects", Some(effects.into())),
        ("deadline", session.deadline().map(Value::from)),
    ])
}
