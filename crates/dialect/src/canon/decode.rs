//! Reads what was said out of a document.
//!
//! A document is readable if and only if its outline is: [`crate::read`] decides that, and says
//! where it is not. Whatever has an unexpected type deeper inside is kept as [`Bit::Other`].

pub(crate) mod chat;
pub(crate) mod responses;
pub(crate) mod anthropic;
pub(crate) mod gemini;
pub(crate) mod bedrock;
mod notes;
mod shown;

use std::borrow::Cow;

use foxwedge_core::{Span, Wire};

pub(crate) use notes::citation;
use notes::{notes, strangers};

use super::{
    Bit, Form, History, Media, MediaKind, Other, Pairs, Part, Reasoning, Request, Said, Seal,
    Source, Speaker, Words, requests,
};
use crate::{
    document::{Unread, list_key},
    error::ReadError,
    json::{Object, Scan, Scanner, Shape, Tape, Value},
    outline::Want,
    read,
};

/// Reads a list of messages, or a request with its instructions.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn decode(source: &str, wire: Wire) -> Result<History<'_>, ReadError> {
    read(source, wire, Want::default())?;
    let tape = tape(source)?;
    Ok(history(tape.root(source), wire))
}

/// Reads a request, or a bare list of messages, with everything that stands around it.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn decode_request(source: &str, wire: Wire) -> Result<Request<'_>, ReadError> {
    read(source, wire, Want::default())?;
    Ok(request(source, wire)?.0)
}

/// Reads a request that was outlined before, and joins its calls and answers.
pub(crate) fn request(source: &str, wire: Wire) -> Result<(Request<'_>, Pairs), ReadError> {
    let tape = tape(source)?;
    let request = told(&tape, source, wire);
    let pairs = Pairs::of(&request.history);
    Ok((request, pairs))
}

/// Reads a request at once, if there is nothing odd about it: every value is of the type it should
/// be, nothing stands there twice or is unknown, and every call has its one answer in its place.
/// Anything else has to be outlined first, which finds out what is wrong and where.
pub(crate) fn whole_request(source: &str, wire: Wire) -> Option<(Request<'_>, Pairs)> {
    let tape = Tape::read(source).ok().filter(|tape| !tape.is_odd())?;
    let root = tape.root(source);
    let list = root.object().map_or(Some(root), |request| request.get(list_key(wire)))?;
    let request = told(&tape, source, wire);
    let known = |part: &Part<'_>| match part.bit() {
        Bit::Other(_) => false,
        Bit::Answer(answer) => answer.parts.iter().all(|part| !matches!(part.bit(), Bit::Other(_))),
        Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Call(_) => true,
    };
    let plain = list.is_list() && !tape.is_odd();
    let plain = plain && request.history.messages.iter().all(|said| said.parts.iter().all(known));
    let pairs = Pairs::of(&request.history);
    (plain && pairs.is_whole()).then_some((request, pairs))
}

fn told<'a>(tape: &Tape, source: &'a str, wire: Wire) -> Request<'a> {
    let root = tape.root(source);
    let settings = root.object().map(|request| requests::read(&request, wire));
    let mut history = history(root, wire);
    shown::bring_home(&mut history);
    Request { object: settings.is_some(), settings: settings.unwrap_or_default(), history }
}

/// A document that was read before, as a list of its values.
pub(super) fn tape(source: &str) -> Result<Tape, ReadError> {
    let whole = Span::new(0, source.len());
    Tape::within(source, whole)
        .map_err(|trouble| ReadError::from_unread(Unread { trouble, place: None, full: None }))
}

/// What is said in a document.
pub(super) fn history<'a>(document: Value<'_, 'a>, wire: Wire) -> History<'a> {
    let Some(request) = document.object() else {
        return History { messages: document.list().map(|value| message(value, wire)).collect() };
    };
    let mut messages = Vec::new();
    messages.extend(instructions(&request, wire));
    if let Some(list) = request.get(list_key(wire)) {
        match words(Some(list)) {
            // A string stands in for the one user message.
            Some(text) => messages.push(Said::new(Speaker::User, vec![Bit::Text(text).into()])),
            None => messages.extend(list.list().map(|value| message(value, wire))),
        }
    }
    History { messages }
}

