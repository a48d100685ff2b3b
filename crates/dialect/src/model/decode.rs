//! Reads what was said out of a document.
//!
//! A document is readable if and only if its outline is: [`crate::read`] decides that, and says
//! where it is not. Whatever has an unexpected type deeper inside is kept as [`Bit::Other`].

pub(crate) mod chat;
pub(crate) mod responses;
pub(crate) mod anthropic;
pub(crate) mod gemini;
pub(crate) mod bedrock;
mod part_notes;
mod result_media;

use std::borrow::Cow;

use foxwedge_core::{Format, Span};

pub(crate) use part_notes::read_citation;
use part_notes::{read_notes, unknown_fields};

use super::{
    CallPairs, ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelHistory,
    ModelMessage, ModelPart, ModelRequest, ModelRole, PartPlacement, ReasoningPart,
    ReasoningSignature, UnknownPart, requests,
};
use crate::{
    document::{DocumentError, list_key},
    error::ReadError,
    json::{JsonObject, JsonScanner, JsonShape, JsonTape, JsonValue, ScanResult},
    outline::OutlineOptions,
    read,
};

/// Reads a list of messages, or a request with its instructions.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn decode(source: &str, wire: Format) -> Result<ModelHistory<'_>, ReadError> {
    read(source, wire, OutlineOptions::default())?;
    let tape = read_tape(source)?;
    Ok(read_history(tape.root(source), wire))
}

/// Reads a request, or a bare list of messages, with everything that stands around it.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn decode_request(source: &str, wire: Format) -> Result<ModelRequest<'_>, ReadError> {
    read(source, wire, OutlineOptions::default())?;
    Ok(read_request(source, wire)?.0)
}

/// Reads a request that was outlined before, and joins its calls and answers.
pub(crate) fn read_request(
    source: &str,
    wire: Format,
) -> Result<(ModelRequest<'_>, CallPairs), ReadError> {
    let tape = read_tape(source)?;
    let request = build_request(&tape, source, wire);
    let pairs = CallPairs::of(&request.history);
    Ok((request, pairs))
}

/// Reads a request at once, if there is nothing odd about it: every value is of the type it should
/// be, nothing stands there twice or is unknown, and every call has its one answer in its place.
/// Anything else has to be outlined first, which finds out what is wrong and where.
pub(crate) fn read_regular_request(
    source: &str,
    wire: Format,
) -> Option<(ModelRequest<'_>, CallPairs)> {
    let tape = JsonTape::read(source).ok().filter(|tape| !tape.is_odd())?;
    let root = tape.root(source);
    let list = root.object().map_or(Some(root), |request| request.get(list_key(wire)))?;
    let request = build_request(&tape, source, wire);
    let known = |part: &ModelPart<'_>| match part.content() {
        ContentPart::Unknown(_) => false,
        ContentPart::ToolResult(answer) => {
            answer.parts.iter().all(|part| !matches!(part.content(), ContentPart::Unknown(_)))
        }
        ContentPart::Text(_)
        | ContentPart::Media(_)
        | ContentPart::Reasoning(_)
        | ContentPart::ToolCall(_) => true,
    };
    let plain = list.is_list() && !tape.is_odd();
    let plain = plain && request.history.messages.iter().all(|said| said.parts.iter().all(known));
    let pairs = CallPairs::of(&request.history);
    (plain && pairs.is_complete()).then_some((request, pairs))
}

fn build_request<'a>(tape: &JsonTape, source: &'a str, wire: Format) -> ModelRequest<'a> {
    let root = tape.root(source);
    let settings = root.object().map(|request| requests::read(&request, wire));
    let mut history = read_history(root, wire);
    result_media::restore_result_media(&mut history);
    ModelRequest { object: settings.is_some(), settings: settings.unwrap_or_default(), history }
}

/// A document that was read before, as a list of its values.
pub(super) fn read_tape(source: &str) -> Result<JsonTape, ReadError> {
    let whole = Span::new(0, source.len());
    JsonTape::within(source, whole).map_err(|trouble| {
        ReadError::from_document_error(DocumentError {
            error: trouble,
            place: None,
            exceeded_limit: None,
        })
    })
}

