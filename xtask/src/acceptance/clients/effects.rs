//! Effects as JSON, with the names that the TypeScript package uses.

use foxwedge_run::{
    ActivityCard, ApprovalKind, ApprovalRequest, ApprovalResolution, CallRef, RawJson, RunEffect,
    RunEnd, RunProblem, RunRefusal, RunStart, RunSummary, RunUsage, RunWarning, SharedId, TaskItem,
    ToolRef, ToolStatus, ToolStatusReason, ToolsAvailable, UiChange, UiPart,
    wire::{self, EventParseError},
};
use serde_json::{Map, Value, json};

/// An object without the fields that are missing.
pub(super) fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(fields.collect::<Map<String, Value>>())
}

pub(super) fn effect(effect: &RunEffect) -> Value {
    match effect {
        RunEffect::Emit(event) => json!({ "type": "emit", "event": wire::write(event) }),
        RunEffect::Show { run, change: shown } => {
            json!({ "type": "show", "run": &**run, "change": change(shown) })
        }
        RunEffect::Resolve { run, tool: asking, id, resolution: got } => {
            json!({ "type": "resolve", "run": &**run, "tool": tool(asking), "id": &**id, "resolution": resolution(got) })
        }
        RunEffect::CancelTool { run, tool: called } => {
            json!({ "type": "callOff", "run": &**run, "tool": tool(called) })
        }
        RunEffect::Announce { run, ended: end, summary: counts } => {
            json!({ "type": "announce", "run": &**run, "ended": run_end(end), "summary": summary(counts) })
        }
        RunEffect::Drain { run, until } => {
            json!({ "type": "drain", "run": &**run, "until": until })
        }
        RunEffect::Warn(warned) => json!({ "type": "warn", "warning": warning(warned) }),
    }
}

/// What the other reducer says about a line that is no event.
pub(super) fn unreadable(error: EventParseError) -> Value {
    let why = match error {
        EventParseError::NotJson => "not_json",
        EventParseError::NotObject => "not_object",
        EventParseError::NoRun => "no_run",
        EventParseError::NoType => "no_type",
    };
    json!({ "type": "unreadable", "why": why })
}

fn change(change: &UiChange) -> Value {
    match change {
        UiChange::RunStarted { epoch, at, started: start } => object([
            ("type", Some("runStarted".into())),
            ("epoch", Some((*epoch).into())),
            ("at", at.map(Value::from)),
            ("started", Some(run_start(start))),
        ]),
        UiChange::StepStarted { turn } => json!({ "type": "stepStarted", "turn": turn }),
        UiChange::StepEnded { turn } => json!({ "type": "stepEnded", "turn": turn }),
        UiChange::TextOpened(of) => json!({ "type": "textOpened", "part": part(of) }),
        UiChange::TextDelta(of, delta) => {
            json!({ "type": "textDelta", "part": part(of), "delta": delta })
        }
        UiChange::TextClosed(of) => json!({ "type": "textClosed", "part": part(of) }),
        UiChange::ThoughtOpened(of) => json!({ "type": "thoughtOpened", "part": part(of) }),
        UiChange::ThoughtDelta(of, delta) => {
            json!({ "type": "thoughtDelta", "part": part(of), "delta": delta })
        }
        UiChange::ThoughtClosed(of) => json!({ "type": "thoughtClosed", "part": part(of) }),
        UiChange::ToolOpened { tool: of, name, parent, title } => object([
            ("type", Some("toolOpened".into())),
            ("tool", Some(tool(of))),
            ("name", Some((**name).into())),
            ("parent", id(parent)),
            ("title", title.clone().map(Value::from)),
        ]),
        UiChange::ToolArguments { tool: of, delta } => {
            json!({ "type": "toolArguments", "tool": tool(of), "delta": delta })
        }
        UiChange::ToolReady { tool: of, input } => {
            json!({ "type": "toolReady", "tool": tool(of), "input": input.value() })
        }
        UiChange::ToolStatus { tool: of, status } => {
            json!({ "type": "toolStatus", "tool": tool(of), "status": status.name() })
        }
        UiChange::ToolProgress { tool: of, content } => {
            json!({ "type": "toolProgress", "tool": tool(of), "content": content.value() })
        }
        UiChange::ApprovalRequested { tool: of, request: asked } => {
            json!({ "type": "asked", "tool": tool(of), "ask": ask(asked) })
        }
        UiChange::ApprovalClosed { tool: of, id, verdict } => {
            json!({ "type": "askClosed", "tool": tool(of), "id": &**id, "verdict": verdict.name() })
        }
        UiChange::ToolSettled { tool: of, status, reason, content } => {
            end("toolSettled", of, *status, *reason, content)
        }
        UiChange::ToolCorrected { tool: of, status, reason, content } => {
            end("toolCorrected", of, *status, *reason, content)
        }
        UiChange::ToolsAvailable(tools) => {
            json!({ "type": "toolsAvailable", "available": available(tools) })
        }
        UiChange::Tasks(tasks) => {
            json!({ "type": "tasks", "tasks": tasks.iter().map(task).collect::<Vec<_>>() })
        }
        UiChange::Usage(cost) => json!({ "type": "usage", "usage": usage(cost) }),
        UiChange::Activity(card) => json!({ "type": "activity", "activity": activity(card) }),
        UiChange::Problem(wrong) => json!({ "type": "problem", "problem": problem(wrong) }),
        UiChange::RunEnded { ended: end, summary: counts, at } => object([
            ("type", Some("runEnded".into())),
            ("ended", Some(run_end(end))),
            ("summary", Some(summary(counts))),
            ("at", at.map(Value::from)),
        ]),
    }
}

