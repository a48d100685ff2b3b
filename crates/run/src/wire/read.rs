//! What an event says, whoever spelled it.
//!
//! A type that nobody knows, or one that lacks what it cannot do without, becomes
//! [`Body::Unknown`] with everything in it.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    WireError, calls, ending,
    object::{self, Object, Odd},
    strings, words,
    write::LAST_PLACE,
};
use crate::{
    Activity, AskKind, Body, Event, Id, Json, Started, Stop, Task, TaskStatus, Text,
    ToolsAvailable, Turn,
};

/// What is missing that a type cannot do without.
pub(super) type Lacking = Cow<'static, str>;

pub(super) fn event(text: &str) -> Result<Event, WireError> {
    let odd = Odd::new();
    let Some(object) = Object::parse(text, &odd) else {
        let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
        return Err(if is_json { WireError::NotObject } else { WireError::NotJson });
    };
    let named = |name| object.string(&[name]).filter(|name| !name.is_empty());
    let run: Id = named("runId").ok_or(WireError::NoRun)?.into();
    let kind = named("type").ok_or(WireError::NoType)?;
    // What its first reader found strange stays.
    if let Some(word) = named("odd") {
        let _ = odd.set(word.into());
    }
    let body = body(&kind, &object).unwrap_or_else(|lacking| {
        if let Some(why) = lacking {
            object.note(&why);
        }
        Body::Unknown { kind: kind.into_owned(), raw: Json::parse(text).unwrap_or_else(nothing) }
    });
    let epoch = object.number(&["epoch", "runEpoch"]);
    let seq = object.number(&["seq"]).filter(|seq| is_place(*seq, &object));
    let at = object.number(&["at", "timestamp", "startedAt", "emittedAt", "terminalAt"]);
    Ok(Event { run, epoch, seq, at, odd: odd.into_inner(), body })
}

fn is_place(seq: u64, object: &Object<'_>) -> bool {
    let is_place = (1..=LAST_PLACE).contains(&seq);
    if !is_place {
        object.note(&format!("seq {seq}"));
    }
    is_place
}

/// The body of a type; `Err(None)` if nobody knows the type.
fn body(kind: &str, object: &Object<'_>) -> Result<Body, Option<Lacking>> {
    Ok(match kind {
        "text" => Body::Text(said(object, "text without delta")?),
        "thought" => Body::Thought(said(object, "thought without delta")?),
        "agent:message" => Body::Text(message(object)?),
        "agent:thought" => Body::Thought(thought(object)?),
        "tool-call" => Body::Call(calls::call(object, calls::which(object))),
        "agent:tool-call" => Body::Call(calls::call(object, calls::which_or_id(object))),
        "tool-arguments" => calls::arguments(object)?,
        "tool-progress" => {
            let content = object.json(&["content", "progress"]).unwrap_or_else(nothing);
            Body::Progress { call: calls::which(object), content }
        }
        "tool-result" | "agent:tool-result" => Body::Result(calls::result(object)),
        "tool-cancelled" => Body::Cancelled { call: calls::which(object) },
        "approval-asked" => Body::Asked(calls::ask(object, AskKind::Approval)),
        "question-asked" => Body::Asked(calls::ask(object, AskKind::Question)),
        "approval-answered" | "question-answered" => Body::Replied(calls::reply(kind, object)?),
        "turn-started" => {
            Body::Turn(Turn { turn: calls::turn(object), message: object.id(&["messageId"]) })
        }
        "usage" => {
            let cost = ending::usage_of(object).or_else(|| ending::usage(object));
            Body::Usage(cost.ok_or(Some("usage without tokens".into()))?)
        }
        "tasks" => Body::Tasks(tasks(object)?),
        "activity" => Body::Activity(activity(object)?),
        "error" => Body::Problem(ending::problem(object, false)),
        "agent:error" => Body::Problem(ending::problem(object, true)),
        "stop" => Body::Stop(Stop { grace: object.number(&["grace", "graceMs"]).unwrap_or(0) }),
        "timed-out" => Body::TimedOut { call: calls::which_if(object) },
        "run-started" | "agent:run-start" => Body::Started(started(object)),
        "tools-available" | "agent:tools-available" => Body::ToolsAvailable(available(object)?),
        "run-ended" | "agent:complete" => Body::Ended(ending::ended(object)),
        "unknown" => unknown(object)?,
        _ => return Err(None),
    })
}

/// A piece of text, or all of it. One that says nothing is fine, unless it says it in a field that
/// nobody knows.
fn said(object: &Object<'_>, lacking: &'static str) -> Result<Text, Lacking> {
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
    let text = Text {
        delta: object.text(&["delta"]),
        full: object.text(&["full", "text", "content"]),
        ..about(object)
    };
    let says = text.delta.is_some() || text.full.is_some();
    if says || object.has_only(&ABOUT) { Ok(text) } else { Err(lacking.into()) }
}

