//! Changes in short form: one per line, a verb and its arguments.

use std::sync::Arc;

use super::super::run::{
    ActivityCard, ApprovalKind, ApprovalRequest, ApprovalVerdict, CallRef, Outcome, RawJson,
    RunEnd, RunProblem, RunStart, RunSummary, RunUsage, SharedId, TaskItem, TaskStatus, ToolRef,
    ToolStatus, ToolStatusReason, ToolsAvailable, UiChange, UiPart,
};

/// Parses a script. `|` separates deltas, `@call` names the call that started a sub-agent, `/2`
/// puts a call into the second turn, and `¶` stands for a line break.
pub(crate) fn changes(script: &str) -> Vec<UiChange> {
    script.lines().flat_map(line).collect()
}

/// Parses a call and its final status: `id=status`, or `id=?` if it waits for a person.
pub(super) fn call(text: &str) -> (String, Option<ToolStatus>) {
    let (id, status) = text.split_once('=').expect("a call and its end");
    (id.replace('¶', "\n"), ToolStatus::from_name(status))
}

/// The outcome of the run: that of the first end.
pub(super) fn outcome(changes: &[UiChange]) -> Outcome {
    let end = |change: &UiChange| match change {
        UiChange::RunEnded { ended, .. } => ended.outcome,
        _ => None,
    };
    changes.iter().find_map(end).expect("an end")
}

fn line(line: &str) -> Vec<UiChange> {
    let line = line.trim_start().replace('¶', "\n");
    let mut fields = line.splitn(3, ' ');
    let verb = fields.next().unwrap_or_default();
    let name = fields.next().unwrap_or_default();
    let rest = fields.next().unwrap_or_default();
    let tool = || reference(name.split('@').next().unwrap_or_default());
    let end = |outcome: Outcome, problem: Option<RunProblem>| {
        let ended = RunEnd { outcome: Some(outcome), text: None, problem, usage: Some(usage()) };
        vec![UiChange::RunEnded {
            ended,
            summary: RunSummary::default(),
            at: Some(1_700_000_009_000),
        }]
    };
    match verb {
        "start" => {
            let (agent, model) = (Some(id("claude-code")), Some(id("m-1")));
            let started = RunStart { session: None, parent: None, agent, model };
            vec![UiChange::RunStarted { epoch: 1, at: Some(1_700_000_000_000), started }]
        }
        "tools" => {
            let tools = vec![id(name), id(rest)];
            vec![UiChange::ToolsAvailable(ToolsAvailable { version: Some(1), ready: true, tools })]
        }
        "step" => vec![UiChange::StepStarted { turn: name.parse().expect("a number") }],
        "done" => vec![UiChange::StepEnded { turn: name.parse().expect("a number") }],
        "say" => {
            spoken([UiChange::TextOpened, UiChange::TextClosed], UiChange::TextDelta, name, rest)
        }
        "think" => {
            let ends = [UiChange::ThoughtOpened, UiChange::ThoughtClosed];
            spoken(ends, UiChange::ThoughtDelta, name, rest)
        }
        "delta" => vec![UiChange::TextDelta(part(name), rest.to_owned())],
        "musing" => vec![UiChange::ThoughtDelta(part(name), rest.to_owned())],
        "open" => {
            let parent = name.split_once('@').map(|(_, parent)| id(parent));
            vec![UiChange::ToolOpened { tool: tool(), name: id(rest), parent, title: None }]
        }
        "args" => {
            let arguments =
                |delta: &str| UiChange::ToolArguments { tool: tool(), delta: delta.into() };
            rest.split('|').map(arguments).collect()
        }
        "ready" => vec![UiChange::ToolReady { tool: tool(), input: json(rest) }],
        "call" => vec![
            UiChange::ToolOpened { tool: tool(), name: id(rest), parent: None, title: None },
            UiChange::ToolReady { tool: tool(), input: json("{}") },
            UiChange::ToolStatus { tool: tool(), status: ToolStatus::Running },
        ],
        "status" => vec![UiChange::ToolStatus { tool: tool(), status: status(rest) }],
        "progress" => vec![UiChange::ToolProgress { tool: tool(), content: json(rest) }],
        "ask" => vec![UiChange::ApprovalRequested { tool: tool(), request: ask(name, rest) }],
        "reply" => {
            let (request, verdict) = rest.split_once(' ').expect("a request and a verdict");
            let verdict = verdict_of(verdict);
            vec![UiChange::ApprovalClosed { tool: tool(), id: id(request), verdict }]
        }
        "settle" => {
            let (status_name, rest) = rest.split_once(' ').expect("a status and a content");
            let (reason, content) = match rest.split_once(' ') {
                Some((reason, content)) if ToolStatusReason::from_name(reason).is_some() => {
                    (ToolStatusReason::from_name(reason), content)
                }
                _ => (None, rest),
            };
            let (status, content) = (status(status_name), json(content));
            vec![UiChange::ToolSettled { tool: tool(), status, reason, content }]
        }
        "usage" => vec![UiChange::Usage(usage())],
        "tasks" => {
            let items = format!("{name} {rest}");
            vec![UiChange::Tasks(items.split_whitespace().map(task).collect())]
        }
        "card" => {
            let (card, content) = rest.split_once(' ').expect("an id and a content");
            let (kind, card) = (id(name), Some(id(card)).filter(|card| &**card != "-"));
            vec![UiChange::Activity(ActivityCard { kind, id: card, content: json(content) })]
        }
        "problem" => vec![UiChange::Problem(problem(name, rest, false))],
        "end" => end(Outcome::from_name(name).expect("an outcome"), None),
        "fail" => end(Outcome::Failed, Some(problem(name, rest, true))),
        _ => panic!("`{line}` is no line of a script"),
    }
}

