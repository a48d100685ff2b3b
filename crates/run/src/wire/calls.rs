//! What events say about calls: which one, what it is, how it ended, and who has to decide.

use super::{object::Object, read::Lacking, words};
use crate::{
    Ask, AskKind, Body, Call, CallRef, How, Id, Json, Reason, Reply, Status, ToolResult, Verdict,
};

/// The names of a call's id. Agents use one or several of them.
const IDS: [&str; 4] = ["toolCallId", "toolId", "toolUseId", "callId"];

/// Which call an event is about.
pub(super) fn which(object: &Object<'_>) -> CallRef {
    CallRef { id: object.id(&IDS), turn: turn(object) }
}

/// Which call, where `id` is the call's own.
pub(super) fn which_or_id(object: &Object<'_>) -> CallRef {
    let call = which(object);
    CallRef { id: call.id.or_else(|| object.id(&["id"])), ..call }
}

/// Which call, if the event is about one: an empty id is a call without id.
pub(super) fn which_if(object: &Object<'_>) -> Option<CallRef> {
    let call = which(object);
    let is_one = call.turn.is_some() || object.string(&IDS).is_some() || call.id.is_some();
    is_one.then_some(call)
}

/// The number of a turn.
pub(super) fn turn(object: &Object<'_>) -> Option<u32> {
    let number = object.number(&["turn"])?;
    let turn = u32::try_from(number).ok();
    if turn.is_none() {
        object.note(&format!("turn {number}"));
    }
    turn
}

/// The call whose sub-agent it comes from.
pub(super) fn parent(object: &Object<'_>) -> Option<Id> {
    object.id(&["parentToolCallId", "parentToolUseId", "parentToolId"])
}

pub(super) fn call(object: &Object<'_>, call: CallRef) -> Call {
    Call {
        call,
        name: object.id(&["name", "toolName"]),
        parent: parent(object),
        input: object.json(&["input", "args"]).or_else(|| spelled_arguments(object)),
        title: object.text(&["title", "description"]),
        status: status(object),
    }
}

/// Some agents put the arguments into a string.
fn spelled_arguments(object: &Object<'_>) -> Option<Json> {
    let inner = object.string(&["arguments"]).and_then(|text| Json::parse(&text));
    inner.or_else(|| object.json(&["arguments"]))
}

/// The status of a call that is open. A final one says nothing: it comes with the result.
fn status(object: &Object<'_>) -> Option<Status> {
    let asks = object.flag(&["requiresApproval"]) == Some(true);
    let Some(word) = object.word(&["status"]) else {
        return asks.then_some(Status::AwaitingApproval);
    };
    match Status::from_name(&word) {
        None => {
            object.note(&word);
            Some(Status::Unknown)
        }
        Some(Status::Pending) if asks => Some(Status::AwaitingApproval),
        Some(status) => (!status.is_final()).then_some(status),
    }
}

pub(super) fn arguments(object: &Object<'_>) -> Result<Body, Lacking> {
    let delta = object.string(&["delta"]).ok_or("tool-arguments without delta")?;
    Ok(Body::Arguments { call: which(object), delta: delta.into_owned() })
}

pub(super) fn result(object: &Object<'_>) -> ToolResult {
    let (how, reason) = how(object);
    ToolResult {
        call: which(object),
        name: object.id(&["name", "toolName"]),
        how,
        reason,
        content: object.json(&["content", "result", "output"]),
    }
}

fn how(object: &Object<'_>) -> (How, Option<Reason>) {
    let reason = reason(object);
    let exact = object.string(&["how"]).and_then(|word| words::how_from_name(&word));
    if let Some(how) = exact {
        return (how, reason);
    }
    let is_error = object.flag(&["isError"]).unwrap_or(false);
    let by_flag = if is_error { How::Error } else { How::Ok };
    let said = match object.word(&["status"]) {
        None => by_flag,
        Some(word) => words::how_from_name(&word).unwrap_or_else(|| {
            object.note(&word);
            by_flag
        }),
    };
    // For some agents a call that came to its end is complete, error or not.
    let how = if said == How::Ok { by_flag } else { said };
    words::how(how, reason)
}

/// The reason, if it is one of ours. Sentences are what a person said, and nobody else's business.
fn reason(object: &Object<'_>) -> Option<Reason> {
    let word = object.word(&["reason"])?;
    let reason = Reason::from_name(&word);
    if reason.is_none() {
        object.note(if word.contains(char::is_whitespace) { "reason" } else { &word });
    }
    reason
}

pub(super) fn ask(object: &Object<'_>, kind: AskKind) -> Ask {
    Ask {
        call: which(object),
        id: request(object),
        kind,
        prompt: object.text(&["prompt", "question", "message"]),
        choices: object.json(&["choices", "options", "questions"]),
    }
}

/// A decision. Without a word for it nothing is decided, least of all that a call may run.
pub(super) fn reply(kind: &str, object: &Object<'_>) -> Result<Reply, Lacking> {
    let answer = object.json(&["answer", "answers"]);
    let verdict = match object.word(&["verdict"]) {
        Some(word) => words::verdict(&word).ok_or_else(|| word.into_owned())?,
        None => match object.flag(&["approved"]) {
            Some(true) => Verdict::Allowed,
            Some(false) => Verdict::Denied,
            None if kind == "question-answered" && answer.is_some() => Verdict::Answered,
            None => return Err(format!("{kind} without verdict").into()),
        },
    };
    Ok(Reply { call: which(object), id: request(object), verdict, answer })
}

fn request(object: &Object<'_>) -> Option<Id> {
    object.id(&["requestId", "approvalId", "questionId", "id"])
}
