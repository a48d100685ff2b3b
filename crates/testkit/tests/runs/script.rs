//! Events as words, so that a test reads like the run it is about.
//!
//! One event for each part between `;`: `start; call a; ok a; said m hello; end`. Where an id
//! stands, `-` means that there is none; `a@2` is the call `a` of turn 2.

use foxwedge_run::{
    ActivityCard, ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, CallRef,
    EventPayload, Outcome, RawJson, RunEnd, RunEvent, RunProblem, RunStart, RunUsage, SharedId,
    StopRequest, TaskItem, TaskStatus, TextUpdate, ToolCallUpdate, ToolOutcome, ToolResult,
    ToolStatus, ToolsAvailable, TurnStart,
};

/// The events of a source: they have no place.
pub(super) fn source(run: &str, script: &str) -> Vec<RunEvent> {
    let run = SharedId::from(run);
    bodies(script).into_iter().map(|body| RunEvent::new(&run, body)).collect()
}

/// The events of a log: they have their places, from 1 on.
pub(super) fn log(run: &str, epoch: u64, script: &str) -> Vec<RunEvent> {
    let placed = |(event, seq)| RunEvent { seq: Some(seq), epoch: Some(epoch), ..event };
    source(run, script).into_iter().zip(1..).map(placed).collect()
}

/// What the words say.
pub(super) fn bodies(script: &str) -> Vec<EventPayload> {
    script.split(';').map(str::trim).filter(|part| !part.is_empty()).map(body).collect()
}

fn body(part: &str) -> EventPayload {
    let (verb, rest) = part.split_once(' ').unwrap_or((part, ""));
    let (subject, words) = rest.split_once(' ').unwrap_or((rest, ""));
    let call = || which(subject);
    let result = |how| {
        let content = (!words.is_empty()).then(|| RawJson::string(words));
        EventPayload::ToolResult(ToolResult {
            call: call(),
            name: None,
            outcome: how,
            reason: None,
            content,
        })
    };
    let asked = |kind| {
        let (id, prompt) = words.split_once(' ').unwrap_or((words, ""));
        let prompt = (!prompt.is_empty()).then(|| prompt.to_owned());
        EventPayload::ApprovalRequested(ApprovalRequest {
            call: call(),
            id: id_of(id),
            kind,
            prompt,
            choices: None,
        })
    };
    let replied = |verdict| {
        let (id, answer) = words.split_once(' ').unwrap_or((words, ""));
        let answer = (!answer.is_empty()).then(|| RawJson::string(answer));
        EventPayload::ApprovalReplied(ApprovalReply {
            call: call(),
            id: id_of(id),
            verdict,
            answer,
        })
    };
    let text = |delta: Option<&str>, full: Option<&str>| {
        // Whose sub-agent says it stands behind a slash: `m/p`.
        let (message, parent) = subject.split_once('/').unwrap_or((subject, ""));
        TextUpdate {
            message: id_of(message),
            parent: id_of(parent),
            delta: delta.map(str::to_owned),
            full: full.map(str::to_owned),
        }
    };
    match verb {
        "start" => EventPayload::Started(RunStart::default()),
        "turn" => EventPayload::TurnStarted(TurnStart {
            turn: subject.parse().ok(),
            message: id_of(words),
        }),
        "say" => EventPayload::Text(text(Some(words), None)),
        "said" => EventPayload::Text(text(None, Some(words))),
        "think" => EventPayload::Thought(text(Some(words), None)),
        "thought" => EventPayload::Thought(text(None, Some(words))),
        "call" => EventPayload::ToolCall(call_of(subject, words)),
        "args" => EventPayload::ToolArguments { call: call(), delta: words.to_owned() },
        "progress" => EventPayload::ToolProgress { call: call(), content: RawJson::string(words) },
        "ok" => result(ToolOutcome::Ok),
        "error" => result(ToolOutcome::Error),
        "denied" => result(ToolOutcome::Denied),
        "late" => result(ToolOutcome::TimedOut),
        "skipped" => result(ToolOutcome::Skipped),
        "unstarted" => result(ToolOutcome::Cancelled),
        "broken" => result(ToolOutcome::Interrupted),
        "handed" => result(ToolOutcome::HandedOver),
        "off" => EventPayload::ToolCancelled { call: call() },
        "ask" => asked(ApprovalKind::Approval),
        "question" => asked(ApprovalKind::Question),
        "allow" => replied(ApprovalVerdict::Allowed),
        "deny" => replied(ApprovalVerdict::Denied),
        "answer" => replied(ApprovalVerdict::Answered),
        "unask" => replied(ApprovalVerdict::Cancelled),
        "tools" => EventPayload::ToolsAvailable(ToolsAvailable {
            version: subject.parse().ok(),
            ready: true,
            tools: words.split_whitespace().map(SharedId::from).collect(),
        }),
        "tasks" => EventPayload::Tasks(rest.split_whitespace().map(task).collect()),
        "usage" => EventPayload::Usage(RunUsage { input: number(subject), ..RunUsage::default() }),
        "card" => EventPayload::Activity(ActivityCard {
            kind: SharedId::from("card"),
            id: id_of(subject),
            content: RawJson::string(words),
        }),
        "problem" => EventPayload::Problem(problem(rest, false)),
        "fatal" => EventPayload::Problem(problem(rest, true)),
        "stop" => EventPayload::Stop(StopRequest { grace: subject.parse().unwrap_or(0) }),
        "silence" if subject.is_empty() => EventPayload::TimedOut { call: None },
        "silence" => EventPayload::TimedOut { call: Some(call()) },
        "end" => EventPayload::Ended(RunEnd {
            outcome: Outcome::from_name(subject),
            text: (!words.is_empty()).then(|| words.to_owned()),
            ..RunEnd::default()
        }),
        "odd" => EventPayload::Unknown { kind: subject.to_owned(), raw: RawJson::string(words) },
        other => panic!("no event is called `{other}`"),
    }
}

/// `call a`: the tool `Bash` with all of its arguments. What differs is said: `name=`, `in=`,
/// `of=` the parent, `as=` the status, `title=`.
fn call_of(subject: &str, words: &str) -> ToolCallUpdate {
    let mut call = ToolCallUpdate {
        call: which(subject),
        name: Some(SharedId::from("Bash")),
        input: RawJson::parse("{}"),
        ..ToolCallUpdate::default()
    };
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').expect("key=value");
        match key {
            "name" => call.name = id_of(value),
            "in" => call.input = RawJson::parse(value),
            "of" => call.parent = id_of(value),
            "as" => call.status = Some(ToolStatus::from_name(value).unwrap_or(ToolStatus::Unknown)),
            "title" => call.title = Some(value.to_owned()),
            other => panic!("a call has no `{other}`"),
        }
    }
    call
}

fn which(subject: &str) -> CallRef {
    let (id, turn) = subject.split_once('@').unwrap_or((subject, ""));
    CallRef { id: id_of(id), turn: turn.parse().ok() }
}

fn id_of(word: &str) -> Option<SharedId> {
    (!word.is_empty() && word != "-").then(|| SharedId::from(word))
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

fn problem(message: &str, fatal: bool) -> RunProblem {
    RunProblem { message: message.to_owned(), code: None, fatal }
}

fn task(word: &str) -> TaskItem {
    let (content, status) = word.split_once('=').expect("task=status");
    let known = [TaskStatus::Pending, TaskStatus::InProgress, TaskStatus::Completed];
    let status = known.into_iter().find(|known| known.name() == status);
    let status = status.unwrap_or(TaskStatus::Unknown);
    TaskItem { id: None, content: content.to_owned(), status, active: None }
}
