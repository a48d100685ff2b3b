//! Effects as JSON, in the words of the TypeScript package.

use foxwedge_run::{
    Activity, Ask, AskKind, CallRef, Change, Effect, Ended, Id, Json, Part, Problem, Reason,
    Refusal, Resolution, Started, Status, Summary, Task, ToolRef, ToolsAvailable, Usage, Warning,
    wire::{self, WireError},
};
use serde_json::{Map, Value, json};

/// An object without the fields that are missing.
pub(super) fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(fields.collect::<Map<String, Value>>())
}

pub(super) fn effect(effect: &Effect) -> Value {
    match effect {
        Effect::Emit(event) => json!({ "type": "emit", "event": wire::write(event) }),
        Effect::Show { run, change: shown } => {
            json!({ "type": "show", "run": &**run, "change": change(shown) })
        }
        Effect::Resolve { run, tool: asking, id, resolution: got } => {
            json!({ "type": "resolve", "run": &**run, "tool": tool(asking), "id": &**id, "resolution": resolution(got) })
        }
        Effect::CallOff { run, tool: called } => {
            json!({ "type": "callOff", "run": &**run, "tool": tool(called) })
        }
        Effect::Announce { run, ended: told, summary: counts } => {
            json!({ "type": "announce", "run": &**run, "ended": ended(told), "summary": summary(counts) })
        }
        Effect::Drain { run, until } => json!({ "type": "drain", "run": &**run, "until": until }),
        Effect::Warn(warned) => json!({ "type": "warn", "warning": warning(warned) }),
    }
}

/// What the other reducer says about a line that is no event.
pub(super) fn unreadable(error: WireError) -> Value {
    let why = match error {
        WireError::NotJson => "not_json",
        WireError::NotObject => "not_object",
        WireError::NoRun => "no_run",
        WireError::NoType => "no_type",
    };
    json!({ "type": "unreadable", "why": why })
}

fn change(change: &Change) -> Value {
    match change {
        Change::RunStarted { epoch, at, started: told } => object([
            ("type", Some("runStarted".into())),
            ("epoch", Some((*epoch).into())),
            ("at", at.map(Value::from)),
            ("started", Some(started(told))),
        ]),
        Change::StepStarted { turn } => json!({ "type": "stepStarted", "turn": turn }),
        Change::StepEnded { turn } => json!({ "type": "stepEnded", "turn": turn }),
        Change::TextOpened(of) => json!({ "type": "textOpened", "part": part(of) }),
        Change::TextDelta(of, delta) => {
            json!({ "type": "textDelta", "part": part(of), "delta": delta })
        }
        Change::TextClosed(of) => json!({ "type": "textClosed", "part": part(of) }),
        Change::ThoughtOpened(of) => json!({ "type": "thoughtOpened", "part": part(of) }),
        Change::ThoughtDelta(of, delta) => {
            json!({ "type": "thoughtDelta", "part": part(of), "delta": delta })
        }
        Change::ThoughtClosed(of) => json!({ "type": "thoughtClosed", "part": part(of) }),
        Change::ToolOpened { tool: of, name, parent, title } => object([
            ("type", Some("toolOpened".into())),
            ("tool", Some(tool(of))),
            ("name", Some((**name).into())),
            ("parent", id(parent)),
            ("title", title.clone().map(Value::from)),
        ]),
        Change::ToolArguments { tool: of, delta } => {
            json!({ "type": "toolArguments", "tool": tool(of), "delta": delta })
        }
        Change::ToolReady { tool: of, input } => {
            json!({ "type": "toolReady", "tool": tool(of), "input": input.value() })
        }
        Change::ToolStatus { tool: of, status } => {
            json!({ "type": "toolStatus", "tool": tool(of), "status": status.name() })
        }
        Change::ToolProgress { tool: of, content } => {
            json!({ "type": "toolProgress", "tool": tool(of), "content": content.value() })
        }
        Change::Asked { tool: of, ask: asked } => {
            json!({ "type": "asked", "tool": tool(of), "ask": ask(asked) })
        }
        Change::AskClosed { tool: of, id, verdict } => {
            json!({ "type": "askClosed", "tool": tool(of), "id": &**id, "verdict": verdict.name() })
        }
        Change::ToolSettled { tool: of, status, reason, content } => {
            end("toolSettled", of, *status, *reason, content)
        }
        Change::ToolCorrected { tool: of, status, reason, content } => {
            end("toolCorrected", of, *status, *reason, content)
        }
        Change::ToolsAvailable(tools) => {
            json!({ "type": "toolsAvailable", "available": available(tools) })
        }
        Change::Tasks(tasks) => {
            json!({ "type": "tasks", "tasks": tasks.iter().map(task).collect::<Vec<_>>() })
        }
        Change::Usage(cost) => json!({ "type": "usage", "usage": usage(cost) }),
        Change::Activity(card) => json!({ "type": "activity", "activity": activity(card) }),
        Change::Problem(wrong) => json!({ "type": "problem", "problem": problem(wrong) }),
        Change::RunEnded { ended: told, summary: counts, at } => object([
            ("type", Some("runEnded".into())),
            ("ended", Some(ended(told))),
            ("summary", Some(summary(counts))),
            ("at", at.map(Value::from)),
        ]),
    }
}

