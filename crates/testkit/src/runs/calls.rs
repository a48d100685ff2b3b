//! Generates the events of tool calls: announced, written, awaiting approval, running, answered, or
//! left open.

use foxwedge_run::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, CallRef, EventPayload, RawJson,
    RunEvent, SharedId, ToolCallUpdate, ToolOutcome, ToolResult, ToolStatus,
};

use super::generate::{CallIdHabit, RunGenerator, json};
use crate::Random;

/// The calls of a turn: the events of each, in order.
pub(super) fn calls(generator: &mut RunGenerator<'_>) -> Vec<Vec<RunEvent>> {
    let count = *generator.random.pick(&[0, 1, 1, 2, 2, 3]);
    let mut lives = Vec::new();
    for number in 0..count {
        let which = named(generator, number);
        let name = *generator.random.pick(&["Bash", "Bash", "Read", "Task", "AskUserQuestion"]);
        if name == "Task"
            && let Some(parent) = &which.id
        {
            for child in 0..generator.random.below(3) {
                let id = SharedId::from(format!("{parent}-child-{child}"));
                let which = CallRef { id: Some(id), turn: which.turn };
                let life = life(generator, which, "Bash", Some(parent.clone()));
                lives.push(life);
            }
        }
        let life = life(generator, which, name, None);
        lives.push(life);
    }
    lives
}

/// Interleaves the events of several calls, each in its own order.
pub(super) fn merged(random: &mut Random, lives: Vec<Vec<RunEvent>>) -> Vec<RunEvent> {
    let mut lives: Vec<_> = lives.into_iter().map(Vec::into_iter).collect();
    let mut events = Vec::new();
    while !lives.is_empty() {
        let at = random.below(lives.len());
        // A few at a time, as real sources do.
        for _ in 0..=random.below(3) {
            match lives[at].next() {
                Some(event) => events.push(event),
                None => {
                    lives.remove(at);
                    break;
                }
            }
        }
    }
    events
}

fn named(generator: &mut RunGenerator<'_>, number: usize) -> CallRef {
    generator.calls += 1;
    let habit = match generator.habit {
        CallIdHabit::Mixed => *generator.random.pick(&[
            CallIdHabit::Unique,
            CallIdHabit::Again,
            CallIdHabit::AgainWithTurn,
            CallIdHabit::Nameless,
        ]),
        habit => habit,
    };
    match habit {
        CallIdHabit::Unique | CallIdHabit::Mixed => {
            CallRef { id: Some(SharedId::from(format!("toolu_{}", generator.calls))), turn: None }
        }
        CallIdHabit::AgainWithTurn => CallRef {
            id: Some(SharedId::from(format!("call_{number}"))),
            turn: Some(generator.turn),
        },
        CallIdHabit::Again => {
            CallRef { id: Some(SharedId::from(format!("call_{number}"))), turn: None }
        }
        CallIdHabit::Nameless => CallRef {
            id: None,
            turn: if generator.random.chance(30) { Some(generator.turn) } else { None },
        },
    }
}

