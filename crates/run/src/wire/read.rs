//! Parses events, in our spelling and in those of other agents.
//!
//! An event of an unknown type, or one that lacks a required field, becomes
//! [`EventPayload::Unknown`] with its whole content.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    EventParseError, calls, ending, enum_names,
    object::{self, EventObject, UnknownValueCell},
    write::LAST_PLACE,
};
use crate::{
    ActivityCard, ApprovalKind, EventPayload, RawJson, RunEvent, RunStart, SharedId, StopRequest,
    TaskItem, TaskStatus, TextUpdate, ToolsAvailable, TurnStart,
};

/// A description of a missing required field.
pub(super) type MissingField = Cow<'static, str>;

pub(super) fn read_event(text: &str) -> Result<RunEvent, EventParseError> {
    let unknown = UnknownValueCell::new();
    let Some(object) = EventObject::parse(text, &unknown) else {
        let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
        return Err(if is_json { EventParseError::NotObject } else { EventParseError::NotJson });
    };
    let non_empty = |name| object.string(&[name]).filter(|value| !value.is_empty());
    let run: SharedId = non_empty("runId").ok_or(EventParseError::NoRun)?.into();
    let kind = non_empty("type").ok_or(EventParseError::NoType)?;
    // Keep the unknown value that the first reader recorded.
    if let Some(value) = non_empty("odd") {
        let _ = unknown.set(value.into());
    }
    let body = read_payload(&kind, &object).unwrap_or_else(|missing| {
        if let Some(missing) = missing {
            object.note_unknown(&missing);
        }
        EventPayload::Unknown {
            kind: kind.into_owned(),
            raw: RawJson::parse(text).unwrap_or_else(null_json),
        }
    });
    let epoch = object.number(&["epoch", "runEpoch"]);
    let seq = object.number(&["seq"]).filter(|seq| is_place(*seq, &object));
    let at = object.number(&["at", "timestamp", "startedAt", "emittedAt", "terminalAt"]);
    Ok(RunEvent { run, epoch, seq, at, unknown_word: unknown.into_inner(), body })
}

fn is_place(seq: u64, object: &EventObject<'_>) -> bool {
    let is_place = (1..=LAST_PLACE).contains(&seq);
    if !is_place {
        object.note_unknown(&format!("seq {seq}"));
    }
    is_place
}

/// Parses the payload of a type; `Err(None)` if the type is unknown.
fn read_payload(
    kind: &str,
    object: &EventObject<'_>,
) -> Result<EventPayload, Option<MissingField>> {
    Ok(match kind {
        "text" => EventPayload::Text(read_text(object, "text without delta")?),
        "thought" => EventPayload::Thought(read_text(object, "thought without delta")?),
        "agent:message" => EventPayload::Text(read_message(object)?),
        "agent:thought" => EventPayload::Thought(read_thought(object)?),
        "tool-call" => {
            EventPayload::ToolCall(calls::read_call(object, calls::read_call_ref(object)))
        }
        "agent:tool-call" => {
            EventPayload::ToolCall(calls::read_call(object, calls::read_call_ref_or_id(object)))
        }
        "tool-arguments" => calls::read_arguments(object)?,
        "tool-progress" => {
            let content = object.json(&["content", "progress"]).unwrap_or_else(null_json);
            EventPayload::ToolProgress { call: calls::read_call_ref(object), content }
        }
        "tool-result" | "agent:tool-result" => EventPayload::ToolResult(calls::read_result(object)),
        "tool-cancelled" => EventPayload::ToolCancelled { call: calls::read_call_ref(object) },
        "approval-asked" => EventPayload::ApprovalRequested(calls::read_approval_request(
            object,
            ApprovalKind::Approval,
        )),
        "question-asked" => EventPayload::ApprovalRequested(calls::read_approval_request(
            object,
            ApprovalKind::Question,
        )),
        "approval-answered" | "question-answered" => {
            EventPayload::ApprovalReplied(calls::read_approval_reply(kind, object)?)
        }
        "turn-started" => EventPayload::TurnStarted(TurnStart {
            turn: calls::read_turn(object),
            message: object.id(&["messageId"]),
        }),
        "usage" => {
            let usage = ending::read_nested_usage(object).or_else(|| ending::read_usage(object));
            EventPayload::Usage(usage.ok_or(Some("usage without tokens".into()))?)
        }
        "tasks" => EventPayload::Tasks(read_tasks(object)?),
        "activity" => EventPayload::Activity(read_activity(object)?),
        "error" => EventPayload::Problem(ending::read_problem(object, false)),
        "agent:error" => EventPayload::Problem(ending::read_problem(object, true)),
        "stop" => EventPayload::Stop(StopRequest {
            grace: object.number(&["grace", "graceMs"]).unwrap_or(0),
        }),
        "timed-out" => EventPayload::TimedOut { call: calls::read_optional_call_ref(object) },
        "run-started" | "agent:run-start" => EventPayload::Started(read_start(object)),
        "tools-available" | "agent:tools-available" => {
            EventPayload::ToolsAvailable(read_tools(object)?)
        }
        "run-ended" | "agent:complete" => EventPayload::Ended(ending::read_end(object)),
        "unknown" => read_unknown(object)?,
        _ => return Err(None),
    })
}