/// How a call ended.
fn end(kind: &str, of: &ToolRef, status: Status, reason: Option<Reason>, content: &Json) -> Value {
    object([
        ("type", Some(kind.into())),
        ("tool", Some(tool(of))),
        ("status", Some(status.name().into())),
        ("reason", reason.map(|reason| reason.name().into())),
        ("content", Some(content.value())),
    ])
}

fn warning(warning: &Warning) -> Value {
    match warning {
        Warning::NeverStarted { run, events } => {
            json!({ "code": "never_started", "run": &**run, "events": events })
        }
        Warning::Refused { run, refusal } => {
            let refusal = match refusal {
                Refusal::OlderEpoch => "older_epoch",
                Refusal::EpochTaken => "epoch_taken",
            };
            json!({ "code": "refused", "run": &**run, "refusal": refusal })
        }
        Warning::Missing { run, from, to } => {
            json!({ "code": "missing", "run": &**run, "from": from, "to": to })
        }
        Warning::UnknownWord { run, word } => {
            json!({ "code": "unknown_word", "run": &**run, "word": word })
        }
        Warning::NeverCalled { run, tool: of } => {
            json!({ "code": "never_called", "run": &**run, "tool": tool(of) })
        }
        Warning::TooMuchWaits { run } => json!({ "code": "too_much_waits", "run": &**run }),
    }
}

fn resolution(resolution: &Resolution) -> Value {
    match resolution {
        Resolution::Replied(verdict, answer) => object([
            ("type", Some("replied".into())),
            ("verdict", Some(verdict.name().into())),
            ("answer", answer.as_ref().map(|answer| answer.value())),
        ]),
        Resolution::Cancelled => json!({ "type": "cancelled" }),
    }
}

fn started(started: &Started) -> Value {
    object([
        ("session", id(&started.session)),
        ("parent", id(&started.parent)),
        ("agent", id(&started.agent)),
        ("model", id(&started.model)),
    ])
}

fn available(available: &ToolsAvailable) -> Value {
    let tools: Vec<&str> = available.tools.iter().map(|tool| &**tool).collect();
    object([
        ("version", available.version.map(Value::from)),
        ("ready", Some(available.ready.into())),
        ("tools", Some(tools.into())),
    ])
}

fn ask(ask: &Ask) -> Value {
    let kind = match ask.kind {
        AskKind::Approval => "approval",
        AskKind::Question => "question",
    };
    object([
        ("call", Some(which(&ask.call))),
        ("id", id(&ask.id)),
        ("kind", Some(kind.into())),
        ("prompt", ask.prompt.clone().map(Value::from)),
        ("choices", ask.choices.as_ref().map(|choices| choices.value())),
    ])
}

fn which(call: &CallRef) -> Value {
    object([("id", id(&call.id)), ("turn", call.turn.map(Value::from))])
}

fn task(task: &Task) -> Value {
    object([
        ("id", id(&task.id)),
        ("content", Some(task.content.clone().into())),
        ("status", Some(task.status.name().into())),
        ("active", task.active.clone().map(Value::from)),
    ])
}

fn activity(activity: &Activity) -> Value {
    object([
        ("kind", Some((*activity.kind).into())),
        ("id", id(&activity.id)),
        ("content", Some(activity.content.value())),
    ])
}

fn problem(problem: &Problem) -> Value {
    object([
        ("message", Some(problem.message.clone().into())),
        ("code", id(&problem.code)),
        ("fatal", Some(problem.fatal.into())),
    ])
}

fn ended(ended: &Ended) -> Value {
    object([
        ("outcome", ended.outcome.map(|outcome| outcome.name().into())),
        ("text", ended.text.clone().map(Value::from)),
        ("problem", ended.problem.as_ref().map(problem)),
        ("usage", ended.usage.as_ref().map(usage)),
    ])
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
    })
}

fn summary(summary: &Summary) -> Value {
    let counts = Status::ALL.into_iter().map(|status| (status.name(), summary.count(status)));
    let counts = counts.filter(|(_, count)| *count > 0);
    let by_status: Map<String, Value> =
        counts.map(|(name, count)| (name.to_owned(), count.into())).collect();
    object([
        ("available", summary.available.map(Value::from)),
        ("calls", Some(summary.calls.into())),
        ("byStatus", Some(by_status.into())),
    ])
}

fn part(part: &Part) -> Value {
    object([("id", Some((*part.id).into())), ("parent", id(&part.parent))])
}

fn tool(tool: &ToolRef) -> Value {
    json!({ "call": &*tool.call, "turn": tool.turn })
}

fn id(id: &Option<Id>) -> Option<Value> {
    id.as_deref().map(Value::from)
}