/// What is said in a document.
pub(super) fn read_history<'a>(document: JsonValue<'_, 'a>, wire: Format) -> ModelHistory<'a> {
    let Some(request) = document.object() else {
        return ModelHistory {
            messages: document.list().map(|value| read_message(value, wire)).collect(),
        };
    };
    let mut messages = Vec::new();
    messages.extend(read_instructions(&request, wire));
    if let Some(list) = request.get(list_key(wire)) {
        match read_text(Some(list)) {
            // A string stands in for the one user message.
            Some(text) => messages
                .push(ModelMessage::new(ModelRole::User, vec![ContentPart::Text(text).into()])),
            None => messages.extend(list.list().map(|value| read_message(value, wire))),
        }
    }
    ModelHistory { messages }
}

/// Reads a single message, content or item.
///
/// # Errors
/// If the text is not a JSON object.
pub fn decode_message(source: &str, wire: Format) -> Result<ModelMessage<'_>, ReadError> {
    let tape = scan_object(source).map_err(|trouble| {
        ReadError::from_document_error(DocumentError {
            error: trouble,
            place: None,
            exceeded_limit: None,
        })
    })?;
    Ok(read_message(tape.root(source), wire))
}

fn scan_object(source: &str) -> ScanResult<JsonTape> {
    let mut scan = JsonScanner::new(source);
    if scan.shape()? != JsonShape::Object {
        return scan.fail("a message is not an object");
    }
    JsonTape::read(source)
}

/// Reads a message, content or item that was scanned before.
pub(crate) fn read_message<'a>(value: JsonValue<'_, 'a>, wire: Format) -> ModelMessage<'a> {
    let read = match wire {
        Format::OpenaiChat => chat::read_message,
        Format::OpenaiResponses => responses::read_item,
        Format::Anthropic => anthropic::read_message,
        Format::Gemini => gemini::read_message,
        Format::Bedrock => bedrock::read_message,
    };
    let said = value.object().and_then(|object| read(&object));
    said.unwrap_or_else(|| unknown_message(value.raw(), wire))
}

/// A message that we cannot tell anything about.
fn unknown_message(json: &str, wire: Format) -> ModelMessage<'_> {
    let part = unknown_part(Cow::Borrowed("message"), wire, PartPlacement::Message, json);
    ModelMessage::read(ModelRole::User, vec![part], wire, Vec::new())
}

/// What stands beside the list of messages and belongs in front of it.
fn read_instructions<'a>(request: &JsonObject<'_, 'a>, wire: Format) -> Option<ModelMessage<'a>> {
    let (value, block): (_, BlockDecoder) = match wire {
        Format::OpenaiChat => return None,
        Format::OpenaiResponses => (request.get("instructions")?, responses::read_block),
        Format::Anthropic => (request.get("system")?, anthropic::read_block),
        Format::Gemini => {
            let content = request.get_any(&["systemInstruction", "system_instruction"])?;
            let parts = content.object().and_then(|content| content.get("parts"));
            (parts.unwrap_or(content), gemini::read_part)
        }
        Format::Bedrock => (request.get("system")?, bedrock::read_block),
    };
    // What is no block goes nowhere.
    let loose = |part: &ModelPart<'a>| matches!(part.content(), ContentPart::Unknown(other) if !other.json.starts_with('{'));
    let mut parts = read_content(Some(value), wire, block);
    parts.retain(|part| !loose(part));
    (!parts.is_empty()).then(|| ModelMessage::new(ModelRole::System, parts))
}

/// Reads one element of a list of blocks; `None` if it is nothing we know.
pub(crate) type BlockDecoder = for<'a> fn(&JsonObject<'_, 'a>) -> Option<ContentPart<'a>>;

/// Reads a block of a message of that format.
pub(crate) fn read_block<'a>(block: &JsonObject<'_, 'a>, wire: Format) -> Option<ContentPart<'a>> {
    match wire {
        Format::OpenaiChat => chat::read_block(block),
        Format::OpenaiResponses => responses::read_block(block),
        Format::Anthropic => anthropic::read_block(block),
        Format::Gemini => gemini::read_part(block),
        Format::Bedrock => bedrock::read_block(block),
    }
}

/// Content that is a string or a list of blocks.
pub(crate) fn read_content<'a>(
    value: Option<JsonValue<'_, 'a>>,
    wire: Format,
    block: BlockDecoder,
) -> Vec<ModelPart<'a>> {
    let Some(value) = value else { return Vec::new() };
    if let Some(text) = read_text(Some(value)) {
        return vec![ContentPart::Text(text).into()];
    }
    let mut parts: Vec<ModelPart<'a>> = Vec::new();
    for value in value.list() {
        // Bedrock marks what stands before.
        if wire == Format::Bedrock
            && let (Some(last), Some(object)) = (parts.last_mut(), value.object())
            && object.tag() == "cachePoint"
            && object.others(&["cachePoint"]).is_empty()
        {
            last.notes_mut().cache_mark = Some(object.raw());
            continue;
        }
        parts.push(read_element(value, wire, block));
    }
    parts
}

