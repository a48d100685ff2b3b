//! Tool calls in ACP.

use super::{Acp, Part, Tool, meta};
use crate::{
    Id, Json, Status,
    encode::{
        json::{Object, array},
        tracker::Settled,
        words,
    },
};

pub(super) fn began(version: Acp, tool: &Tool) -> Object {
    // Version 2 makes no difference between the first update and any other.
    let kind = match version {
        Acp::V1 => "tool_call",
        Acp::V2 => "tool_call_update",
    };
    let about = Object::new().maybe("parentToolCallId", tool.parent.as_deref());
    let update = Object::new()
        .text("sessionUpdate", kind)
        .text("toolCallId", &tool.id)
        .text("title", tool.shown())
        .text("name", &tool.name)
        .text("kind", category(&tool.name))
        .text("status", "pending");
    match &tool.parent {
        Some(_) => update.object("_meta", meta(about)),
        None => update,
    }
}

pub(super) fn ready(tool: &Tool, input: &Json) -> Object {
    update(&tool.id).json("rawInput", input)
}

pub(super) fn changed(tool: &Tool, status: Status) -> Object {
    let told = match status {
        Status::Running => "in_progress",
        Status::Unknown
        | Status::Pending
        | Status::AwaitingApproval
        | Status::Succeeded
        | Status::Failed
        | Status::Denied
        | Status::Cancelled
        | Status::Interrupted
        | Status::HandedOver => "pending",
    };
    let about = Object::new().text("status", status.name());
    update(&tool.id).text("status", told).object("_meta", meta(about))
}

pub(super) fn progress(tool: &Tool, content: &Json) -> Object {
    update(&tool.id).written("content", &shown(&content.plain()))
}

/// What the sub-agent of an open call says. Version 1 can only put it in the place of what it said
/// before.
pub(super) fn said(version: Acp, call: &Id, part: &Part) -> Object {
    let about = meta(Object::new().text("subagent", part.kind.name()));
    match version {
        Acp::V1 => update(call).written("content", &shown(&part.said)).object("_meta", about),
        Acp::V2 => Object::sized(part.said.len())
            .text("sessionUpdate", "tool_call_content_chunk")
            .text("toolCallId", call)
            .written("content", &block(&part.said))
            .object("_meta", about),
    }
}

pub(super) fn over(version: Acp, tool: &Tool, settled: Settled<'_>) -> Object {
    let status = match (settled.status, version) {
        (Status::Succeeded | Status::HandedOver, Acp::V1 | Acp::V2) => "completed",
        (Status::Cancelled | Status::Interrupted, Acp::V2) => "cancelled",
        (Status::Cancelled | Status::Interrupted, Acp::V1)
        | (
            Status::Unknown
            | Status::Pending
            | Status::AwaitingApproval
            | Status::Running
            | Status::Failed
            | Status::Denied,
            Acp::V1 | Acp::V2,
        ) => "failed",
    };
    let plain = settled.content.plain();
    let update = update(&tool.id).text("status", status).written("content", &shown(&plain));
    // A text is told by the content already.
    let update = match settled.content.raw().starts_with('"') {
        true => update,
        false => update.json("rawOutput", settled.content),
    };
    update.object("_meta", meta(words::settled(Object::new(), settled)))
}

fn update(call: &str) -> Object {
    Object::new().text("sessionUpdate", "tool_call_update").text("toolCallId", call)
}

/// All that a call shows.
fn shown(text: &str) -> String {
    array((!text.is_empty()).then(|| block(text)))
}

fn block(text: &str) -> String {
    let content = Object::sized(text.len()).text("type", "text").text("text", text);
    Object::sized(text.len()).text("type", "content").object("content", content).end()
}

/// What a tool does, so that a client shows the right sign. Only whole names count.
fn category(name: &str) -> &'static str {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "read" | "readfile" | "cat" | "view" | "listdir" | "ls" | "notebookread" => "read",
        "edit" | "multiedit" | "write" | "writefile" | "applypatch" | "replace" | "strreplace"
        | "notebookedit" => "edit",
        "grep" | "glob" | "search" | "find" | "codebasesearch" | "toolsearch" => "search",
        "bash" | "shell" | "exec" | "execcommand" | "runshellcommand" | "runcommand"
        | "terminal" | "powershell" => "execute",
        "webfetch" | "websearch" | "fetch" | "googlewebsearch" => "fetch",
        "task" | "agent" | "think" | "todowrite" | "updateplan" => "think",
        "exitplanmode" | "enterplanmode" => "switch_mode",
        _ => "other",
    }
}
