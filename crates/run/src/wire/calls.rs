//! Parses what events contain about calls: the call, its name and arguments, its result, and
//! requests to a person.

use super::{enum_names, object::EventObject, read::MissingField};
use crate::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, CallRef, EventPayload, RawJson,
    SharedId, ToolCallUpdate, ToolOutcome, ToolResult, ToolStatus, ToolStatusReason,
};

/// The field names for a call's id. Agents use one or several of them.
const IDS: [&str; 4] = ["toolCallId", "toolId", "toolUseId", "callId"];

/// The call that an event refers to.
pub(super) fn read_call_ref(object: &EventObject<'_>) -> CallRef {
    CallRef { id: object.id(&IDS), turn: read_turn(object) }
}

/// The call, where `id` may hold the call's own id.
pub(super) fn read_call_ref_or_id(object: &EventObject<'_>) -> CallRef {
    let call = read_call_ref(object);
    CallRef { id: call.id.or_else(|| object.id(&["id"])), ..call }
}

/// The call, if the event refers to one. An empty id stands for a call without an id.
pub(super) fn read_optional_call_ref(object: &EventObject<'_>) -> Option<CallRef> {
    let call = read_call_ref(object);
    let has_call = call.turn.is_some() || object.string(&IDS).is_some() || call.id.is_some();
    has_call.then_some(call)
}

/// The number of the turn.
pub(super) fn read_turn(object: &EventObject<'_>) -> Option<u32> {
    let number = object.number(&["turn"])?;
    let turn = u32::try_from(number).ok();
    if turn.is_none() {
        object.note_unknown(&format!("turn {number}"));
    }
    turn
}

/// The call whose sub-agent sent the event.
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

/// Some agents send the arguments as a string.
fn read_string_arguments(object: &EventObject<'_>) -> Option<RawJson> {
    let inner = object.string(&["arguments"]).and_then(|text| RawJson::parse(&text));
    inner.or_else(|| object.json(&["arguments"]))
}

/// The status of an open call. A final status is ignored: it comes with the result.
fn read_status(object: &EventObject<'_>) -> Option<ToolStatus> {
    let needs_approval = object.flag(&["requiresApproval"]) == Some(true);
    let Some(name) = object.word(&["status"]) else {
        return needs_approval.then_some(ToolStatus::AwaitingApproval);
    };
    match ToolStatus::from_name(&name) {
        None => {
            object.note_unknown(&name);
            Some(ToolStatus::Unknown)
        }
        Some(ToolStatus::Pending) if needs_approval => Some(ToolStatus::AwaitingApproval),
        Some(status) => (!status.is_final()).then_some(status),
    }
}

pub(super) fn read_arguments(object: &EventObject<'_>) -> Result<EventPayload, MissingField> {
    let delta = object.string(&["delta"]).ok_or("tool-arguments without delta")?;
    Ok(EventPayload::ToolArguments { call: read_call_ref(object), delta: delta.into_owned() })
}

pub(super) fn read_result(object: &EventObject<'_>) -> ToolResult {
    let (outcome, reason) = read_outcome(object);
    ToolResult {
        call: read_call_ref(object),
        name: object.id(&["name", "toolName"]),
        outcome,
        reason,
        content: object.json(&["content", "result", "output"]),
    }
}

fn read_outcome(object: &EventObject<'_>) -> (ToolOutcome, Option<ToolStatusReason>) {
    let reason = read_reason(object);
    let exact = object.string(&["how"]).and_then(|name| enum_names::outcome_from_name(&name));
    if let Some(outcome) = exact {
        return (outcome, reason);
    }
    let is_error = object.flag(&["isError"]).unwrap_or(false);
    let by_flag = if is_error { ToolOutcome::Error } else { ToolOutcome::Ok };
    let by_status = match object.word(&["status"]) {
        None => by_flag,
        Some(name) => enum_names::outcome_from_name(&name).unwrap_or_else(|| {
            object.note_unknown(&name);
            by_flag
        }),
    };
    // Some agents report `completed` for every call that ended, even with an error.
    let outcome = if by_status == ToolOutcome::Ok { by_flag } else { by_status };
    enum_names::combine_outcome(outcome, reason)
}

/// The reason, if it is one of ours. Sentences may be a person's private answer, so they are not
/// recorded.
fn read_reason(object: &EventObject<'_>) -> Option<ToolStatusReason> {
    let name = object.word(&["reason"])?;
    let reason = ToolStatusReason::from_name(&name);
    if reason.is_none() {
        object.note_unknown(if name.contains(char::is_whitespace) { "reason" } else { &name });
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

/// A reply. Without a known verdict nothing is decided, and no call is allowed to run.
pub(super) fn read_approval_reply(
    kind: &str,
    object: &EventObject<'_>,
) -> Result<ApprovalReply, MissingField> {
    let answer = object.json(&["answer", "answers"]);
    let verdict = match object.word(&["verdict"]) {
        Some(name) => enum_names::verdict_from_name(&name).ok_or_else(|| name.into_owned())?,
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