pub(crate) fn read_element<'a>(
    value: JsonValue<'_, 'a>,
    wire: Format,
    block: BlockDecoder,
) -> ModelPart<'a> {
    let json = value.raw();
    let Some(object) = value.object() else {
        value.mark_odd();
        return unknown_part(Cow::Borrowed(""), wire, PartPlacement::Block, json);
    };
    match block(&object) {
        Some(bit) => {
            let part = ModelPart::read(bit, wire, PartPlacement::Block, json);
            match read_notes(&object, wire) {
                Some(notes) => part.with_notes(notes),
                None => part,
            }
        }
        None => {
            let name = object.text("type").unwrap_or_else(|| object.tag());
            unknown_part(name, wire, PartPlacement::Block, json)
        }
    }
}

fn unknown_part<'a>(
    name: Cow<'a, str>,
    wire: Format,
    form: PartPlacement,
    json: &'a str,
) -> ModelPart<'a> {
    ModelPart::read(
        ContentPart::Unknown(UnknownPart { name, json: Cow::Borrowed(json) }),
        wire,
        form,
        json,
    )
}

/// What a role of any format means.
fn parse_role(role: &str) -> Option<ModelRole> {
    Some(match role {
        "user" => ModelRole::User,
        // The formats' words for the model are never anything else.
        "assistant" | "model" | "ai" => ModelRole::Assistant,
        "system" => ModelRole::System,
        "developer" => ModelRole::Developer,
        _ => return None,
    })
}

/// Arguments that are an object here and a string there.
fn read_arguments<'a>(value: Option<JsonValue<'_, 'a>>) -> JsonText<'a> {
    match value {
        Some(value) if !value.is_null() => {
            read_text(Some(value)).unwrap_or_else(|| value.raw().into())
        }
        _ => "{}".into(),
    }
}

/// The free text of a custom call; what is no text is told as JSON.
fn read_free_text<'a>(value: Option<JsonValue<'_, 'a>>) -> JsonText<'a> {
    match value.filter(|value| !value.is_null()) {
        Some(value) => read_text(Some(value)).unwrap_or_else(|| value.raw().into()),
        None => JsonText::default(),
    }
}

/// What a string says.
pub(crate) fn read_text<'a>(value: Option<JsonValue<'_, 'a>>) -> Option<JsonText<'a>> {
    value?.raw_string().map(JsonText::from_json)
}

/// Media behind an address.
fn url_media<'a>(
    kind: MediaKind,
    url: Cow<'a, str>,
    name: Option<Cow<'a, str>>,
) -> ContentPart<'a> {
    let (source, media_type) = MediaSource::from_url(url);
    ContentPart::Media(MediaPart { kind, media_type, source, name })
}

/// Media that the document holds, with or without the head of an address.
fn inline_media<'a>(
    kind: MediaKind,
    data: Cow<'a, str>,
    name: Option<Cow<'a, str>>,
) -> ContentPart<'a> {
    let (source, media_type) = match MediaSource::from_url(data) {
        (MediaSource::Url(data), _) => (MediaSource::Data(data), None),
        found => found,
    };
    ContentPart::Media(MediaPart { kind, media_type, source, name })
}

fn reasoning_part<'a>(text: JsonText<'a>, seal: ReasoningSignature<'a>) -> ContentPart<'a> {
    ContentPart::Reasoning(ReasoningPart { text, signature: seal })
}

/// Texts, one below the other.
fn join_texts<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |mut all, text| {
        all.to_mut().push_str("\n\n");
        all.to_mut().push_str(&text);
        all
    })
}
