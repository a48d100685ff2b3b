//! Runs as lists of changes. `cargo xtask uis` gives them to the official clients.

use std::sync::Arc;

use super::run::{
    Activity, Ask, AskKind, CallRef, Change, Ended, Id, Json, Outcome, Part, Problem, Reason,
    Started, Status, Summary, Task, TaskStatus, ToolRef, ToolsAvailable, Usage, Verdict,
};

/// A run, its name, and what a person must see of it.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) changes: Vec<Change>,
    pub(crate) outcome: Outcome,
    /// What the run itself said.
    pub(crate) text: &'static str,
    /// The calls and how they ended, in the order of their beginning. None: it still waits.
    pub(crate) calls: Vec<(&'static str, Option<Status>)>,
}

/// All of them.
pub(crate) fn all() -> Vec<Scene> {
    let mut scenes = ordinary();
    scenes.extend(asking());
    scenes.extend(odd());
    scenes
}

/// Ends of every kind.
fn ordinary() -> Vec<Scene> {
    use Outcome::{Completed, Failed, Interrupted, MaxTurns, NoText, Refused, Replaced, Stopped};
    use Status::{Cancelled, Succeeded};
    let cut = |name, outcome, end| {
        let calls = vec![("a", Some(Status::Interrupted))];
        let lost = settled("a", Status::Interrupted, Some(Reason::RunEnded), r#""It may have run.""#);
        scene(name, outcome, "Hm. ", calls, vec![start(), step(1), text("m", &["Hm. "]), called("a", "Bash"), lost, end])
    };
    vec![
        scene(
            "parallel-tools",
            Completed,
            "Let me look. Done.",
            vec![("a", Some(Succeeded)), ("b", Some(Status::Failed))],
            vec![
                start(),
                vec![Change::ToolsAvailable(ToolsAvailable {
                    version: Some(1),
                    ready: true,
                    tools: vec![id("Bash"), id("Read")],
                })],
                step(1),
                thought("t", &["Which ", "files?"]),
                text("m1", &["Let me ", "look. "]),
                opened("a", "Bash"),
                opened("b", "Read"),
                arguments("a", &[r#"{"comm"#, r#"and":"ls"}"#]),
                ready("b", r#"{"path": "a.txt"}"#),
                ready("a", r#"{"command":"ls"}"#),
                status("a", Status::Running),
                status("b", Status::Running),
                progress("a", r#""one line""#),
                settled("b", Status::Failed, None, r#""no such file""#),
                settled("a", Succeeded, None, r#"[{"type":"text","text":"a.txt"}]"#),
                step_over(1),
                vec![Change::Usage(usage())],
                step(2),
                text("m2", &["Done", "."]),
                step_over(2),
                end(Completed),
            ],
        ),
        cut("stopped-in-mid-tool", Stopped, end(Stopped)),
        cut("replaced", Replaced, end(Replaced)),
        cut("interrupted", Interrupted, end(Interrupted)),
        cut("max-turns", MaxTurns, end(MaxTurns)),
        cut("failed", Failed, failed("the provider is overloaded", Some("overloaded_error"))),
        scene("refused", Refused, "No.", vec![], vec![start(), step(1), text("m", &["No."]), step_over(1), end(Refused)]),
        scene("no-text", NoText, "", vec![("a", Some(Succeeded))], vec![
            start(), step(1), called("a", "Bash"), settled("a", Succeeded, None, "null"), step_over(1), end(NoText),
        ]),
        scene("nothing-at-all", NoText, "", vec![], vec![start(), end(NoText)]),
        scene("cancelled-in-mid-arguments", Stopped, "Wri", vec![("a", Some(Cancelled))], vec![
            start(), step(1), vec![Change::TextOpened(part("m", None)), Change::TextDelta(part("m", None), "Wri".to_owned())],
            opened("a", "Write"), arguments("a", &[r#"{"path":"x","text":"Once up"#]),
            settled("a", Cancelled, Some(Reason::RunEnded), r#""It never ran.""#), end(Stopped),
        ]),
        scene("skipped-call", Completed, "Enough.", vec![("a", Some(Succeeded)), ("b", Some(Cancelled))], vec![
            start(), step(1), called("a", "exit"), called("b", "Bash"), settled("a", Succeeded, None, "{}"),
            settled("b", Cancelled, Some(Reason::Skipped), r#""An earlier call ended the turn.""#), text("m", &["Enough."]), step_over(1), end(Completed),
        ]),
        scene("subagent", Completed, "It says yes.", vec![("task", Some(Succeeded)), ("inner", Some(Succeeded))], vec![
            start(), step(1), called("task", "Task"),
            spoken(Change::ThoughtOpened, Change::ThoughtDelta, Change::ThoughtClosed, part("s0", Some("task")), &["What ", "now?"]),
            spoken(Change::TextOpened, Change::TextDelta, Change::TextClosed, part("s1", Some("task")), &["Looking ", "inside"]),
            vec![Change::ToolOpened { tool: tool("inner"), name: id("Grep"), parent: Some(id("task")), title: Some("Search".to_owned()) }],
            ready("inner", r#"{"pattern":"x"}"#), settled("inner", Succeeded, None, r#""yes""#),
            settled("task", Succeeded, None, r#""yes""#), step_over(1), step(2), text("m", &["It says yes."]), step_over(2), end(Completed),
        ]),
        scene("tasks-and-cards", Completed, "Tidy.", vec![], vec![
            start(), step(1), vec![
                Change::Tasks(vec![task("Look", TaskStatus::InProgress), task("Write", TaskStatus::Pending)]),
                Change::Activity(Activity { kind: id("repair"), id: None, content: json(r#"{"codes": ["FW101"]}"#) }),
                Change::Activity(Activity { kind: id("compaction"), id: Some(id("c1")), content: json(r#"{"status":"in_progress"}"#) }),
                Change::Activity(Activity { kind: id("compaction"), id: Some(id("c1")), content: json(r#"{"status":"completed","saved":4000}"#) }),
                Change::Activity(Activity { kind: id("note"), id: None, content: json(r#"["not", "an object"]"#) }),
                Change::Problem(Problem { message: "retrying".to_owned(), code: Some(id("rate_limit")), fatal: false }),
            ],
            text("m", &["Tidy."]),
            vec![Change::Tasks(vec![task("Look", TaskStatus::Completed), task("Write", TaskStatus::Paused), task("?", TaskStatus::Unknown)])],
            step_over(1), end(Completed),
        ]),
    ]
}

/// A person is asked.
fn asking() -> Vec<Scene> {
    use Outcome::{Completed, NoText, Stopped};
    let before = || [start(), step(1), opened("a", "Bash"), ready("a", r#"{"command":"rm x"}"#)].concat();
    vec![
        scene("approval-allowed", Completed, "Gone.", vec![("a", Some(Status::Succeeded))], vec![
            before(), asked("a", "ask1", AskKind::Approval), replied("a", "ask1", Verdict::Allowed), status("a", Status::Running),
            settled("a", Status::Succeeded, None, r#""""#), text("m", &["Gone."]), step_over(1), end(Completed),
        ]),
        scene("approval-allowed-and-failed", Completed, "Sorry.", vec![("a", Some(Status::Failed))], vec![
            before(), asked("a", "ask1", AskKind::Approval), replied("a", "ask1", Verdict::Allowed),
            settled("a", Status::Failed, Some(Reason::TimedOut), r#""too slow""#), text("m", &["Sorry."]), step_over(1), end(Completed),
        ]),
        scene("approval-denied", Completed, "Fine.", vec![("a", Some(Status::Denied))], vec![
            before(), asked("a", "a", AskKind::Approval), replied("a", "a", Verdict::Denied),
            settled("a", Status::Denied, None, r#""The user said no.""#), text("m", &["Fine."]), step_over(1), end(Completed),
        ]),
        scene("denied-by-a-rule", Completed, "Fine.", vec![("a", Some(Status::Denied))], vec![
            before(), settled("a", Status::Denied, None, r#""No.""#), text("m", &["Fine."]), step_over(1), end(Completed),
        ]),
        scene("stopped-while-asking", Stopped, "", vec![("a", Some(Status::Cancelled))], vec![
            before(), asked("a", "ask1", AskKind::Approval), replied("a", "ask1", Verdict::Cancelled),
            settled("a", Status::Cancelled, Some(Reason::RunEnded), r#""It never ran.""#), end(Stopped),
        ]),
        scene("question-handed-over", NoText, "", vec![("q", Some(Status::HandedOver))], vec![
            start(), step(1), opened("q", "AskUserQuestion"), ready("q", r#"{"questions":[]}"#),
            asked("q", "ask1", AskKind::Question), replied("q", "ask1", Verdict::Cancelled),
            settled("q", Status::HandedOver, None, r#""The question went to the user.""#), step_over(1), end(NoText),
        ]),
        scene("question-answered", Completed, "Blue it is.", vec![("q", Some(Status::Succeeded))], vec![
            start(), step(1), called("q", "AskUserQuestion"), asked("q", "ask1", AskKind::Question), replied("q", "ask1", Verdict::Answered),
            settled("q", Status::Succeeded, None, r#""blue""#), text("m", &["Blue it is."]), step_over(1), end(Completed),
        ]),
        scene("ends-waiting", NoText, "", vec![("a", None), ("q", None)], vec![
            before(), asked("a", "ask1", AskKind::Approval), called("q", "AskUserQuestion"), asked("q", "ask2", AskKind::Question), step_over(1), end(NoText),
        ]),
        scene("asked-before-the-arguments", Completed, "Ok.", vec![("a", Some(Status::Succeeded))], vec![
            start(), step(1), opened("a", "Bash"), arguments("a", &[r#"{"comm"#]), asked("a", "ask1", AskKind::Approval), arguments("a", &[r#"and":"ls"}"#]),
            ready("a", r#"{"command":"ls"}"#), replied("a", "ask1", Verdict::Allowed), settled("a", Status::Succeeded, None, r#""ok""#),
            text("m", &["Ok."]), step_over(1), end(Completed),
        ]),
    ]
}

/// What the machine should never send, and what it may.
fn odd() -> Vec<Scene> {
    use Outcome::{Completed, Stopped};
    use Status::Succeeded;
    let delta = |name: &str, text: &str| vec![Change::TextDelta(part(name, None), text.to_owned())];
    vec![
        scene("result-before-call", Completed, "Odd.", vec![("a", Some(Succeeded))], vec![
            start(), step(1), vec![Change::ToolOpened { tool: tool("a"), name: id("unknown"), parent: None, title: None }],
            settled("a", Succeeded, Some(Reason::NeverCalled), r#"{"found":1}"#), text("m", &["Odd."]), step_over(1), end(Completed),
        ]),
        scene("nothing-is-closed", Stopped, "Half a", vec![("a", Some(Status::Cancelled)), ("b", Some(Status::Interrupted)), ("c", Some(Status::Cancelled))], vec![
            start(), step(1), delta("m", "Half a"), opened("a", "Write"), arguments("a", &[r#"{"te"#]),
            called("b", "Task"), status("b", Status::Running),
            vec![Change::TextOpened(part("s", Some("b"))), Change::TextDelta(part("s", Some("b")), "sub".to_owned())],
            opened("c", "Bash"), asked("c", "ask1", AskKind::Approval), vec![Change::ThoughtDelta(part("t", None), "hm".to_owned())], end(Stopped),
        ]),
        scene("no-start", Completed, "Hello.", vec![("a", Some(Succeeded))], vec![
            delta("m", "Hello."), settled("a", Succeeded, None, r#""ok""#), end(Completed),
        ]),
        scene("late", Completed, "Hello.", vec![("a", Some(Succeeded))], vec![
            start(), start(), step(1), text("m", &["Hello."]), called("a", "Bash"), settled("a", Succeeded, None, r#""ok""#), end(Completed),
            text("m2", &["Late."]), settled("a", Status::Failed, None, r#""late""#), called("z", "Bash"), end(Stopped), start(),
        ]),
        scene("one-id-for-all", Completed, "OneTwo", vec![("x", Some(Succeeded)), ("x~2", Some(Status::Failed))], vec![
            start(), step(1), text("x", &["One"]), called("x", "Bash"), settled("x", Succeeded, None, r#""1""#), step_over(1), step(2), text("x", &["Two"]),
            vec![
                Change::ToolOpened { tool: ToolRef { call: id("x"), turn: 2 }, name: id("Bash"), parent: None, title: None },
                Change::ToolSettled { tool: ToolRef { call: id("x"), turn: 2 }, status: Status::Failed, reason: None, content: json(r#""2""#) },
            ],
            step_over(2), end(Completed),
        ]),
        scene("spread-over-lines", Completed, "a\nb\u{2028}\u{1}\"\\", vec![("a\n\"b\"", Some(Succeeded))], vec![
            start(), step(1), text("m\n1", &["a\n", "b\u{2028}\u{1}\"\\"]), opened("a\n\"b\"", "To\"ol"),
            ready("a\n\"b\"", "{\n  \"x\": [\r\n 1, 2]\n}"), settled("a\n\"b\"", Succeeded, None, "{\n \"y\": \"\\n\"\n}"), step_over(1), end(Completed),
        ]),
        scene("arguments-across-steps", Completed, "On.", vec![("a", Some(Succeeded))], vec![
            start(), step(1), opened("a", "Bash"), arguments("a", &[r#"{"command""#]), step(2), text("m", &["On."]), arguments("a", &[":1}"]),
            ready("a", r#"{"command":1}"#), settled("a", Succeeded, None, r#""ok""#), end(Completed),
        ]),
        scene("arguments-that-are-something-else", Completed, "Ok.", vec![("a", Some(Succeeded))], vec![
            start(), step(1), opened("a", "Bash"), arguments("a", &[r#"{"command":"ls"}"#]), ready("a", r#"{"command":"ls -l"}"#),
            settled("a", Succeeded, None, r#""ok""#), text("m", &["Ok."]), step_over(1), end(Completed),
        ]),
    ]
}

fn scene(
    name: &'static str,
    outcome: Outcome,
    text: &'static str,
    calls: Vec<(&'static str, Option<Status>)>,
    changes: Vec<Vec<Change>>,
) -> Scene {
    Scene { name, changes: changes.concat(), outcome, text, calls }
}

fn id(name: &str) -> Id {
    Arc::from(name)
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|| panic!("`{text}` is JSON"))
}

fn tool(call: &str) -> ToolRef {
    ToolRef { call: id(call), turn: 1 }
}

fn part(name: &str, parent: Option<&str>) -> Part {
    Part { id: id(name), parent: parent.map(id) }
}

fn usage() -> Usage {
    Usage { input: 1200, output: 30, cached: 1000, reasoning: 10 }
}

fn task(content: &str, status: TaskStatus) -> Task {
    Task { id: Some(id(content)), content: content.to_owned(), status, active: None }
}

fn start() -> Vec<Change> {
    let started = Started { session: None, parent: None, agent: Some(id("claude-code")), model: Some(id("m-1")) };
    vec![Change::RunStarted { epoch: 1, at: Some(1_700_000_000_000), started }]
}

fn step(turn: u32) -> Vec<Change> {
    vec![Change::StepStarted { turn }]
}

fn step_over(turn: u32) -> Vec<Change> {
    vec![Change::StepEnded { turn }]
}

fn text(name: &str, deltas: &[&str]) -> Vec<Change> {
    spoken(Change::TextOpened, Change::TextDelta, Change::TextClosed, part(name, None), deltas)
}

fn thought(name: &str, deltas: &[&str]) -> Vec<Change> {
    spoken(Change::ThoughtOpened, Change::ThoughtDelta, Change::ThoughtClosed, part(name, None), deltas)
}

fn spoken(
    opened: fn(Part) -> Change,
    delta: fn(Part, String) -> Change,
    closed: fn(Part) -> Change,
    part: Part,
    deltas: &[&str],
) -> Vec<Change> {
    let pieces = deltas.iter().map(|piece| delta(part.clone(), (*piece).to_owned()));
    [opened(part.clone())].into_iter().chain(pieces).chain([closed(part.clone())]).collect()
}

fn opened(call: &str, name: &str) -> Vec<Change> {
    vec![Change::ToolOpened { tool: tool(call), name: id(name), parent: None, title: None }]
}

fn arguments(call: &str, deltas: &[&str]) -> Vec<Change> {
    let piece = |delta: &&str| Change::ToolArguments { tool: tool(call), delta: (*delta).to_owned() };
    deltas.iter().map(piece).collect()
}

fn ready(call: &str, input: &str) -> Vec<Change> {
    vec![Change::ToolReady { tool: tool(call), input: json(input) }]
}

fn called(call: &str, name: &str) -> Vec<Change> {
    [opened(call, name), ready(call, "{}"), status(call, Status::Running)].concat()
}

fn status(call: &str, status: Status) -> Vec<Change> {
    vec![Change::ToolStatus { tool: tool(call), status }]
}

fn progress(call: &str, content: &str) -> Vec<Change> {
    vec![Change::ToolProgress { tool: tool(call), content: json(content) }]
}

fn asked(call: &str, name: &str, kind: AskKind) -> Vec<Change> {
    let ask = Ask {
        call: CallRef { id: Some(id(call)), turn: Some(1) },
        id: Some(id(name)),
        kind,
        prompt: Some("May I?".to_owned()),
        choices: Some(json(r#"["red", {"label": "blue"}]"#)),
    };
    vec![Change::Asked { tool: tool(call), ask }]
}

fn replied(call: &str, name: &str, verdict: Verdict) -> Vec<Change> {
    vec![Change::AskClosed { tool: tool(call), id: id(name), verdict }]
}

fn settled(call: &str, status: Status, reason: Option<Reason>, content: &str) -> Vec<Change> {
    vec![Change::ToolSettled { tool: tool(call), status, reason, content: json(content) }]
}

fn end(outcome: Outcome) -> Vec<Change> {
    let ended = Ended { outcome: Some(outcome), text: None, problem: None, usage: Some(usage()) };
    vec![Change::RunEnded { ended, summary: Summary::default(), at: Some(1_700_000_009_000) }]
}

fn failed(message: &str, code: Option<&str>) -> Vec<Change> {
    let problem = Problem { message: message.to_owned(), code: code.map(id), fatal: true };
    let ended = Ended { outcome: Some(Outcome::Failed), text: None, problem: Some(problem), usage: None };
    vec![Change::RunEnded { ended, summary: Summary::default(), at: None }]
}
