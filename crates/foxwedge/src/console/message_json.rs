//! Messages as JSON, fit to be shown: texts that are too long are cut, media is described.

use foxwedge_formats::model::{ContentPart, MediaPart, MediaSource, ModelPart, ToolResultPart};
use serde_json::{Value, json};

use super::conversation::{AnswerPlacement, ConsoleConversation, role_name};
use crate::tree::TreeCallState;

/// Bytes of a text that are shown.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Parts of a message that are shown.
const MAX_PARTS: usize = 400;

/// Where answers are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnswerDisplay {
    /// At their calls.
    AtCalls,
    /// In their own messages.
    InOwnMessage,
}

/// A message.
pub(super) fn message(view: &ConsoleConversation, index: usize, answers: AnswerDisplay) -> Value {
    let mut told = json!({
        "index": index,
        "role": role_name(view.role(index)),
        "folded": false,
    });
    let Some(said) = view.message(index) else {
        let (text, cut) = clip_text(view.raw(index));
        told["parts"] =
            json!([{ "type": "other", "name": "unreadable", "text": text, "cut": cut }]);
        return told;
    };
    let (mut calls, mut given) = (view.calls(index).iter(), view.answers(index).iter());
    let mut parts = Vec::new();
    let mut hidden = 0;
    for one in &said.parts {
        let told = match one.content() {
            ContentPart::ToolCall(call) => {
                let link = calls.next();
                let state = link.map_or(TreeCallState::Open, |link| link.state);
                let (arguments, cut) = clip_text(&call.arguments);
                let answer = link.and_then(|link| link.answer);
                let told = answer.and_then(|answer| answer_json(view, answer, answers));
                let failed = told.as_ref().is_some_and(|told| told["error"] == true);
                json!({
                    "type": "call",
                    "id": call.id,
                    "name": call.name,
                    "arguments": arguments,
                    "cut": cut,
                    "state": state_word(state, failed),
                    "answer": told,
                })
            }
            ContentPart::ToolResult(answer) => match (given.next(), answers) {
                (Some(AnswerPlacement::Paired), AnswerDisplay::AtCalls) => {
                    hidden += 1;
                    continue;
                }
                (given, _) => {
                    stray_answer_json(answer, given.copied().unwrap_or(AnswerPlacement::Orphan))
                }
            },
            ContentPart::Text(_)
            | ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::Unknown(_) => part_json(one),
        };
        if parts.len() < MAX_PARTS {
            parts.push(told);
        } else {
            break;
        }
    }
    let more = said.parts.len().saturating_sub(parts.len() + hidden);
    told["folded"] = json!(hidden > 0 && parts.is_empty());
    told["parts"] = Value::Array(parts);
    if more > 0 {
        told["more_parts"] = json!(more);
    }
    told
}

/// The answer of a call. Where answers are shown at home, only where that is.
fn answer_json(
    view: &ConsoleConversation,
    (index, ordinal): (usize, usize),
    answers: AnswerDisplay,
) -> Option<Value> {
    let said = view.message(index)?;
    let mut all = said.parts.iter().filter_map(|part| match part.content() {
        ContentPart::ToolResult(answer) => Some(answer),
        _ => None,
    });
    let answer = all.nth(ordinal)?;
    let mut told = json!({ "message": index, "error": answer.error });
    match answers {
        AnswerDisplay::AtCalls => told["parts"] = parts_json(&answer.parts),
        AnswerDisplay::InOwnMessage => {}
    }
    Some(told)
}

/// An answer that stands by itself.
fn stray_answer_json(answer: &ToolResultPart<'_>, given: AnswerPlacement) -> Value {
    let state = match given {
        AnswerPlacement::Paired => "answered",
        AnswerPlacement::Duplicate => "duplicate",
        AnswerPlacement::Orphan => "orphan",
    };
    json!({
        "type": "answer",
        "id": answer.id,
        "name": answer.name,
        "state": state,
        "error": answer.error,
        "parts": parts_json(&answer.parts),
    })
}

fn parts_json(all: &[ModelPart<'_>]) -> Value {
    all.iter().take(MAX_PARTS).map(part_json).collect()
}

fn part_json(part: &ModelPart<'_>) -> Value {
    match part.content() {
        ContentPart::Text(words) => {
            let (text, cut) = clip_text(words);
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
        // Calls in answers are nobody's: told as what they are.
        ContentPart::ToolCall(call) => {
            let (text, cut) = clip_text(&call.arguments);
            json!({ "type": "other", "name": call.name, "text": text, "cut": cut })
        }
        ContentPart::ToolResult(answer) => stray_answer_json(answer, AnswerPlacement::Orphan),
        ContentPart::Unknown(other) => {
            let (text, cut) = clip_text(&other.json);
            json!({ "type": "other", "name": other.name, "text": text, "cut": cut })
        }
    }
}

fn media_json(media: &MediaPart<'_>) -> Value {
    let (size, place) = match &media.source {
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
        "at": place,
    })
}

/// The beginning of a text, and how many bytes it has if that is not all of it.
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
