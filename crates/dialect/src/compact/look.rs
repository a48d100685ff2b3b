//! Reads a history once more, for what its outline does not hold: how many tokens everything takes,
//! and what calls were about.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
};

use foxwedge_core::{
    Draft, Kind, Pairing, Span,
    compact::{CallClue, Clues, Counter, Weights},
};

use super::hints;
use crate::{
    canon::{Answer, Bit, Call, Said, Source, decode_message},
    document::{Frame, list_key},
    json::fields,
};

/// What a message costs beside what it says: its role, its brackets.
const FRAME: u32 = 4;
/// What a call or an answer costs beside what it says: its id, its brackets.
const ENVELOPE: u32 = 8;

/// Weighs a document: the messages, and what stands around them.
pub fn weigh(draft: &Draft<'_>, frame: Frame, counter: &mut dyn Counter) -> Weights {
    let mut weights = Weights::new(around(draft, frame, counter), counter.is_exact());
    for message in &draft.messages {
        let said = decode_message(message.span.of(draft.source), draft.wire).ok();
        let mut answers = said.iter().flat_map(|said| answers(said));
        let mut tokens = FRAME;
        // The answers are weighed one by one: they are what can shrink. Other parts are not.
        for part in draft.parts_of(message) {
            let (all, media) = match &part.kind {
                Kind::Answer(_) => match answers.next() {
                    Some(answer) => answered(answer, counter),
                    None => (counter.text(part.span.of(draft.source)), 0),
                },
                _ => (0, 0),
            };
            weights.part(all, media);
            tokens = tokens.saturating_add(all);
        }
        for part in said.iter().flat_map(|said| &said.parts) {
            tokens = tokens.saturating_add(match part.bit() {
                Bit::Text(text) => counter.text(text),
                Bit::Media(media) => shown(&media.source, counter),
                Bit::Reasoning(reasoning) if reasoning.text.is_empty() => {
                    sealed(part.raw().map_or("", |raw| raw.json))
                }
                Bit::Reasoning(reasoning) => counter.text(&reasoning.text),
                Bit::Call(call) => called(call, counter),
                Bit::Answer(_) => 0,
                Bit::Other(other) => counter.text(&other.json),
            });
        }
        weights.message(tokens);
    }
    weights
}

/// What calls were about.
pub fn clues(draft: &Draft<'_>, pairing: &Pairing) -> Clues {
    let mut clues =
        Clues { calls: vec![CallClue::default(); pairing.calls.len()], ..Clues::default() };
    let mut calls = pairing.calls.iter().enumerate().peekable();
    let mut given = pairing.answers.iter().peekable();
    for (at, message) in draft.messages.iter().enumerate() {
        let Ok(said) = decode_message(message.span.of(draft.source), draft.wire) else { continue };
        let mut told = said.parts.iter().filter_map(|part| match part.bit() {
            Bit::Call(call) => Some(call),
            _ => None,
        });
        while let Some((index, _)) = calls.next_if(|(_, call)| call.message <= at) {
            if let (Some(call), Some(clue)) = (told.next(), clues.calls.get_mut(index)) {
                clue.same = digest(&(&*call.name, &*call.arguments));
                clue.file = hints::file(&call.arguments).map_or(0, |file| digest(&*file));
                clue.effect = hints::effect(&call.name);
            }
        }
        let mut told = answers(&said);
        while let Some(answer) = given.next_if(|answer| answer.message <= at) {
            let failed = told.next().is_some_and(hints::failed);
            if let Some(clue) = answer.fate.call().and_then(|call| clues.calls.get_mut(call)) {
                clue.failed = failed;
            }
        }
        let wishes = message.role.is_user()
            && said.parts.iter().any(|part| match part.bit() {
                Bit::Text(text) => hints::constrains(text),
                _ => false,
            });
        if wishes {
            clues.constraints.push(at);
        }
    }
    clues
}

/// The answers of a message, in order.
pub(super) fn answers<'s, 'a>(said: &'s Said<'a>) -> impl Iterator<Item = &'s Answer<'a>> {
    said.parts.iter().filter_map(|part| match part.bit() {
        Bit::Answer(answer) => Some(answer),
        _ => None,
    })
}

/// Never zero: that would say that nothing is known.
fn digest(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish().max(1)
}

fn called(call: &Call<'_>, counter: &mut dyn Counter) -> u32 {
    ENVELOPE.saturating_add(counter.text(&call.name)).saturating_add(counter.text(&call.arguments))
}

/// Tokens of an answer, and of the media in it.
fn answered(answer: &Answer<'_>, counter: &mut dyn Counter) -> (u32, u32) {
    let (mut all, mut pictures) = (ENVELOPE, 0_u32);
    for part in &answer.parts {
        match part.bit() {
            Bit::Text(text) => all = all.saturating_add(counter.text(text)),
            Bit::Media(media) => {
                pictures = pictures.saturating_add(shown(&media.source, counter));
            }
            Bit::Other(other) => all = all.saturating_add(counter.text(&other.json)),
            Bit::Reasoning(_) | Bit::Call(_) | Bit::Answer(_) => {}
        }
    }
    (all.saturating_add(pictures), pictures)
}

/// Tokens of media; a document that is plain text is text.
fn shown(source: &Source<'_>, counter: &mut dyn Counter) -> u32 {
    match source {
        Source::Text(text) => counter.text(text),
        Source::Data(data) => counter.media(data),
        Source::Url(url) => counter.media(url),
        Source::Stored { id, .. } => counter.media(id),
    }
}

/// Reasoning that cannot be read: its bytes are base64 of something like text.
fn sealed(json: &str) -> u32 {
    u32::try_from(json.len() / 6).unwrap_or(u32::MAX)
}

/// Tokens of instructions and tools that stand beside the list.
fn around(draft: &Draft<'_>, frame: Frame, counter: &mut dyn Counter) -> u64 {
    if !frame.object {
        return 0;
    }
    const TOLD: [&str; 12] = [
        "system",
        "instructions",
        "systemInstruction",
        "system_instruction",
        "tools",
        "toolConfig",
        "tool_config",
        "functions",
        "response_format",
        "text",
        "output_config",
        "prompt",
    ];
    let source = draft.source;
    let mut tokens = 0;
    for field in fields(source, frame.document) {
        let input = field.key == list_key(draft.wire) && frame.list.is_none();
        if TOLD.contains(&&*field.key) || input {
            tokens += u64::from(counter.text(unquoted(source, field.value)));
        }
    }
    tokens
}

/// A string without its quotes; escapes are near enough.
fn unquoted(source: &str, value: Span) -> &str {
    let raw = value.of(source);
    raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw)
}
