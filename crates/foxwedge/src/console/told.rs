//! Messages as JSON, fit to be shown: texts that are too long are cut, media is described.

use foxwedge_dialect::canon::{Answer, Bit, Media, Part, Source};
use serde_json::{Value, json};

use super::view::{Given, View, role};
use crate::tree::State;

/// Bytes of a text that are shown.
const TEXT: usize = 16 << 10;

/// Parts of a message that are shown.
const PARTS: usize = 400;

/// Where answers are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answers {
    /// At their calls.
    AtCalls,
    /// In their own messages.
    AtHome,
}

/// A message.
pub(super) fn message(view: &View, index: usize, answers: Answers) -> Value {
    let mut told = json!({
        "index": index,
        "role": role(view.role(index)),
        "folded": false,
    });
    let Some(said) = view.said(index) else {
        let (text, cut) = text(view.raw(index));
        told["parts"] =
            json!([{ "type": "other", "name": "unreadable", "text": text, "cut": cut }]);
        return told;
    };
    let (mut calls, mut given) = (view.calls(index).iter(), view.answers(index).iter());
    let mut parts = Vec::new();
    let mut hidden = 0;
    for one in &said.parts {
        let told = match one.bit() {
            Bit::Call(call) => {
                let link = calls.next();
                let state = link.map_or(State::Open, |link| link.state);
                let (arguments, cut) = text(&call.arguments);
                let answer = link.and_then(|link| link.answer);
                let told = answer.and_then(|answer| answer_told(view, answer, answers));
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
            Bit::Answer(answer) => match (given.next(), answers) {
                (Some(Given::Joined), Answers::AtCalls) => {
                    hidden += 1;
                    continue;
                }
                (given, _) => stray(answer, given.copied().unwrap_or(Given::Orphan)),
            },
            Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Other(_) => part(one),
        };
        if parts.len() < PARTS {
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
fn answer_told(view: &View, (index, ordinal): (usize, usize), answers: Answers) -> Option<Value> {
    let said = view.said(index)?;
    let mut all = said.parts.iter().filter_map(|part| match part.bit() {
        Bit::Answer(answer) => Some(answer),
        _ => None,
    });
    let answer = all.nth(ordinal)?;
    let mut told = json!({ "message": index, "error": answer.error });
    match answers {
        Answers::AtCalls => told["parts"] = parts(&answer.parts),
        Answers::AtHome => {}
    }
    Some(told)
}

/// An answer that stands by itself.
fn stray(answer: &Answer<'_>, given: Given) -> Value {
    let state = match given {
        Given::Joined => "answered",
        Given::Duplicate => "duplicate",
        Given::Orphan => "orphan",
    };
    json!({
        "type": "answer",
        "id": answer.id,
        "name": answer.name,
        "state": state,
        "error": answer.error,
        "parts": parts(&answer.parts),
    })
}

fn parts(all: &[Part<'_>]) -> Value {
    all.iter().take(PARTS).map(part).collect()
}

fn part(part: &Part<'_>) -> Value {
    match part.bit() {
        Bit::Text(words) => {
            let (text, cut) = text(words);
            json!({ "type": "text", "text": text, "cut": cut })
        }
        Bit::Reasoning(reasoning) => {
            let (text, cut) = text(&reasoning.text);
            json!({
                "type": "thinking",
                "text": text,
                "sealed": reasoning.is_sealed(),
                "cut": cut,
            })
        }
        Bit::Media(media) => described(media),
        // Calls in answers are nobody's: told as what they are.
        Bit::Call(call) => {
            let (text, cut) = text(&call.arguments);
            json!({ "type": "other", "name": call.name, "text": text, "cut": cut })
        }
        Bit::Answer(answer) => stray(answer, Given::Orphan),
        Bit::Other(other) => {
            let (text, cut) = text(&other.json);
            json!({ "type": "other", "name": other.name, "text": text, "cut": cut })
        }
    }
}

fn described(media: &Media<'_>) -> Value {
    let (size, place) = match &media.source {
        Source::Data(data) => (Some(data.trim_end_matches('=').len() * 3 / 4), None),
        Source::Text(text) => (Some(text.len()), None),
        Source::Url(url) => (None, Some(text(url).0)),
        Source::Stored { id, .. } => (None, Some(text(id).0)),
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
pub(super) fn text(text: &str) -> (&str, Option<usize>) {
    if text.len() <= TEXT {
        return (text, None);
    }
    let end = (0..=TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    (text.get(..end).unwrap_or_default(), Some(text.len()))
}

fn state_word(state: State, failed: bool) -> &'static str {
    match state {
        State::Answered if failed => "failed",
        State::Answered => "answered",
        State::Elsewhere(_) => "elsewhere",
        State::Placeholder => "placeholder",
        State::Open | State::Again | State::Orphan => "open",
    }
}