/// Reads a single message, content or item.
///
/// # Errors
/// If the text is not a JSON object.
pub fn decode_message(source: &str, wire: Wire) -> Result<Said<'_>, ReadError> {
    let tape = one_object(source)
        .map_err(|trouble| ReadError::from_unread(Unread { trouble, place: None, full: None }))?;
    Ok(message(tape.root(source), wire))
}

fn one_object(source: &str) -> Scan<Tape> {
    let mut scan = Scanner::new(source);
    if scan.shape()? != Shape::Object {
        return scan.trouble("a message is not an object");
    }
    Tape::read(source)
}

/// Reads a message, content or item that was scanned before.
pub(crate) fn message<'a>(value: Value<'_, 'a>, wire: Wire) -> Said<'a> {
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
fn instructions<'a>(request: &Object<'_, 'a>, wire: Wire) -> Option<Said<'a>> {
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
    // What is no block goes nowhere.
    let loose =
        |part: &Part<'a>| matches!(part.bit(), Bit::Other(other) if !other.json.starts_with('{'));
    let mut parts = body(Some(value), wire, block);
    parts.retain(|part| !loose(part));
    (!parts.is_empty()).then(|| Said::new(Speaker::System, parts))
}

/// Reads one element of a list of blocks; `None` if it is nothing we know.
pub(crate) type ReadBlock = for<'a> fn(&Object<'_, 'a>) -> Option<Bit<'a>>;

/// Reads a block of a message of that format.
pub(crate) fn block<'a>(block: &Object<'_, 'a>, wire: Wire) -> Option<Bit<'a>> {
    match wire {
        Wire::OpenaiChat => chat::block(block),
        Wire::OpenaiResponses => responses::block(block),
        Wire::Anthropic => anthropic::block(block),
        Wire::Gemini => gemini::part(block),
        Wire::Bedrock => bedrock::block(block),
    }
}

/// Content that is a string or a list of blocks.
pub(crate) fn body<'a>(
    value: Option<Value<'_, 'a>>,
    wire: Wire,
    block: ReadBlock,
) -> Vec<Part<'a>> {
    let Some(value) = value else { return Vec::new() };
    if let Some(text) = words(Some(value)) {
        return vec![Bit::Text(text).into()];
    }
    let mut parts: Vec<Part<'a>> = Vec::new();
    for value in value.list() {
        // Bedrock marks what stands before.
        if wire == Wire::Bedrock
            && let (Some(last), Some(object)) = (parts.last_mut(), value.object())
            && object.tag() == "cachePoint"
            && object.others(&["cachePoint"]).is_empty()
        {
            last.notes_mut().cache = Some(object.raw());
            continue;
        }
        parts.push(element(value, wire, block));
    }
    parts
}

pub(crate) fn element<'a>(value: Value<'_, 'a>, wire: Wire, block: ReadBlock) -> Part<'a> {
    let json = value.raw();
    let Some(object) = value.object() else {
        value.mark_strange();
        return other(Cow::Borrowed(""), wire, Form::Block, json);
    };
    match block(&object) {
        Some(bit) => {
            let part = Part::read(bit, wire, Form::Block, json);
            match notes(&object, wire) {
                Some(notes) => part.with(notes),
                None => part,
            }
        }
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
fn arguments<'a>(value: Option<Value<'_, 'a>>) -> Words<'a> {
    match value {
        Some(value) if !value.is_null() => words(Some(value)).unwrap_or_else(|| value.raw().into()),
        _ => "{}".into(),
    }
}

/// The free text of a custom call; what is no text is told as JSON.
fn free_text<'a>(value: Option<Value<'_, 'a>>) -> Words<'a> {
    match value.filter(|value| !value.is_null()) {
        Some(value) => words(Some(value)).unwrap_or_else(|| value.raw().into()),
        None => Words::default(),
    }
}

/// What a string says.
pub(crate) fn words<'a>(value: Option<Value<'_, 'a>>) -> Option<Words<'a>> {
    value?.inside().map(Words::inside)
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

fn reasoning<'a>(text: Words<'a>, seal: Seal<'a>) -> Bit<'a> {
    Bit::Reasoning(Reasoning { text, seal })
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