fn life(
    generator: &mut RunGenerator<'_>,
    which: CallRef,
    name: &str,
    parent: Option<SharedId>,
) -> Vec<RunEvent> {
    let call = ToolCallUpdate {
        call: which.clone(),
        name: Some(SharedId::from(name)),
        parent,
        input: None,
        title: generator.random.chance(30).then(|| format!("a {name} call")),
        status: None,
    };
    let mut events = Vec::new();
    if generator.random.chance(40) {
        let status = generator.random.chance(50).then_some(ToolStatus::Pending);
        let name = call.name.clone().filter(|_| generator.random.chance(90));
        events.push(generator.event(EventPayload::ToolCall(ToolCallUpdate {
            name,
            status,
            ..call.clone()
        })));
        if generator.random.chance(60) {
            for delta in ["{\"command\":", "\"ls ", "\u{1f600}\"}"] {
                let body =
                    EventPayload::ToolArguments { call: which.clone(), delta: delta.to_owned() };
                events.push(generator.event(body));
            }
        }
    }
    if generator.random.chance(90) {
        let input =
            *generator.random.pick(&[r#"{"command":"ls"}"#, "{}", r#"{"n": 1.50, "deep":[[]]}"#]);
        let statuses = [
            None,
            None,
            Some(ToolStatus::Running),
            Some(ToolStatus::AwaitingApproval),
            Some(ToolStatus::Unknown),
        ];
        let (input, status) = (Some(json(input)), *generator.random.pick(&statuses));
        events.push(generator.event(EventPayload::ToolCall(ToolCallUpdate {
            input,
            status,
            ..call.clone()
        })));
    }
    if name == "AskUserQuestion" && generator.random.chance(70) || generator.random.chance(15) {
        events.extend(asking(generator, &which, name));
    }
    if generator.random.chance(40) {
        let again = ToolCallUpdate { status: Some(ToolStatus::Running), ..call };
        events.push(generator.event(EventPayload::ToolCall(again)));
    }
    if generator.random.chance(20) {
        let content = json(r#""12 %""#);
        events.push(generator.event(EventPayload::ToolProgress { call: which.clone(), content }));
    }
    events.extend(ending(generator, which.clone(), name));
    if generator.random.chance(15) {
        events.push(belated_no(generator, which));
    }
    events
}

/// A denial of a call that arrives after its result.
fn belated_no(generator: &mut RunGenerator<'_>, which: CallRef) -> RunEvent {
    let body = if generator.random.chance(70) {
        let (name, content) = (None, generator.random.chance(30).then(|| json(r#""no""#)));
        let how =
            if generator.random.chance(85) { ToolOutcome::Denied } else { ToolOutcome::HandedOver };
        EventPayload::ToolResult(ToolResult {
            call: which,
            name,
            outcome: how,
            reason: None,
            content,
        })
    } else {
        let (id, verdict) = (None, ApprovalVerdict::Denied);
        EventPayload::ApprovalReplied(ApprovalReply { call: which, id, verdict, answer: None })
    };
    generator.event(body)
}

fn asking(generator: &mut RunGenerator<'_>, which: &CallRef, name: &str) -> Vec<RunEvent> {
    let kind =
        if name == "AskUserQuestion" { ApprovalKind::Question } else { ApprovalKind::Approval };
    let id =
        generator.random.chance(50).then(|| SharedId::from(format!("ask-{}", generator.calls)));
    let ask = ApprovalRequest {
        call: which.clone(),
        id: id.clone(),
        kind,
        prompt: generator.random.chance(50).then(|| "Which one?".to_owned()),
        choices: generator.random.chance(30).then(|| json(r#"["a","b"]"#)),
    };
    let mut events = Vec::new();
    if generator.random.chance(85) {
        events.push(generator.event(EventPayload::ApprovalRequested(ask)));
    }
    if generator.random.chance(70) {
        let verdicts = match kind {
            ApprovalKind::Approval => {
                [ApprovalVerdict::Allowed, ApprovalVerdict::Allowed, ApprovalVerdict::Denied]
            }
            ApprovalKind::Question => {
                [ApprovalVerdict::Answered, ApprovalVerdict::Answered, ApprovalVerdict::Cancelled]
            }
        };
        let verdict = *generator.random.pick(&verdicts);
        let answer = (verdict == ApprovalVerdict::Answered).then(|| json(r#"{"0":"a"}"#));
        let reply = ApprovalReply { call: which.clone(), id, verdict, answer };
        events.push(generator.event(EventPayload::ApprovalReplied(reply)));
    }
    events
}

fn ending(generator: &mut RunGenerator<'_>, which: CallRef, name: &str) -> Option<RunEvent> {
    const HOWS: [ToolOutcome; 8] = [
        ToolOutcome::Ok,
        ToolOutcome::Error,
        ToolOutcome::Denied,
        ToolOutcome::TimedOut,
        ToolOutcome::Cancelled,
        ToolOutcome::Interrupted,
        ToolOutcome::Skipped,
        ToolOutcome::HandedOver,
    ];
    let body = match generator.random.below(20) {
        0..=2 => return None,
        3 => EventPayload::ToolCancelled { call: which },
        4 => EventPayload::TimedOut { call: Some(which) },
        chance => {
            let how = if chance < 14 { ToolOutcome::Ok } else { *generator.random.pick(&HOWS) };
            let content = content(generator, how);
            let name = generator.random.chance(20).then(|| SharedId::from(name));
            EventPayload::ToolResult(ToolResult {
                call: which,
                name,
                outcome: how,
                reason: None,
                content,
            })
        }
    };
    Some(generator.event(body))
}

fn content(generator: &mut RunGenerator<'_>, how: ToolOutcome) -> Option<RawJson> {
    const PLAIN: [&str; 4] = [
        r#""3 files""#,
        r#"[{"type":"text","text":"ok"}]"#,
        r#"{"exit":0,"out":"\ud83d\ude00"}"#,
        "17",
    ];
    const ERRORS: [&str; 6] = [
        r#""no such file""#,
        r#""The user denied the call""#,
        r#"[{"type":"text","text":"\u95ee\u9898\u5df2\u4ea4\u7531\u754c\u9762"}]"#,
        r#""<tool_use_error>InputValidationError: questions</tool_use_error>""#,
        r#"[{"type":"text","text":" InputValidationError: [{}]"}]"#,
        r#""Error: InputValidationError""#,
    ];
    let texts: &[&str] = if how == ToolOutcome::Ok { &PLAIN } else { &ERRORS };
    let text: &str = generator.random.pick::<&str>(texts);
    generator.random.chance(80).then(|| json(text))
}
