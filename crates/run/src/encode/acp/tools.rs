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
    // Version 2 makes no difference between the first update and any other.
    let kind = match version {
        AcpRevision::V1 => "tool_call",
        AcpRevision::V2 => "tool_call_update",
    };
    let about = JsonObjectWriter::new().optional_text("parentToolCallId", tool.parent.as_deref());
    let update = JsonObjectWriter::new()
        .text("sessionUpdate", kind)
        .text("toolCallId", &tool.id)
        .text("title", tool.display_title())
        .text("name", &tool.name)
        .text("kind", category(&tool.name))
        .text("status", "pending");
    match &tool.parent {
        Some(_) => update.object("_meta", meta(about)),
        None => update,
    }
}

pub(super) fn arguments_update(tool: &TrackedTool, input: &RawJson) -> JsonObjectWriter {
    update(&tool.id).json("rawInput", input)
}

pub(super) fn status_update(tool: &TrackedTool, status: ToolStatus) -> JsonObjectWriter {
    let told = match status {
        ToolStatus::Running => "in_progress",
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
    let about = JsonObjectWriter::new().text("status", status.name());
    update(&tool.id).text("status", told).object("_meta", meta(about))
}

pub(super) fn progress_update(tool: &TrackedTool, content: &RawJson) -> JsonObjectWriter {
    update(&tool.id).raw("content", &content_list(&content.plain()))
}

/// What the sub-agent of an open call says. Version 1 can only put it in the place of what it said
/// before.
pub(super) fn subagent_text_update(
    version: AcpRevision,
    call: &SharedId,
    part: &TrackedPart,
) -> JsonObjectWriter {
    let about = meta(JsonObjectWriter::new().text("subagent", part.kind.name()));
    match version {
        AcpRevision::V1 => {
            update(call).raw("content", &content_list(&part.text)).object("_meta", about)
        }
        AcpRevision::V2 => JsonObjectWriter::with_capacity(part.text.len())
            .text("sessionUpdate", "tool_call_content_chunk")
            .text("toolCallId", call)
            .raw("content", &content_block(&part.text))
            .object("_meta", about),
    }
}

pub(super) fn tool_call_end(
    version: AcpRevision,
    tool: &TrackedTool,
    settled: ToolEnding<'_>,
) -> JsonObjectWriter {
    let status = match (settled.status, version) {
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
    let plain = settled.content.plain();
    let update = update(&tool.id).text("status", status).raw("content", &content_list(&plain));
    // A text is told by the content already.
    let update = match settled.content.raw().starts_with('"') {
        true => update,
        false => update.json("rawOutput", settled.content),
    };
    update.object("_meta", meta(common_fields::add_tool_ending(JsonObjectWriter::new(), settled)))
}

fn update(call: &str) -> JsonObjectWriter {
    JsonObjectWriter::new().text("sessionUpdate", "tool_call_update").text("toolCallId", call)
}

/// All that a call shows.
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
