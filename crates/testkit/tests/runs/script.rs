//! Events as words, so that a test reads like the run it is about.
//!
//! One event for each part between `;`: `start; call a; ok a; said m hello; end`. Where an id
//! stands, `-` means that there is none; `a@2` is the call `a` of turn 2.

use foxwedge_run::{
    Activity, Ask, AskKind, Body, Call, CallRef, Ended, Event, How, Id, Json, Outcome, Problem,
    Reply, Started, Status, Stop, Task, TaskStatus, Text, ToolResult, ToolsAvailable, Turn, Usage,
    Verdict,
};

/// The events of a source: they have no place.
pub(super) fn source(run: &str, script: &str) -> Vec<Event> {
    let run = Id::from(run);
    bodies(script).into_iter().map(|body| Event::new(&run, body)).collect()
}

/// The events of a log: they have their places, from 1 on.
pub(super) fn log(run: &str, epoch: u64, script: &str) -> Vec<Event> {
    let placed = |(event, seq)| Event { seq: Some(seq), epoch: Some(epoch), ..event };
    source(run, script).into_iter().zip(1..).map(placed).collect()
}

/// What the words say.
pub(super) fn bodies(script: &str) -> Vec<Body> {
    script.split(';').map(str::trim).filter(|part| !part.is_empty()).map(body).collect()
}

fn body(part: &str) -> Body {
    let (verb, rest) = part.split_once(' ').unwrap_or((part, ""));
    let (subject, words) = rest.split_once(' ').unwrap_or((rest, ""));
    let call = || which(subject);
    let result = |how| {
        let content = (!words.is_empty()).then(|| Json::string(words));
        Body::Result(ToolResult { call: call(), name: None, how, reason: None, content })
    };
    let asked = |kind| {
        let (id, prompt) = words.split_once(' ').unwrap_or((words, ""));
        let prompt = (!prompt.is_empty()).then(|| prompt.to_owned());
        Body::Asked(Ask { call: call(), id: id_of(id), kind, prompt, choices: None })
    };
    let replied = |verdict| {
        let (id, answer) = words.split_once(' ').unwrap_or((words, ""));
        let answer = (!answer.is_empty()).then(|| Json::string(answer));
        Body::Replied(Reply { call: call(), id: id_of(id), verdict, answer })
    };
    let text = |delta: Option<&str>, full: Option<&str>| {
        // Whose sub-agent says it stands behind a slash: `m/p`.
        let (message, parent) = subject.split_once('/').unwrap_or((subject, ""));
        Text {
            message: id_of(message),
            parent: id_of(parent),
            delta: delta.map(str::to_owned),
            full: full.map(str::to_owned),
        }
    };
    match verb {
        "start" => Body::Started(Started::default()),
        "turn" => Body::Turn(Turn { turn: subject.parse().ok(), message: id_of(words) }),
        "say" => Body::Text(text(Some(words), None)),
        "said" => Body::Text(text(None, Some(words))),
        "think" => Body::Thought(text(Some(words), None)),
        "thought" => Body::Thought(text(None, Some(words))),
        "call" => Body::Call(call_of(subject, words)),
        "args" => Body::Arguments { call: call(), delta: words.to_owned() },
        "progress" => Body::Progress { call: call(), content: Json::string(words) },
        "ok" => result(How::Ok),
        "error" => result(How::Error),
        "denied" => result(How::Denied),
        "late" => result(How::TimedOut),
        "skipped" => result(How::Skipped),
        "unstarted" => result(How::Cancelled),
        "broken" => result(How::Interrupted),
        "handed" => result(How::HandedOver),
        "off" => Body::Cancelled { call: call() },
        "ask" => asked(AskKind::Approval),
        "question" => asked(AskKind::Question),
        "allow" => replied(Verdict::Allowed),
        "deny" => replied(Verdict::Denied),
        "answer" => replied(Verdict::Answered),
        "unask" => replied(Verdict::Cancelled),
        "tools" => Body::ToolsAvailable(ToolsAvailable {
            version: subject.parse().ok(),
            ready: true,
            tools: words.split_whitespace().map(Id::from).collect(),
        }),
        "tasks" => Body::Tasks(rest.split_whitespace().map(task).collect()),
        "usage" => Body::Usage(Usage { input: number(subject), ..Usage::default() }),
        "card" => Body::Activity(Activity {
            kind: Id::from("card"),
            id: id_of(subject),
            content: Json::string(words),
        }),
        "problem" => Body::Problem(problem(rest, false)),
        "fatal" => Body::Problem(problem(rest, true)),
        "stop" => Body::Stop(Stop { grace: subject.parse().unwrap_or(0) }),
        "silence" if subject.is_empty() => Body::TimedOut { call: None },
        "silence" => Body::TimedOut { call: Some(call()) },
        "end" => Body::Ended(Ended {
            outcome: Outcome::from_name(subject),
            text: (!words.is_empty()).then(|| words.to_owned()),
            ..Ended::default()
        }),
        "odd" => Body::Unknown { kind: subject.to_owned(), raw: Json::string(words) },
        other => panic!("no event is called `{other}`"),
    }
}

/// `call a`: the tool `Bash` with all of its arguments. What differs is said: `name=`, `in=`,
/// `of=` the parent, `as=` the status, `title=`.
fn call_of(subject: &str, words: &str) -> Call {
    let mut call = Call {
        call: which(subject),
        name: Some(Id::from("Bash")),
        input: Json::parse("{}"),
        ..Call::default()
    };
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').expect("key=value");
        match key {
            "name" => call.name = id_of(value),
            "in" => call.input = Json::parse(value),
            "of" => call.parent = id_of(value),
            "as" => call.status = Some(Status::from_name(value).unwrap_or(Status::Unknown)),
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

fn id_of(word: &str) -> Option<Id> {
    (!word.is_empty() && word != "-").then(|| Id::from(word))
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}

fn problem(message: &str, fatal: bool) -> Problem {
    Problem { message: message.to_owned(), code: None, fatal }
}

fn task(word: &str) -> Task {
    let (content, status) = word.split_once('=').expect("task=status");
    let known = [TaskStatus::Pending, TaskStatus::InProgress, TaskStatus::Completed];
    let status = known.into_iter().find(|known| known.name() == status);
    let status = status.unwrap_or(TaskStatus::Unknown);
    Task { id: None, content: content.to_owned(), status, active: None }
}