fn spoken(
    [opened, closed]: [fn(UiPart) -> UiChange; 2],
    delta: fn(UiPart, String) -> UiChange,
    name: &str,
    rest: &str,
) -> Vec<UiChange> {
    let deltas = rest.split('|').map(|delta_text| delta(part(name), delta_text.to_owned()));
    [opened(part(name))].into_iter().chain(deltas).chain([closed(part(name))]).collect()
}

fn id(name: &str) -> SharedId {
    Arc::from(name)
}

fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap_or_else(|| panic!("`{text}` is no JSON"))
}

fn reference(name: &str) -> ToolRef {
    match name.split_once('/') {
        Some((call, turn)) => ToolRef { call: id(call), turn: turn.parse().expect("a turn") },
        None => ToolRef { call: id(name), turn: 1 },
    }
}

fn part(name: &str) -> UiPart {
    match name.split_once('@') {
        Some((name, parent)) => UiPart { id: id(name), parent: Some(id(parent)) },
        None => UiPart { id: id(name), parent: None },
    }
}

fn status(word: &str) -> ToolStatus {
    ToolStatus::from_name(word).unwrap_or_else(|| panic!("`{word}` is no status"))
}

fn ask(call: &str, rest: &str) -> ApprovalRequest {
    let (request, kind) = rest.split_once(' ').expect("a request and its kind");
    ApprovalRequest {
        call: CallRef { id: Some(id(call)), turn: Some(1) },
        id: Some(id(request)),
        kind: if kind == "approval" { ApprovalKind::Approval } else { ApprovalKind::Question },
        prompt: Some("May I?".to_owned()),
        choices: Some(json(r#"["red", {"label": "blue"}]"#)),
    }
}

fn verdict_of(word: &str) -> ApprovalVerdict {
    match word {
        "allowed" => ApprovalVerdict::Allowed,
        "denied" => ApprovalVerdict::Denied,
        "answered" => ApprovalVerdict::Answered,
        "cancelled" => ApprovalVerdict::Cancelled,
        _ => panic!("`{word}` is no verdict"),
    }
}

fn problem(code: &str, message: &str, fatal: bool) -> RunProblem {
    RunProblem { message: message.to_owned(), code: Some(id(code)), fatal }
}

fn task(text: &str) -> TaskItem {
    let (content, status) = text.split_once('=').expect("a task and its status");
    let status = match status {
        "pending" => TaskStatus::Pending,
        "in_progress" => TaskStatus::InProgress,
        "completed" => TaskStatus::Completed,
        "paused" => TaskStatus::Paused,
        _ => TaskStatus::Unknown,
    };
    TaskItem { id: Some(id(content)), content: content.to_owned(), status, active: None }
}

fn usage() -> RunUsage {
    RunUsage { input: 1200, output: 30, cached: 1000, reasoning: 10 }
}
