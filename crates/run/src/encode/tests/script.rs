//! Changes in short: a verb and its words in each line.

use std::sync::Arc;

use super::super::run::{
    Activity, Ask, AskKind, CallRef, Change, Ended, Id, Json, Outcome, Part, Problem, Reason,
    Started, Status, Summary, Task, TaskStatus, ToolRef, ToolsAvailable, Usage, Verdict,
};

/// The changes of a script. Pieces have a `|` between them, `@call` says who a sub-agent works for,
/// `/2` that a call is one of the second turn, and `¶` stands for the end of a line.
pub(super) fn changes(script: &str) -> Vec<Change> {
    script.lines().flat_map(line).collect()
}

/// A call and how it ends: `id=status`, or `id=?` if it waits.
pub(super) fn call(told: &str) -> (String, Option<Status>) {
    let (id, status) = told.split_once('=').expect("a call and its end");
    (id.replace('¶', "\n"), Status::from_name(status))
}

/// How the run ends: the first end counts.
pub(super) fn outcome(changes: &[Change]) -> Outcome {
    let end = |change: &Change| match change {
        Change::RunEnded { ended, .. } => ended.outcome,
        _ => None,
    };
    changes.iter().find_map(end).expect("an end")
}

fn line(line: &str) -> Vec<Change> {
    let line = line.trim_start().replace('¶', "\n");
    let mut words = line.splitn(3, ' ');
    let verb = words.next().unwrap_or_default();
    let name = words.next().unwrap_or_default();
    let rest = words.next().unwrap_or_default();
    let tool = || reference(name.split('@').next().unwrap_or_default());
    let end = |outcome: Outcome, problem: Option<Problem>| {
        let ended = Ended { outcome: Some(outcome), text: None, problem, usage: Some(usage()) };
        vec![Change::RunEnded { ended, summary: Summary::default(), at: Some(1_700_000_009_000) }]
    };
    match verb {
        "start" => {
            let (agent, model) = (Some(id("claude-code")), Some(id("m-1")));
            let started = Started { session: None, parent: None, agent, model };
            vec![Change::RunStarted { epoch: 1, at: Some(1_700_000_000_000), started }]
        }
        "tools" => {
            let tools = vec![id(name), id(rest)];
            vec![Change::ToolsAvailable(ToolsAvailable { version: Some(1), ready: true, tools })]
        }
        "step" => vec![Change::StepStarted { turn: name.parse().expect("a number") }],
        "done" => vec![Change::StepEnded { turn: name.parse().expect("a number") }],
        "say" => spoken([Change::TextOpened, Change::TextClosed], Change::TextDelta, name, rest),
        "think" => {
            let ends = [Change::ThoughtOpened, Change::ThoughtClosed];
            spoken(ends, Change::ThoughtDelta, name, rest)
        }
        "delta" => vec![Change::TextDelta(part(name), rest.to_owned())],
        "musing" => vec![Change::ThoughtDelta(part(name), rest.to_owned())],
        "open" => {
            let parent = name.split_once('@').map(|(_, parent)| id(parent));
            vec![Change::ToolOpened { tool: tool(), name: id(rest), parent, title: None }]
        }
        "args" => {
            let piece = |delta: &str| Change::ToolArguments { tool: tool(), delta: delta.into() };
            rest.split('|').map(piece).collect()
        }
        "ready" => vec![Change::ToolReady { tool: tool(), input: json(rest) }],
        "call" => vec![
            Change::ToolOpened { tool: tool(), name: id(rest), parent: None, title: None },
            Change::ToolReady { tool: tool(), input: json("{}") },
            Change::ToolStatus { tool: tool(), status: Status::Running },
        ],
        "status" => vec![Change::ToolStatus { tool: tool(), status: status(rest) }],
        "progress" => vec![Change::ToolProgress { tool: tool(), content: json(rest) }],
        "ask" => vec![Change::Asked { tool: tool(), ask: ask(name, rest) }],
        "reply" => {
            let (request, verdict) = rest.split_once(' ').expect("a request and a verdict");
            let verdict = verdict_of(verdict);
            vec![Change::AskClosed { tool: tool(), id: id(request), verdict }]
        }
        "settle" => {
            let (word, rest) = rest.split_once(' ').expect("a status and a content");
            let (reason, content) = match rest.split_once(' ') {
                Some((reason, content)) if Reason::from_name(reason).is_some() => {
                    (Reason::from_name(reason), content)
                }
                _ => (None, rest),
            };
            let (status, content) = (status(word), json(content));
            vec![Change::ToolSettled { tool: tool(), status, reason, content }]
        }
        "usage" => vec![Change::Usage(usage())],
        "tasks" => {
            let all = format!("{name} {rest}");
            vec![Change::Tasks(all.split_whitespace().map(task).collect())]
        }
        "card" => {
            let (card, content) = rest.split_once(' ').expect("an id and a content");
            let (kind, card) = (id(name), Some(id(card)).filter(|card| &**card != "-"));
            vec![Change::Activity(Activity { kind, id: card, content: json(content) })]
        }
        "problem" => vec![Change::Problem(problem(name, rest, false))],
        "end" => end(Outcome::from_name(name).expect("an outcome"), None),
        "fail" => end(Outcome::Failed, Some(problem(name, rest, true))),
        _ => panic!("`{line}` is no line of a script"),
    }
}

