//! Tool calls in ACP.

use super::{AcpRevision, TrackedPart, TrackedTool, meta};
use crate::{
    RawJson, SharedId, ToolStatus,
    encode::{
        common_fields,
        json::{JsonObjectWriter, array},
        tracker::ToolEnding,
    },
};

pub(super) fn tool_call_start(version: AcpRevision, tool: &TrackedTool) -> JsonObjectWriter {
    // Version 2 does not distinguish the first update from later ones.
    let kind = match version {
        AcpRevision::V1 => "tool_call",
        AcpRevision::V2 => "tool_call_update",
    };
    let fields = JsonObjectWriter::new().optional_text("parentToolCallId", tool.parent.as_deref());
    let update = JsonObjectWriter::new()
        .text("sessionUpdate", kind)
        .text("toolCallId", &tool.id)
        .text("title", tool.display_title())
        .text("name", &tool.name)
        .text("kind", category(&tool.name))
        .text("status", "pending");
    match &tool.parent {
        Some(_) => update.object("_meta", meta(fields)),
        None => update,
    }
}

pub(super) fn arguments_update(tool: &TrackedTool, input: &RawJson) -> JsonObjectWriter {
    update(&tool.id).json("rawInput", input)
}

pub(super) fn status_update(
    version: AcpRevision,
    tool: &TrackedTool,
    status: ToolStatus,
) -> JsonObjectWriter {
    // In version 2 a call that waits is pending before it starts, and paused after that.
    let has_begun = version == AcpRevision::V2 && tool.begun;
    let acp_status = match status {
        ToolStatus::Running => "in_progress",
        ToolStatus::AwaitingApproval if has_begun => "paused",
        ToolStatus::Unknown | ToolStatus::Pending if has_begun => "in_progress",
        ToolStatus::Unknown
        | ToolStatus::Pending
        | ToolStatus::AwaitingApproval
        | ToolStatus::Succeeded
        | ToolStatus::Failed
        | ToolStatus::Denied
        | ToolStatus::Cancelled
        | ToolStatus::Interrupted
        | ToolStatus::HandedOver => "pending",
    };
    let fields = JsonObjectWriter::new().text("status", status.name());
    update(&tool.id).text("status", acp_status).object("_meta", meta(fields))
}

pub(super) fn progress_update(tool: &TrackedTool, content: &RawJson) -> JsonObjectWriter {
    update(&tool.id).raw("content", &content_list(&content.plain()))
}

/// Text of the sub-agent of an open call. In version 1 it replaces the content sent before.
pub(super) fn subagent_text_update(
    version: AcpRevision,
    call: &SharedId,
    part: &TrackedPart,
) -> JsonObjectWriter {
    let metadata = meta(JsonObjectWriter::new().text("subagent", part.kind.name()));
    match version {
        AcpRevision::V1 => {
            update(call).raw("content", &content_list(&part.text)).object("_meta", metadata)
        }
        AcpRevision::V2 => JsonObjectWriter::with_capacity(part.text.len())
            .text("sessionUpdate", "tool_call_content_chunk")
            .text("toolCallId", call)
            .raw("content", &content_block(&part.text))
            .object("_meta", metadata),
    }
}

pub(super) fn tool_call_end(
    version: AcpRevision,
    tool: &TrackedTool,
    ending: ToolEnding<'_>,
) -> JsonObjectWriter {
    let status = match (ending.status, version) {
        (ToolStatus::Succeeded | ToolStatus::HandedOver, AcpRevision::V1 | AcpRevision::V2) => {
            "completed"
        }
        (ToolStatus::Cancelled | ToolStatus::Interrupted, AcpRevision::V2) => "cancelled",
        (ToolStatus::Cancelled | ToolStatus::Interrupted, AcpRevision::V1)
        | (
            ToolStatus::Unknown
            | ToolStatus::Pending
            | ToolStatus::AwaitingApproval
            | ToolStatus::Running
            | ToolStatus::Failed
            | ToolStatus::Denied,
            AcpRevision::V1 | AcpRevision::V2,
        ) => "failed",
    };
    let plain = ending.content.plain();
    let update = update(&tool.id).text("status", status).raw("content", &content_list(&plain));
    // A string is already sent as the content.
    let update = match ending.content.raw().starts_with('"') {
        true => update,
        false => update.json("rawOutput", ending.content),
    };
    update.object("_meta", meta(common_fields::add_tool_ending(JsonObjectWriter::new(), ending)))
}

fn update(call: &str) -> JsonObjectWriter {
    JsonObjectWriter::new().text("sessionUpdate", "tool_call_update").text("toolCallId", call)
}

/// The whole content of a call.
fn content_list(text: &str) -> String {
    array((!text.is_empty()).then(|| content_block(text)))
}

fn content_block(text: &str) -> String {
    let content =
        JsonObjectWriter::with_capacity(text.len()).text("type", "text").text("text", text);
    JsonObjectWriter::with_capacity(text.len())
        .text("type", "content")
        .object("content", content)
        .finish()
}

/// The category of a tool, so that a client shows the right icon. Only whole names match.
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
