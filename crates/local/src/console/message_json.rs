//! Messages as JSON for display: long texts are cut, media is described.

use foxwedge_formats::model::{ContentPart, MediaPart, MediaSource, ModelPart, ToolResultPart};
use serde_json::{Value, json};

use super::conversation::{ConsoleConversation, role_name};
use crate::tree::TreeCallState;

/// Bytes of a text that are shown.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Parts of a message that are shown.
const MAX_PARTS: usize = 400;

/// Where tool results are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnswerDisplay {
    /// At their calls.
    AtCalls,
    /// In their own messages.
    InOwnMessage,
}

/// A message as JSON.
pub(super) fn message(
    conversation: &ConsoleConversation,
    index: usize,
    display: AnswerDisplay,
) -> Value {
    let mut response = json!({
        "index": index,
        "role": role_name(conversation.role(index)),
        "folded": false,
    });
    let Some(decoded) = conversation.message(index) else {
        let (text, cut) = clip_text(conversation.raw(index));
        response["parts"] =
            json!([{ "type": "other", "name": "unreadable", "text": text, "cut": cut }]);
        return response;
    };
    let mut calls = conversation.calls(index).iter();
    let mut answers = conversation.answers(index).iter();
    let mut parts = Vec::new();
    let mut hidden = 0;
    for part in &decoded.parts {
        let shown_part = match part.content() {
            ContentPart::ToolCall(call) => {
                let link = calls.next();
                let state = link.map_or(TreeCallState::Open, |link| link.state);
                let (arguments, cut) = clip_text(&call.arguments);
                let result = link.and_then(|link| link.answer);
                let result = result.and_then(|at| answer_json(conversation, at, display));
                let failed = result.as_ref().is_some_and(|result| result["error"] == true);
                json!({
                    "type": "call",
                    "id": call.id,
                    "name": call.name,
                    "arguments": arguments,
                    "cut": cut,
                    "state": state_word(state, failed),
                    "answer": result,
                })
            }
            ContentPart::ToolResult(result) => match (answers.next(), display) {
                (Some(None), AnswerDisplay::AtCalls) => {
                    hidden += 1;
                    continue;
                }
                (Some(stray), _) => own_answer_json(result, *stray),
                (None, _) => own_answer_json(result, Some(TreeCallState::OrphanAnswer)),
            },
            ContentPart::Text(_)
            | ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::Unknown(_) => part_json(part),
        };
        if parts.len() < MAX_PARTS {
            parts.push(shown_part);
        } else {
            break;
        }
    }
    let more = decoded.parts.len().saturating_sub(parts.len() + hidden);
    response["folded"] = json!(hidden > 0 && parts.is_empty());
    response["parts"] = Value::Array(parts);
    if more > 0 {
        response["more_parts"] = json!(more);
    }
    response
}

/// The result of a tool call. Without its parts if results are shown in their own messages.
fn answer_json(
    conversation: &ConsoleConversation,
    (index, ordinal): (usize, usize),
    display: AnswerDisplay,
) -> Option<Value> {
    let decoded = conversation.message(index)?;
    let mut results = decoded.parts.iter().filter_map(|part| match part.content() {
        ContentPart::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = results.nth(ordinal)?;
    let mut response = json!({ "message": index, "error": result.error });
    match display {
        AnswerDisplay::AtCalls => response["parts"] = parts_json(&result.parts),
        AnswerDisplay::InOwnMessage => {}
    }
    Some(response)
}

/// A tool result that is shown as a part of its own.
fn own_answer_json(result: &ToolResultPart<'_>, stray: Option<TreeCallState>) -> Value {
    let state = match stray {
        None => "answered",
        Some(TreeCallState::DuplicateAnswer) => "duplicate",
        Some(_) => "orphan",
    };
    json!({
        "type": "answer",
        "id": result.id,
        "name": result.name,
        "state": state,
        "error": result.error,
        "parts": parts_json(&result.parts),
    })
}

fn parts_json(all: &[ModelPart<'_>]) -> Value {
    all.iter().take(MAX_PARTS).map(part_json).collect()
}

fn part_json(part: &ModelPart<'_>) -> Value {
    match part.content() {
        ContentPart::Text(full_text) => {
            let (text, cut) = clip_text(full_text);
            json!({ "type": "text", "text": text, "cut": cut })
        }
        ContentPart::Reasoning(reasoning) => {
            let (text, cut) = clip_text(&reasoning.text);
            json!({
                "type": "thinking",
                "text": text,
                "sealed": reasoning.is_provider_bound(),
                "cut": cut,
            })
        }
        ContentPart::Media(media) => media_json(media),
        // A call inside a tool result is not a call of the model.
        ContentPart::ToolCall(call) => {
            let (text, cut) = clip_text(&call.arguments);
            json!({ "type": "other", "name": call.name, "text": text, "cut": cut })
        }
        ContentPart::ToolResult(result) => {
            own_answer_json(result, Some(TreeCallState::OrphanAnswer))
        }
        ContentPart::Unknown(other) => {
            let (text, cut) = clip_text(&other.json);
            json!({ "type": "other", "name": other.name, "text": text, "cut": cut })
        }
    }
}

fn media_json(media: &MediaPart<'_>) -> Value {
    let (size, location) = match &media.source {
        MediaSource::Data(data) => (Some(data.trim_end_matches('=').len() * 3 / 4), None),
        MediaSource::Text(text) => (Some(text.len()), None),
        MediaSource::Url(url) => (None, Some(clip_text(url).0)),
        MediaSource::Stored { id, .. } => (None, Some(clip_text(id).0)),
    };
    json!({
        "type": "media",
        "kind": media.kind.name(),
        "media_type": media.media_type,
        "name": media.name,
        "size": size,
        "at": location,
    })
}

/// The beginning of a text, and the full length in bytes if it was cut.
pub(super) fn clip_text(text: &str) -> (&str, Option<usize>) {
    if text.len() <= MAX_TEXT_BYTES {
        return (text, None);
    }
    let end = (0..=MAX_TEXT_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    (text.get(..end).unwrap_or_default(), Some(text.len()))
}

fn state_word(state: TreeCallState, failed: bool) -> &'static str {
    match state {
        TreeCallState::Answered if failed => "failed",
        TreeCallState::Answered => "answered",
        TreeCallState::AnsweredElsewhere(_) => "elsewhere",
        TreeCallState::Placeholder => "placeholder",
        TreeCallState::Open | TreeCallState::DuplicateAnswer | TreeCallState::OrphanAnswer => {
            "open"
        }
    }
}
