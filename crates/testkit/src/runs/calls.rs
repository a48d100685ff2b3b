//! The lives of calls: announced, written, asked about, at work, answered, or left open.

use foxwedge_run::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, CallRef, EventPayload, RawJson,
    RunEvent, SharedId, ToolCallUpdate, ToolOutcome, ToolResult, ToolStatus,
};

use super::generate::{Habit, Teller, json};
use crate::Random;

/// The calls of a turn: the events of each, in order.
pub(super) fn calls(teller: &mut Teller<'_>) -> Vec<Vec<RunEvent>> {
    let count = *teller.random.pick(&[0, 1, 1, 2, 2, 3]);
    let mut lives = Vec::new();
    for number in 0..count {
        let which = named(teller, number);
        let name = *teller.random.pick(&["Bash", "Bash", "Read", "Task", "AskUserQuestion"]);
        if name == "Task"
            && let Some(parent) = &which.id
        {
            for child in 0..teller.random.below(3) {
                let id = SharedId::from(format!("{parent}-child-{child}"));
                let which = CallRef { id: Some(id), turn: which.turn };
                let life = life(teller, which, "Bash", Some(parent.clone()));
                lives.push(life);
            }
        }
        let life = life(teller, which, name, None);
        lives.push(life);
    }
    lives
}

/// The events of several lives, each in its own order, at the same time.
pub(super) fn merged(random: &mut Random, lives: Vec<Vec<RunEvent>>) -> Vec<RunEvent> {
    let mut lives: Vec<_> = lives.into_iter().map(Vec::into_iter).collect();
    let mut told = Vec::new();
    while !lives.is_empty() {
        let at = random.below(lives.len());
        // A few at a time, as sources do.
        for _ in 0..=random.below(3) {
            match lives[at].next() {
                Some(event) => told.push(event),
                None => {
                    lives.remove(at);
                    break;
                }
            }
        }
    }
    told
}

fn named(teller: &mut Teller<'_>, number: usize) -> CallRef {
    teller.calls += 1;
    let habit = match teller.habit {
        Habit::Mixed => *teller.random.pick(&[
            Habit::Unique,
            Habit::Again,
            Habit::AgainWithTurn,
            Habit::Nameless,
        ]),
        habit => habit,
    };
    match habit {
        Habit::Unique | Habit::Mixed => {
            CallRef { id: Some(SharedId::from(format!("toolu_{}", teller.calls))), turn: None }
        }
        Habit::AgainWithTurn => {
            CallRef { id: Some(SharedId::from(format!("call_{number}"))), turn: Some(teller.turn) }
        }
        Habit::Again => CallRef { id: Some(SharedId::from(format!("call_{number}"))), turn: None },
        Habit::Nameless => CallRef {
            id: None,
            turn: if teller.random.chance(30) { Some(teller.turn) } else { None },
        },
    }
}