/// A delta or a full text. An event without either is fine, unless it has fields that we do not
/// know.
fn read_text(object: &EventObject<'_>, missing: &'static str) -> Result<TextUpdate, MissingField> {
    const ABOUT: [&str; 10] = [
        "type",
        "runId",
        "epoch",
        "runEpoch",
        "seq",
        "at",
        "odd",
        "messageId",
        "parentToolCallId",
        "parentToolUseId",
    ];
    let text = TextUpdate {
        delta: object.text(&["delta"]),
        full: object.text(&["full", "text", "content"]),
        ..text_target(object)
    };
    let has_text = text.delta.is_some() || text.full.is_some();
    if has_text || object.has_only(&ABOUT) { Ok(text) } else { Err(missing.into()) }
}

fn text_target(object: &EventObject<'_>) -> TextUpdate {
    let parent = calls::read_parent(object);
    TextUpdate { message: object.id(&["messageId"]), parent, delta: None, full: None }
}

fn read_message(object: &EventObject<'_>) -> Result<TextUpdate, MissingField> {
    let Some(content) = object.text(&["content"]) else {
        let delta = object.text(&["delta"]).ok_or("agent:message without content")?;
        return Ok(TextUpdate { delta: Some(delta), ..text_target(object) });
    };
    Ok(match object.flag(&["isComplete"]) {
        Some(true) => TextUpdate { full: Some(content), ..text_target(object) },
        Some(false) | None => TextUpdate { delta: Some(content), ..text_target(object) },
    })
}

/// A thought is a string, or an object with an id and a text.
fn read_thought(object: &EventObject<'_>) -> Result<TextUpdate, MissingField> {
    const LACKING: &str = "agent:thought without thought";
    let target = text_target(object);
    let Some(inner) = object.object(&["thought"]) else {
        let full = object.text(&["thought"]).ok_or(LACKING)?;
        return Ok(TextUpdate { full: Some(full), ..target });
    };
    let full = inner.text(&["content", "text", "thinking"]).ok_or(LACKING)?;
    let message = inner.id(&["id"]).or(target.message);
    let parent = calls::read_parent(&inner).or(target.parent);
    Ok(TextUpdate { message, parent, delta: None, full: Some(full) })
}

fn read_tasks(object: &EventObject<'_>) -> Result<Vec<TaskItem>, MissingField> {
    let items = object.list(&["tasks", "todos"]).ok_or("tasks without tasks")?;
    Ok(items.into_iter().map(|raw| read_task(raw, object)).collect())
}

/// A task that lacks fields is still an item of the list.
fn read_task<'text>(raw: &'text RawValue, list: &EventObject<'text>) -> TaskItem {
    let Some(object) = list.parse_nested(raw) else {
        list.note_unknown("task without status");
        let content = object::text(raw);
        return TaskItem { id: None, content, status: TaskStatus::Unknown, active: None };
    };
    let content = object.text(&["content", "title", "text"]);
    if content.is_none() {
        object.note_unknown("task without content");
    }
    let name = object.word(&["status"]);
    let status = name.as_deref().and_then(enum_names::task_status_from_name);
    if status.is_none() {
        object.note_unknown(name.as_deref().unwrap_or("task without status"));
    }
    TaskItem {
        id: object.id(&["id"]),
        content: content.unwrap_or_default(),
        status: status.unwrap_or(TaskStatus::Unknown),
        active: object.text(&["activeForm"]),
    }
}

fn read_activity(object: &EventObject<'_>) -> Result<ActivityCard, MissingField> {
    let kind = object.string(&["kind", "activityType"]).ok_or("activity without kind")?;
    Ok(ActivityCard {
        kind: kind.into(),
        id: object.id(&["activityId", "id", "messageId"]),
        content: object.json(&["content"]).unwrap_or_else(null_json),
    })
}

fn read_start(object: &EventObject<'_>) -> RunStart {
    RunStart {
        session: object.id(&["sessionId", "sessionKey", "conversationId"]),
        parent: object.id(&["parentRunId"]),
        agent: object.id(&["agent"]),
        model: object.id(&["model"]),
    }
}

fn read_tools(object: &EventObject<'_>) -> Result<ToolsAvailable, MissingField> {
    let items = object.list(&["tools"]).ok_or("tools-available without tools")?;
    let mut tools: Vec<SharedId> = Vec::with_capacity(items.len());
    for raw in items {
        match read_tool_name(raw, object) {
            Some(name) => tools.push(name),
            None => object.note_unknown(&format!("tool {raw}")),
        }
    }
    // A list without a phase is complete.
    let ready =
        object.flag(&["ready"]).unwrap_or_else(|| match object.word(&["phase"]).as_deref() {
            None | Some("ready") => true,
            Some("initializing") => false,
            Some(other) => {
                object.note_unknown(other);
                false
            }
        });
    Ok(ToolsAvailable { version: object.number(&["version", "snapshotVersion"]), ready, tools })
}

/// A tool is a name, or an object with a name.
fn read_tool_name<'text>(raw: &'text RawValue, list: &EventObject<'text>) -> Option<SharedId> {
    match foxwedge_json::string_text(raw.get()) {
        Some(name) => Some(name.into()),
        None => list.parse_nested(raw)?.id(&["name"]),
    }
}

/// An event of an unknown type, in the form in which we write it.
fn read_unknown(object: &EventObject<'_>) -> Result<EventPayload, Option<MissingField>> {
    match object.string(&["kind"]) {
        Some(kind) if object.has("raw") => {
            let raw = object.json(&["raw"]).unwrap_or_else(null_json);
            Ok(EventPayload::Unknown { kind: kind.into_owned(), raw })
        }
        Some(_) | None => Err(None),
    }
}

fn null_json() -> RawJson {
    RawJson::from(&serde_json::Value::Null)
}
