//! What a repair leaves alone: records of unknown types byte for byte, and all records outside the
//! conversation except for their links.

use foxwedge_sessions::SessionAgent;
use serde_json::Value;

use super::judge::{RepairedSession, SessionVerdict, breach, flaws, shown_bytes};
use crate::SessionConversation;

/// What a repair may do to a record.
enum AllowedChange {
    /// No change.
    Other,
    /// Only its link.
    Note,
    /// Any change, if it is part of the conversation.
    Message,
    /// Any change.
    Whole,
}

fn kind(agent: SessionAgent, record: &Value) -> AllowedChange {
    let linked = record["uuid"].is_string();
    match agent {
        // Records that a compaction carried over may be put after its summary instead.
        SessionAgent::ClaudeCode if linked && record.get("compactMetadata").is_some() => {
            AllowedChange::Whole
        }
        SessionAgent::ClaudeCode if linked => match record.get("message") {
            Some(_) => AllowedChange::Message,
            None => AllowedChange::Note,
        },
        SessionAgent::Neovate if record["type"] == "message" => AllowedChange::Message,
        SessionAgent::Neovate if linked => AllowedChange::Note,
        // Records that a compaction kept may be put after its summary instead.
        SessionAgent::Pi if record["type"] == "compaction" => AllowedChange::Whole,
        SessionAgent::Pi if record["type"] == "message" || record["type"] == "custom_message" => {
            AllowedChange::Message
        }
        SessionAgent::Pi if record["id"].is_string() => AllowedChange::Note,
        SessionAgent::CopilotCli if record["type"] == "session.compaction_complete" => {
            AllowedChange::Whole
        }
        SessionAgent::CopilotCli
            if ["user.message", "assistant.message", "tool.execution_complete"]
                .iter()
                .any(|kind| record["type"] == *kind) =>
        {
            AllowedChange::Message
        }
        SessionAgent::KimiCode
            if record["type"] == "context.append_message"
                || record["type"] == "context.append_loop_event" =>
        {
            AllowedChange::Message
        }
        SessionAgent::QwenCode if record["subtype"] == "chat_compression" => AllowedChange::Whole,
        SessionAgent::QwenCode if record["subtype"] == "session_artifact_event" => {
            AllowedChange::Other
        }
        SessionAgent::QwenCode => match record["type"].as_str() {
            Some("user" | "assistant" | "tool_result") => AllowedChange::Message,
            Some("system") => AllowedChange::Note,
            _ => AllowedChange::Other,
        },
        SessionAgent::Crush | SessionAgent::Goose if record["table"] == "messages" => {
            AllowedChange::Message
        }
        SessionAgent::Opencode if record["table"] == "message" => AllowedChange::Message,
        SessionAgent::Codex if record["type"] == "response_item" => AllowedChange::Message,
        SessionAgent::Codex if record["type"] == "compacted" => AllowedChange::Whole,
        SessionAgent::GeminiCli if record["id"].is_string() => AllowedChange::Whole,
        SessionAgent::GeminiCli if record["$set"]["messages"].is_array() => AllowedChange::Whole,
        _ => AllowedChange::Other,
    }
}

/// Checks that lines outside the conversation are still there.
pub(super) fn judge(
    agent: SessionAgent,
    before: &SessionConversation,
    bytes: &[u8],
    session: &RepairedSession,
) -> SessionVerdict {
    if agent == SessionAgent::Cline || is_old_chat(bytes) {
        return Ok(()); // One list instead of one record per line.
    }
    let fixed: Vec<&[u8]> = lines(&session.fixed);
    let left: Vec<Value> =
        fixed.iter().filter_map(|line| parsed(line)).map(|record| unlinked(&record)).collect();
    // In a damaged file the engine may find more of the conversation.
    let flawed = !flaws(&session.report).is_empty();
    let mut from = 0;
    for (number, line) in lines(bytes).into_iter().enumerate() {
        let Some(record) = parsed(line) else { continue };
        let in_conversation = before.lines.iter().flatten().any(|at| *at == number);
        let unchanged = match kind(agent, &record) {
            // In order, byte for byte.
            AllowedChange::Other => {
                match fixed.iter().skip(from).position(|other| *other == line) {
                    Some(at) => {
                        from += at + 1;
                        true
                    }
                    None => false,
                }
            }
            AllowedChange::Note => left.contains(&unlinked(&record)),
            // If nothing is left of the conversation, another branch takes its place.
            AllowedChange::Message => {
                in_conversation || flawed || session.emptied || left.contains(&unlinked(&record))
            }
            AllowedChange::Whole => true,
        };
        if !unchanged {
            let fixed = shown_bytes(&session.fixed);
            let edits = &session.edits;
            return breach(
                "bystanders",
                format!("line {} is lost or changed\nedits {edits:?}\nafter\n{fixed}", number + 1),
            );
        }
    }
    Ok(())
}

/// Whether this is an older file of Gemini CLI.
fn is_old_chat(bytes: &[u8]) -> bool {
    let first = lines(bytes).first().copied().unwrap_or_default();
    first == b"{"
}

/// The lines, trimmed.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect()
}

/// A line that is exactly one object.
fn parsed(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok().filter(Value::is_object)
}

/// A record without the fields that a repair may relink: parents, ids, and carried-over records.
fn unlinked(record: &Value) -> Value {
    let mut record = record.clone();
    if let Some(fields) = record.as_object_mut() {
        fields.remove("parentUuid");
        fields.remove("uuid");
        if fields.remove("parentId").is_some() {
            fields.remove("id");
        }
        let metadata = fields.get_mut("compactMetadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            metadata.remove("preservedMessages");
            metadata.remove("preservedSegment");
        }
    }
    record
}