fn spoken(
    [opened, closed]: [fn(Part) -> Change; 2],
    delta: fn(Part, String) -> Change,
    name: &str,
    rest: &str,
) -> Vec<Change> {
    let pieces = rest.split('|').map(|piece| delta(part(name), piece.to_owned()));
    [opened(part(name))].into_iter().chain(pieces).chain([closed(part(name))]).collect()
}

fn id(name: &str) -> Id {
    Arc::from(name)
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|| panic!("`{text}` is no JSON"))
}

fn reference(name: &str) -> ToolRef {
    match name.split_once('/') {
        Some((call, turn)) => ToolRef { call: id(call), turn: turn.parse().expect("a turn") },
        None => ToolRef { call: id(name), turn: 1 },
    }
}

fn part(name: &str) -> Part {
    match name.split_once('@') {
        Some((name, parent)) => Part { id: id(name), parent: Some(id(parent)) },
        None => Part { id: id(name), parent: None },
    }
}

fn status(word: &str) -> Status {
    Status::from_name(word).unwrap_or_else(|| panic!("`{word}` is no status"))
}

fn ask(call: &str, rest: &str) -> Ask {
    let (request, kind) = rest.split_once(' ').expect("a request and its kind");
    Ask {
        call: CallRef { id: Some(id(call)), turn: Some(1) },
        id: Some(id(request)),
        kind: if kind == "approval" { AskKind::Approval } else { AskKind::Question },
        prompt: Some("May I?".to_owned()),
        choices: Some(json(r#"["red", {"label": "blue"}]"#)),
    }
}

fn verdict_of(word: &str) -> Verdict {
    match word {
        "allowed" => Verdict::Allowed,
        "denied" => Verdict::Denied,
        "answered" => Verdict::Answered,
        "cancelled" => Verdict::Cancelled,
        _ => panic!("`{word}` is no verdict"),
    }
}

fn problem(code: &str, message: &str, fatal: bool) -> Problem {
    Problem { message: message.to_owned(), code: Some(id(code)), fatal }
}

fn task(told: &str) -> Task {
    let (content, status) = told.split_once('=').expect("a task and its status");
    let status = match status {
        "pending" => TaskStatus::Pending,
        "in_progress" => TaskStatus::InProgress,
        "completed" => TaskStatus::Completed,
        "paused" => TaskStatus::Paused,
        _ => TaskStatus::Unknown,
    };
    Task { id: Some(id(content)), content: content.to_owned(), status, active: None }
}

fn usage() -> Usage {
    Usage { input: 1200, output: 30, cached: 1000, reasoning: 10 }
}
