//! What events say about calls: which one, what it is, how it ended, and who has to decide.

use super::{enum_names, object::EventObject, read::MissingField};
use crate::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, CallRef, EventPayload, RawJson,
    SharedId, ToolCallUpdate, ToolOutcome, ToolResult, ToolStatus, ToolStatusReason,
};

/// The names of a call's id. Agents use one or several of them.
const IDS: [&str; 4] = ["toolCallId", "toolId", "toolUseId", "callId"];

/// Which call an event is about.
pub(super) fn read_call_ref(object: &EventObject<'_>) -> CallRef {
    CallRef { id: object.id(&IDS), turn: read_turn(object) }
}

/// Which call, where `id` is the call's own.
pub(super) fn read_call_ref_or_id(object: &EventObject<'_>) -> CallRef {
    let call = read_call_ref(object);
    CallRef { id: call.id.or_else(|| object.id(&["id"])), ..call }
}

/// Which call, if the event is about one: an empty id is a call without id.
pub(super) fn read_optional_call_ref(object: &EventObject<'_>) -> Option<CallRef> {
    let call = read_call_ref(object);
    let is_one = call.turn.is_some() || object.string(&IDS).is_some() || call.id.is_some();
    is_one.then_some(call)
}

/// The number of a turn.
pub(super) fn read_turn(object: &EventObject<'_>) -> Option<u32> {
    let number = object.number(&["turn"])?;
    let turn = u32::try_from(number).ok();
    if turn.is_none() {
        object.note_unknown(&format!("turn {number}"));
    }
    turn
}

/// The call whose sub-agent it comes from.
pub(super) fn read_parent(object: &EventObject<'_>) -> Option<SharedId> {
    object.id(&["parentToolCallId", "parentToolUseId", "parentToolId"])
}

pub(super) fn read_call(object: &EventObject<'_>, call: CallRef) -> ToolCallUpdate {
    ToolCallUpdate {
        call,
        name: object.id(&["name", "toolName"]),
        parent: read_parent(object),
        input: object.json(&["input", "args"]).or_else(|| read_string_arguments(object)),
        title: object.text(&["title", "description"]),
        status: read_status(object),
    }
}

/// Some agents put the arguments into a string.
fn read_string_arguments(object: &EventObject<'_>) -> Option<RawJson> {
    let inner = object.string(&["arguments"]).and_then(|text| RawJson::parse(&text));
    inner.or_else(|| object.json(&["arguments"]))
}

/// The status of a call that is open. A final one says nothing: it comes with the result.
fn read_status(object: &EventObject<'_>) -> Option<ToolStatus> {
    let asks = object.flag(&["requiresApproval"]) == Some(true);
    let Some(word) = object.word(&["status"]) else {
        return asks.then_some(ToolStatus::AwaitingApproval);
    };
    match ToolStatus::from_name(&word) {
        None => {
            object.note_unknown(&word);
            Some(ToolStatus::Unknown)
        }
        Some(ToolStatus::Pending) if asks => Some(ToolStatus::AwaitingApproval),
        Some(status) => (!status.is_final()).then_some(status),
    }
}

pub(super) fn read_arguments(object: &EventObject<'_>) -> Result<EventPayload, MissingField> {
    let delta = object.string(&["delta"]).ok_or("tool-arguments without delta")?;
    Ok(EventPayload::ToolArguments { call: read_call_ref(object), delta: delta.into_owned() })
}

pub(super) fn read_result(object: &EventObject<'_>) -> ToolResult {
    let (how, reason) = read_outcome(object);
    ToolResult {
        call: read_call_ref(object),
        name: object.id(&["name", "toolName"]),
        outcome: how,
        reason,
        content: object.json(&["content", "result", "output"]),
    }
}

fn read_outcome(object: &EventObject<'_>) -> (ToolOutcome, Option<ToolStatusReason>) {
    let reason = read_reason(object);
    let exact = object.string(&["how"]).and_then(|word| enum_names::outcome_from_name(&word));
    if let Some(how) = exact {
        return (how, reason);
    }
    let is_error = object.flag(&["isError"]).unwrap_or(false);
    let by_flag = if is_error { ToolOutcome::Error } else { ToolOutcome::Ok };
    let said = match object.word(&["status"]) {
        None => by_flag,
        Some(word) => enum_names::outcome_from_name(&word).unwrap_or_else(|| {
            object.note_unknown(&word);
            by_flag
        }),
    };
    // For some agents a call that came to its end is complete, error or not.
    let how = if said == ToolOutcome::Ok { by_flag } else { said };
    enum_names::combine_outcome(how, reason)
}

/// The reason, if it is one of ours. Sentences are what a person said, and nobody else's business.
fn read_reason(object: &EventObject<'_>) -> Option<ToolStatusReason> {
    let word = object.word(&["reason"])?;
    let reason = ToolStatusReason::from_name(&word);
    if reason.is_none() {
        object.note_unknown(if word.contains(char::is_whitespace) { "reason" } else { &word });
    }
    reason
}

pub(super) fn read_approval_request(
    object: &EventObject<'_>,
    kind: ApprovalKind,
) -> ApprovalRequest {
    ApprovalRequest {
        call: read_call_ref(object),
        id: read_request_id(object),
        kind,
        prompt: object.text(&["prompt", "question", "message"]),
        choices: object.json(&["choices", "options", "questions"]),
    }
}

/// A decision. Without a word for it nothing is decided, least of all that a call may run.
pub(super) fn read_approval_reply(
    kind: &str,
    object: &EventObject<'_>,
) -> Result<ApprovalReply, MissingField> {
    let answer = object.json(&["answer", "answers"]);
    let verdict = match object.word(&["verdict"]) {
        Some(word) => enum_names::verdict_from_name(&word).ok_or_else(|| word.into_owned())?,
        None => match object.flag(&["approved"]) {
            Some(true) => ApprovalVerdict::Allowed,
            Some(false) => ApprovalVerdict::Denied,
            None if kind == "question-answered" && answer.is_some() => ApprovalVerdict::Answered,
            None => return Err(format!("{kind} without verdict").into()),
        },
    };
    Ok(ApprovalReply { call: read_call_ref(object), id: read_request_id(object), verdict, answer })
}

fn read_request_id(object: &EventObject<'_>) -> Option<SharedId> {
    object.id(&["requestId", "approvalId", "questionId", "id"])
}