fn life(
    teller: &mut Teller<'_>,
    which: CallRef,
    name: &str,
    parent: Option<SharedId>,
) -> Vec<RunEvent> {
    let call = ToolCallUpdate {
        call: which.clone(),
        name: Some(SharedId::from(name)),
        parent,
        input: None,
        title: teller.random.chance(30).then(|| format!("a {name} call")),
        status: None,
    };
    let mut told = Vec::new();
    if teller.random.chance(40) {
        let status = teller.random.chance(50).then_some(ToolStatus::Pending);
        let name = call.name.clone().filter(|_| teller.random.chance(90));
        told.push(teller.event(EventPayload::ToolCall(ToolCallUpdate {
            name,
            status,
            ..call.clone()
        })));
        if teller.random.chance(60) {
            for delta in ["{\"command\":", "\"ls ", "\u{1f600}\"}"] {
                let body =
                    EventPayload::ToolArguments { call: which.clone(), delta: delta.to_owned() };
                told.push(teller.event(body));
            }
        }
    }
    if teller.random.chance(90) {
        let input =
            *teller.random.pick(&[r#"{"command":"ls"}"#, "{}", r#"{"n": 1.50, "deep":[[]]}"#]);
        let statuses = [
            None,
            None,
            Some(ToolStatus::Running),
            Some(ToolStatus::AwaitingApproval),
            Some(ToolStatus::Unknown),
        ];
        let (input, status) = (Some(json(input)), *teller.random.pick(&statuses));
        told.push(teller.event(EventPayload::ToolCall(ToolCallUpdate {
            input,
            status,
            ..call.clone()
        })));
    }
    if name == "AskUserQuestion" && teller.random.chance(70) || teller.random.chance(15) {
        told.extend(asking(teller, &which, name));
    }
    if teller.random.chance(40) {
        let again = ToolCallUpdate { status: Some(ToolStatus::Running), ..call };
        told.push(teller.event(EventPayload::ToolCall(again)));
    }
    if teller.random.chance(20) {
        let content = json(r#""12 %""#);
        told.push(teller.event(EventPayload::ToolProgress { call: which.clone(), content }));
    }
    told.extend(ending(teller, which.clone(), name));
    if teller.random.chance(15) {
        told.push(belated_no(teller, which));
    }
    told
}

/// Somebody says that a call was denied, behind whatever it answered.
fn belated_no(teller: &mut Teller<'_>, which: CallRef) -> RunEvent {
    let body = if teller.random.chance(70) {
        let (name, content) = (None, teller.random.chance(30).then(|| json(r#""no""#)));
        let how =
            if teller.random.chance(85) { ToolOutcome::Denied } else { ToolOutcome::HandedOver };
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
    teller.event(body)
}

fn asking(teller: &mut Teller<'_>, which: &CallRef, name: &str) -> Vec<RunEvent> {
    let kind =
        if name == "AskUserQuestion" { ApprovalKind::Question } else { ApprovalKind::Approval };
    let id = teller.random.chance(50).then(|| SharedId::from(format!("ask-{}", teller.calls)));
    let ask = ApprovalRequest {
        call: which.clone(),
        id: id.clone(),
        kind,
        prompt: teller.random.chance(50).then(|| "Which one?".to_owned()),
        choices: teller.random.chance(30).then(|| json(r#"["a","b"]"#)),
    };
    let mut told = Vec::new();
    if teller.random.chance(85) {
        told.push(teller.event(EventPayload::ApprovalRequested(ask)));
    }
    if teller.random.chance(70) {
        let verdicts = match kind {
            ApprovalKind::Approval => {
                [ApprovalVerdict::Allowed, ApprovalVerdict::Allowed, ApprovalVerdict::Denied]
            }
            ApprovalKind::Question => {
                [ApprovalVerdict::Answered, ApprovalVerdict::Answered, ApprovalVerdict::Cancelled]
            }
        };
        let verdict = *teller.random.pick(&verdicts);
        let answer = (verdict == ApprovalVerdict::Answered).then(|| json(r#"{"0":"a"}"#));
        let reply = ApprovalReply { call: which.clone(), id, verdict, answer };
        told.push(teller.event(EventPayload::ApprovalReplied(reply)));
    }
    told
}

fn ending(teller: &mut Teller<'_>, which: CallRef, name: &str) -> Option<RunEvent> {
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
    let body = match teller.random.below(20) {
        0..=2 => return None,
        3 => EventPayload::ToolCancelled { call: which },
        4 => EventPayload::TimedOut { call: Some(which) },
        chance => {
            let how = if chance < 14 { ToolOutcome::Ok } else { *teller.random.pick(&HOWS) };
            let content = content(teller, how);
            let name = teller.random.chance(20).then(|| SharedId::from(name));
            EventPayload::ToolResult(ToolResult {
                call: which,
                name,
                outcome: how,
                reason: None,
                content,
            })
        }
    };
    Some(teller.event(body))
}

fn content(teller: &mut Teller<'_>, how: ToolOutcome) -> Option<RawJson> {
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
    let text: &str = teller.random.pick::<&str>(texts);
    teller.random.chance(80).then(|| json(text))
}
