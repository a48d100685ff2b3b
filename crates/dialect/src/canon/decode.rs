//! Reads what was said out of a document.
//!
//! A document is readable if and only if its outline is: [`crate::read`] decides that, and says
//! where it is not. Whatever has an unexpected type deeper inside is kept as [`Bit::Other`].

mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use std::borrow::Cow;

use foxwedge_core::{Span, Wire};

use super::{
    Bit, Form, History, Media, MediaKind, Other, Part, Reasoning, Said, Source, Speaker,
    view::{Object, Value},
};
use crate::{
    document::Unread,
    error::ReadError,
    json::{Scan, Scanner, Shape},
    outline::Want,
    read,
};

/// Reads a list of messages, or a request with its instructions.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn decode(source: &str, wire: Wire) -> Result<History<'_>, ReadError> {
    let frame = read(source, wire, Want::default())?.frame;
    let document = Value::new(source, frame.document);
    let mut messages = Vec::new();
    if let Some(request) = document.object() {
        messages.extend(instructions(&request, wire));
        // A string stands in for the one user message.
        if let (None, Some(text)) = (frame.list, request.text("input")) {
            messages.push(Said::new(Speaker::User, vec![Bit::Text(text).into()]));
        }
    }
    if let Some(list) = frame.list {
        messages.extend(Value::new(source, list).list().map(|value| message(value, wire)));
    }
    Ok(History { messages })
}

/// Reads a single message, content or item.
///
/// # Errors
/// If the text is not a JSON object.
pub fn decode_message(source: &str, wire: Wire) -> Result<Said<'_>, ReadError> {
    let span = one_object(source)
        .map_err(|trouble| ReadError::from_unread(Unread { trouble, place: None }))?;
    Ok(message(Value::new(source, span), wire))
}

fn one_object(source: &str) -> Scan<Span> {
    let mut scan = Scanner::new(source);
    if scan.shape()? != Shape::Object {
        return scan.trouble("a message is not an object");
    }
    let span = scan.skip()?;
    scan.end()?;
    Ok(span)
}

fn message(value: Value<'_>, wire: Wire) -> Said<'_> {
    let read = match wire {
        Wire::OpenaiChat => chat::message,
        Wire::OpenaiResponses => responses::item,
        Wire::Anthropic => anthropic::message,
        Wire::Gemini => gemini::message,
        Wire::Bedrock => bedrock::message,
    };
    let said = value.object().and_then(|object| read(&object));
    said.unwrap_or_else(|| whole(value.raw(), wire))
}

/// A message that we cannot tell anything about.
fn whole(json: &str, wire: Wire) -> Said<'_> {
    let part = other(Cow::Borrowed("message"), wire, Form::Message, json);
    Said::read(Speaker::User, vec![part], wire, Vec::new())
}

/// What stands beside the list of messages and belongs in front of it.
fn instructions<'a>(request: &Object<'a>, wire: Wire) -> Option<Said<'a>> {
    let (value, block): (_, ReadBlock) = match wire {
        Wire::OpenaiChat => return None,
        Wire::OpenaiResponses => (request.get("instructions")?, responses::block),
        Wire::Anthropic => (request.get("system")?, anthropic::block),
        Wire::Gemini => {
            let content = request.any(&["systemInstruction", "system_instruction"])?;
            let parts = content.object().and_then(|content| content.get("parts"));
            (parts.unwrap_or(content), gemini::part)
        }
        Wire::Bedrock => (request.get("system")?, bedrock::block),
    };
    // Outside of the list, no spelling of a list applies.
    let parts: Vec<Part<'a>> = body(Some(value), wire, block)
        .into_iter()
        .filter(|part| !matches!(part.bit(), Bit::Other(_)))
        .map(|part| part.into_bit().into())
        .collect();
    (!parts.is_empty()).then(|| Said::new(Speaker::System, parts))
}

/// Reads one element of a list of blocks; `None` if it is nothing we know.
type ReadBlock = for<'a> fn(&Object<'a>) -> Option<Bit<'a>>;

/// Content that is a string or a list of blocks.
fn body<'a>(value: Option<Value<'a>>, wire: Wire, block: ReadBlock) -> Vec<Part<'a>> {
    let Some(value) = value else { return Vec::new() };
    if let Some(text) = value.text() {
        return vec![Bit::Text(text).into()];
    }
    value.list().map(|value| element(value, wire, block)).collect()
}

fn element(value: Value<'_>, wire: Wire, block: ReadBlock) -> Part<'_> {
    let json = value.raw();
    let Some(object) = value.object() else {
        return other(Cow::Borrowed(""), wire, Form::Block, json);
    };
    match block(&object) {
        Some(bit) => Part::read(bit, wire, Form::Block, json),
        None => {
            let name = object.text("type").unwrap_or_else(|| object.tag());
            other(name, wire, Form::Block, json)
        }
    }
}

fn other<'a>(name: Cow<'a, str>, wire: Wire, form: Form, json: &'a str) -> Part<'a> {
    Part::read(Bit::Other(Other { name, json: Cow::Borrowed(json) }), wire, form, json)
}

/// What a role of any format means.
fn speaker(role: &str) -> Option<Speaker> {
    Some(match role {
        "user" => Speaker::User,
        // The formats' words for the model are never anything else.
        "assistant" | "model" | "ai" => Speaker::Assistant,
        "system" => Speaker::System,
        "developer" => Speaker::Developer,
        _ => return None,
    })
}

/// Arguments that are an object here and a string there.
fn arguments<'a>(value: Option<Value<'a>>) -> Cow<'a, str> {
    match value {
        Some(value) if !value.is_null() => {
            value.text().unwrap_or_else(|| Cow::Borrowed(value.raw()))
        }
        _ => Cow::Borrowed("{}"),
    }
}

/// Media behind an address.
fn at_url<'a>(kind: MediaKind, url: Cow<'a, str>, name: Option<Cow<'a, str>>) -> Bit<'a> {
    let (source, media_type) = Source::at(url);
    Bit::Media(Media { kind, media_type, source, name })
}

/// Media that the document holds, with or without the head of an address.
fn held<'a>(kind: MediaKind, data: Cow<'a, str>, name: Option<Cow<'a, str>>) -> Bit<'a> {
    let (source, media_type) = match Source::at(data) {
        (Source::Url(data), _) => (Source::Data(data), None),
        found => found,
    };
    Bit::Media(Media { kind, media_type, source, name })
}

fn reasoning(text: Cow<'_, str>, sealed: bool) -> Bit<'_> {
    Bit::Reasoning(Reasoning { text, sealed })
}

/// Texts, one below the other.
fn joined<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |mut all, text| {
        all.to_mut().push_str("\n\n");
        all.to_mut().push_str(&text);
        all
    })
}