/// How a call ended.
fn end(
    kind: &str,
    of: &ToolRef,
    status: ToolStatus,
    reason: Option<ToolStatusReason>,
    content: &RawJson,
) -> Value {
    object([
        ("type", Some(kind.into())),
        ("tool", Some(tool(of))),
        ("status", Some(status.name().into())),
        ("reason", reason.map(|reason| reason.name().into())),
        ("content", Some(content.value())),
    ])
}

fn warning(warning: &RunWarning) -> Value {
    match warning {
        RunWarning::NeverStarted { run, events } => {
            json!({ "code": "never_started", "run": &**run, "events": events })
        }
        RunWarning::Refused { run, refusal } => {
            let refusal = match refusal {
                RunRefusal::OlderEpoch => "older_epoch",
                RunRefusal::EpochTaken => "epoch_taken",
            };
            json!({ "code": "refused", "run": &**run, "refusal": refusal })
        }
        RunWarning::Missing { run, from, to } => {
            json!({ "code": "missing", "run": &**run, "from": from, "to": to })
        }
        RunWarning::UnknownWord { run, word } => {
            json!({ "code": "unknown_word", "run": &**run, "word": word })
        }
        RunWarning::NeverCalled { run, tool: of } => {
            json!({ "code": "never_called", "run": &**run, "tool": tool(of) })
        }
        RunWarning::TooManyWaiting { run } => json!({ "code": "too_much_waits", "run": &**run }),
    }
}

fn resolution(resolution: &ApprovalResolution) -> Value {
    match resolution {
        ApprovalResolution::Replied(verdict, answer) => object([
            ("type", Some("replied".into())),
            ("verdict", Some(verdict.name().into())),
            ("answer", answer.as_ref().map(|answer| answer.value())),
        ]),
        ApprovalResolution::Cancelled => json!({ "type": "cancelled" }),
    }
}

fn run_start(started: &RunStart) -> Value {
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

fn ask(ask: &ApprovalRequest) -> Value {
    let kind = match ask.kind {
        ApprovalKind::Approval => "approval",
        ApprovalKind::Question => "question",
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

fn task(task: &TaskItem) -> Value {
    object([
        ("id", id(&task.id)),
        ("content", Some(task.content.clone().into())),
        ("status", Some(task.status.name().into())),
        ("active", task.active.clone().map(Value::from)),
    ])
}

fn activity(activity: &ActivityCard) -> Value {
    object([
        ("kind", Some((*activity.kind).into())),
        ("id", id(&activity.id)),
        ("content", Some(activity.content.value())),
    ])
}

fn problem(problem: &RunProblem) -> Value {
    object([
        ("message", Some(problem.message.clone().into())),
        ("code", id(&problem.code)),
        ("fatal", Some(problem.fatal.into())),
    ])
}

fn run_end(ended: &RunEnd) -> Value {
    object([
        ("outcome", ended.outcome.map(|outcome| outcome.name().into())),
        ("text", ended.text.clone().map(Value::from)),
        ("problem", ended.problem.as_ref().map(problem)),
        ("usage", ended.usage.as_ref().map(usage)),
    ])
}

fn usage(usage: &RunUsage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
    })
}

fn summary(summary: &RunSummary) -> Value {
    let counts = ToolStatus::ALL.into_iter().map(|status| (status.name(), summary.count(status)));
    let counts = counts.filter(|(_, count)| *count > 0);
    let by_status: Map<String, Value> =
        counts.map(|(name, count)| (name.to_owned(), count.into())).collect();
    object([
        ("available", summary.available.map(Value::from)),
        ("calls", Some(summary.calls.into())),
        ("byStatus", Some(by_status.into())),
    ])
}

fn part(part: &UiPart) -> Value {
    object([("id", Some((*part.id).into())), ("parent", id(&part.parent))])
}

fn tool(tool: &ToolRef) -> Value {
    json!({ "call": &*tool.call, "turn": tool.turn })
}

fn id(id: &Option<SharedId>) -> Option<Value> {
    id.as_deref().map(Value::from)
}