fn about(object: &Object<'_>) -> Text {
    let parent = calls::parent(object);
    Text { message: object.id(&["messageId"]), parent, delta: None, full: None }
}

fn message(object: &Object<'_>) -> Result<Text, Lacking> {
    let content = object.text(&["content"]).ok_or("agent:message without content")?;
    Ok(match object.flag(&["isComplete"]) {
        Some(true) => Text { full: Some(content), ..about(object) },
        Some(false) | None => Text { delta: Some(content), ..about(object) },
    })
}

/// A thought is a text, or an object with an id and a text.
fn thought(object: &Object<'_>) -> Result<Text, Lacking> {
    const LACKING: &str = "agent:thought without thought";
    let whole = about(object);
    let Some(inner) = object.object(&["thought"]) else {
        let full = object.text(&["thought"]).ok_or(LACKING)?;
        return Ok(Text { full: Some(full), ..whole });
    };
    let full = inner.text(&["content", "text", "thinking"]).ok_or(LACKING)?;
    let message = inner.id(&["id"]).or(whole.message);
    let parent = calls::parent(&inner).or(whole.parent);
    Ok(Text { message, parent, delta: None, full: Some(full) })
}

fn tasks(object: &Object<'_>) -> Result<Vec<Task>, Lacking> {
    let items = object.list(&["tasks", "todos"]).ok_or("tasks without tasks")?;
    Ok(items.into_iter().map(|raw| task(raw, object)).collect())
}

/// A task that lacks something is still a line of the list.
fn task<'text>(raw: &'text RawValue, list: &Object<'text>) -> Task {
    let Some(object) = list.inside(raw) else {
        list.note("task without status");
        let content = object::text(raw);
        return Task { id: None, content, status: TaskStatus::Unknown, active: None };
    };
    let content = object.text(&["content", "title", "text"]);
    if content.is_none() {
        object.note("task without content");
    }
    let word = object.word(&["status"]);
    let status = word.as_deref().and_then(words::task);
    if status.is_none() {
        object.note(word.as_deref().unwrap_or("task without status"));
    }
    Task {
        id: object.id(&["id"]),
        content: content.unwrap_or_default(),
        status: status.unwrap_or(TaskStatus::Unknown),
        active: object.text(&["activeForm"]),
    }
}

fn activity(object: &Object<'_>) -> Result<Activity, Lacking> {
    let kind = object.string(&["kind", "activityType"]).ok_or("activity without kind")?;
    Ok(Activity {
        kind: kind.into(),
        id: object.id(&["activityId", "id", "messageId"]),
        content: object.json(&["content"]).unwrap_or_else(nothing),
    })
}

fn started(object: &Object<'_>) -> Started {
    Started {
        session: object.id(&["sessionId", "sessionKey", "conversationId"]),
        parent: object.id(&["parentRunId"]),
        agent: object.id(&["agent"]),
        model: object.id(&["model"]),
    }
}

fn available(object: &Object<'_>) -> Result<ToolsAvailable, Lacking> {
    let items = object.list(&["tools"]).ok_or("tools-available without tools")?;
    let mut tools: Vec<Id> = Vec::with_capacity(items.len());
    for raw in items {
        match name(raw, object) {
            Some(name) => tools.push(name),
            None => object.note(&format!("tool {raw}")),
        }
    }
    // A list that says nothing about more to come is the list.
    let ready =
        object.flag(&["ready"]).unwrap_or_else(|| match object.word(&["phase"]).as_deref() {
            None | Some("ready") => true,
            Some("initializing") => false,
            Some(other) => {
                object.note(other);
                false
            }
        });
    Ok(ToolsAvailable { version: object.number(&["version", "snapshotVersion"]), ready, tools })
}

/// A tool is a name, or an object that has one.
fn name<'text>(raw: &'text RawValue, list: &Object<'text>) -> Option<Id> {
    match strings::text_of(raw.get()) {
        Some(name) => Some(name.into()),
        None => list.inside(raw)?.id(&["name"]),
    }
}

/// What we wrote about an event of a type that we did not know.
fn unknown(object: &Object<'_>) -> Result<Body, Option<Lacking>> {
    match object.string(&["kind"]) {
        Some(kind) if object.has("raw") => {
            let raw = object.json(&["raw"]).unwrap_or_else(nothing);
            Ok(Body::Unknown { kind: kind.into_owned(), raw })
        }
        Some(_) | None => Err(None),
    }
}

fn nothing() -> Json {
    Json::from(&serde_json::Value::Null)
}
