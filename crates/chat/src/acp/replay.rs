//! Sends the messages of a stored session again: everything that a client would have seen live.

use anyhow::Context;
use foxwedge_core::Format;
use foxwedge_formats::model::{
    ContentPart, MediaKind, MediaPart, MediaSource, ModelPart, ModelRole, ToolCallPart,
    ToolResultPart, decode,
};
use foxwedge_local::{
    export::{ExportTurnItem, split_turns},
    runs::draw::call_subject,
};
use foxwedge_run::{RawJson, ToolStatus, encode::AcpRevision};
use foxwedge_tools::ToolEffect;
use serde_json::{Value, json};

use super::{session::text_update, wire::AcpWriter};
use crate::{ChatAgent, attachments::attached_file, history::status_of_result};

/// Sends the messages of a stored session.
pub(super) fn replay_history(
    chat: &ChatAgent,
    revision: AcpRevision,
    session: &str,
    writer: &AcpWriter,
) -> anyhow::Result<()> {
    let Some(history) = chat.history()? else { return Ok(()) };
    let history = decode(&history.0, Format::Anthropic).context("the history cannot be read")?;
    let items = split_turns(&history)
        .into_iter()
        .flat_map(|turn| turn.items.into_iter().map(move |item| (turn.role, item)));
    for (at, (role, item)) in items.enumerate() {
        let message = format!("past-{at}");
        let kind = match role {
            ModelRole::Assistant => "agent_message_chunk",
            ModelRole::User => "user_message_chunk",
            // The client did not see the instructions either.
            ModelRole::System | ModelRole::Developer => continue,
        };
        let chunk = |content: Value| {
            Some(json!({ "sessionUpdate": kind, "messageId": message, "content": content }))
        };
        let update = match item {
            ExportTurnItem::Text(text) => match attached_file(text) {
                Some((name, content)) if role == ModelRole::User => {
                    let path = chat.workspace.root().join(name);
                    let address = format!("file://{}", path.to_string_lossy());
                    let resource = json!({ "uri": address, "text": content });
                    chunk(json!({ "type": "resource", "resource": resource }))
                }
                _ => Some(text_update(kind, &message, text)),
            },
            ExportTurnItem::Media(media) => image_content(media).and_then(chunk),
            ExportTurnItem::Reasoning(thought) if thought.text.trim().is_empty() => None,
            ExportTurnItem::Reasoning(thought) => {
                Some(text_update("agent_thought_chunk", &message, &thought.text))
            }
            ExportTurnItem::Call(call, result) => {
                Some(call_update(chat, revision, &message, (call, result)))
            }
            ExportTurnItem::OrphanAnswer(_) | ExportTurnItem::Other(_) => None,
        };
        if let Some(update) = update {
            writer.update(session, update);
        }
    }
    Ok(())
}

/// A call with its arguments and its result.
fn call_update(
    chat: &ChatAgent,
    revision: AcpRevision,
    id: &str,
    (call, result): (&ToolCallPart<'_>, Option<&ToolResultPart<'_>>),
) -> Value {
    let subject = call_subject(None, RawJson::parse(&call.arguments).as_ref());
    let status = result.map_or(ToolStatus::Pending, status_of_result);
    let parts = result.map(|result| result.parts.as_slice()).unwrap_or_default();
    let content: Vec<Value> = parts
        .iter()
        .filter_map(|part| result_content(part))
        .map(|content| json!({ "type": "content", "content": content }))
        .collect();
    let input = serde_json::from_str(&call.arguments);
    json!({
        "sessionUpdate": match revision {
            AcpRevision::V1 => "tool_call",
            AcpRevision::V2 => "tool_call_update",
        },
        "toolCallId": id,
        "title": format!("{} {subject}", call.name).trim_end(),
        "kind": call_kind(chat, &call.name),
        "status": if status == ToolStatus::Succeeded { "completed" } else { "failed" },
        "rawInput": input.unwrap_or_else(|_| Value::from(&*call.arguments)),
        "content": content,
    })
}

fn result_content(part: &ModelPart<'_>) -> Option<Value> {
    match part.content() {
        ContentPart::Text(text) if text.is_empty() => None,
        ContentPart::Text(text) => Some(json!({ "type": "text", "text": &**text })),
        ContentPart::Media(media) => image_content(media),
        _ => None,
    }
}

/// A picture that is part of the history.
fn image_content(media: &MediaPart<'_>) -> Option<Value> {
    match (media.kind, &media.source) {
        (MediaKind::Image, MediaSource::Data(data)) => {
            let kind = media.media_type.as_deref().unwrap_or("image/png");
            Some(json!({ "type": "image", "mimeType": kind, "data": data }))
        }
        _ => None,
    }
}

fn call_kind(chat: &ChatAgent, name: &str) -> &'static str {
    let effect = chat.tools.get(name).map(|tool| tool.spec().effect);
    match (name, effect) {
        ("run", _) => "execute",
        (_, Some(ToolEffect::Reads)) => "read",
        ("write" | "edit", _) => "edit",
        _ => "other",
    }
}
