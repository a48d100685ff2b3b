//! What a Converse message says.

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

use super::{arguments, body, reasoning, speaker, words};
use crate::{
    canon::{Answer, Bit, Call, Media, MediaKind, Said, Seal, Source, Words, media::type_of},
    json::{Object, Value},
};

const WIRE: Wire = Wire::Bedrock;

pub(super) fn message<'a>(message: &Object<'_, 'a>) -> Option<Said<'a>> {
    let role = speaker(&message.text("role")?)?;
    let parts = body(message.get("content"), WIRE, block);
    Some(Said::read(role, parts, WIRE, message.others(&["role", "content"])))
}

pub(crate) fn block<'a>(block: &Object<'_, 'a>) -> Option<Bit<'a>> {
    if let Some(text) = words(block.get("text")) {
        return Some(Bit::Text(text));
    }
    // Texts with sources, and texts that a guard looks at.
    if let Some(cited) = block.object("citationsContent") {
        let text = |value: Value<'_, 'a>| value.object()?.text("text");
        return Some(Bit::Text(cited.list("content").filter_map(text).collect::<String>().into()));
    }
    if let Some(guarded) = block.object("guardContent").and_then(|guard| guard.object("text")) {
        return Some(Bit::Text(words(guarded.get("text"))?));
    }
    if let Some(call) = block.object("toolUse") {
        return tool_use(&call);
    }
    if let Some(answer) = block.object("toolResult") {
        return tool_result(&answer);
    }
    if let Some(thought) = block.object("reasoningContent") {
        let readable = thought.object("reasoningText");
        let text = words(readable.and_then(|readable| readable.get("text")));
        let signature = words(readable.and_then(|readable| readable.get("signature")));
        let signature = signature.filter(|signature| !signature.is_empty());
        let seal = match (signature, thought.get("redactedContent")) {
            (Some(signature), _) => Seal::Signed(signature),
            (None, Some(data)) => Seal::Redacted(words(Some(data)).unwrap_or_default()),
            (None, None) => Seal::Open,
        };
        return Some(reasoning(text.unwrap_or_default(), seal));
    }
    // Inside answers: a value of any shape.
    if let Some(json) = block.get("json") {
        return Some(Bit::Text(Words::from(json.raw())));
    }
    let kinds = [
        ("image", MediaKind::Image),
        ("audio", MediaKind::Audio),
        ("video", MediaKind::Video),
        ("document", MediaKind::File),
    ];
    kinds.into_iter().find_map(|(key, kind)| media(kind, block.get(key)?)).map(Bit::Media)
}

fn tool_use<'a>(call: &Object<'_, 'a>) -> Option<Bit<'a>> {
    if call.text("type").as_deref() == Some("server_tool_use") {
        return None;
    }
    Some(Bit::Call(Call {
        id: call.word("toolUseId"),
        name: call.text("name").unwrap_or_default(),
        family: Family::Function,
        arguments: arguments(call.get("input")),
        signature: None,
    }))
}

fn tool_result<'a>(answer: &Object<'_, 'a>) -> Option<Bit<'a>> {
    // The answer of a tool that the provider ran itself names that tool's type.
    if answer.text("type").is_some_and(|kind| kind != "tool_result") {
        return None;
    }
    Some(Bit::Answer(Answer {
        id: answer.word("toolUseId"),
        name: None,
        family: Family::Function,
        parts: body(answer.get("content"), WIRE, block),
        error: answer.text("status").as_deref() == Some("error"),
    }))
}

fn media<'a>(kind: MediaKind, value: Value<'_, 'a>) -> Option<Media<'a>> {
    let media = value.object()?;
    let source = media.object("source")?;
    let place = source.object("s3Location");
    let found = match (source.text("bytes"), source.text("text"), place) {
        (Some(bytes), _, _) => Source::Data(bytes),
        (_, Some(text), _) => Source::Text(text),
        (_, _, Some(place)) => Source::Stored { id: place.text("uri")?, wire: WIRE },
        (None, None, None) => return None,
    };
    let format = media.text("format");
    let media_type = format.and_then(|format| type_of(kind, &format)).map(Cow::Borrowed);
    Some(Media { kind, media_type, source: found, name: media.word("name") })
}
