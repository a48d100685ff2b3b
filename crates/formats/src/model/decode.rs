//! Reads the conversation of a document into the model.
//!
//! A document can be decoded exactly if it can be outlined: [`crate::read`] decides that and
//! reports the position of an error. A nested value of an unexpected type is kept as
//! [`ContentPart::Unknown`].

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
    outline::OutlineOptions,
    read,
};
use foxwedge_json::{JsonObject, JsonScanner, JsonShape, JsonTape, JsonValue, ScanResult};

/// Reads a list of messages, or a request with its instructions.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn decode(source: &str, format: Format) -> Result<ModelHistory<'_>, ReadError> {
    read(source, format, OutlineOptions::default())?;
    let tape = read_tape(source)?;
    Ok(read_history(tape.root(source), format))
}

/// Reads a request with all its settings, or a bare list of messages.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn decode_request(source: &str, format: Format) -> Result<ModelRequest<'_>, ReadError> {
    read(source, format, OutlineOptions::default())?;
    Ok(read_request(source, format)?.0)
}

/// Reads a request that was outlined before, and pairs its tool calls and tool results.
pub(crate) fn read_request(
    source: &str,
    format: Format,
) -> Result<(ModelRequest<'_>, CallPairs), ReadError> {
    let tape = read_tape(source)?;
    let request = build_request(&tape, source, format);
    let pairs = CallPairs::of(&request.history);
    Ok((request, pairs))
}

/// Reads a request directly if it is regular: every value has the expected type, no field is
/// unknown or repeated, and every tool call has exactly one result in the right place. Any other
/// request must be outlined first, which locates the problem.
pub(crate) fn read_regular_request(
    source: &str,
    format: Format,
) -> Option<(ModelRequest<'_>, CallPairs)> {
    let tape = JsonTape::read(source).ok().filter(|tape| !tape.is_odd())?;
    let root = tape.root(source);
    let list = root.object().map_or(Some(root), |request| request.get(list_key(format)))?;
    let request = build_request(&tape, source, format);
    let known = |part: &ModelPart<'_>| match part.content() {
        ContentPart::Unknown(_) => false,
        ContentPart::ToolResult(result) => {
            result.parts.iter().all(|part| !matches!(part.content(), ContentPart::Unknown(_)))
        }
        ContentPart::Text(_)
        | ContentPart::Media(_)
        | ContentPart::Reasoning(_)
        | ContentPart::ToolCall(_) => true,
    };
    let plain = list.is_list() && !tape.is_odd();
    let plain =
        plain && request.history.messages.iter().all(|message| message.parts.iter().all(known));
    let pairs = CallPairs::of(&request.history);
    (plain && pairs.is_complete()).then_some((request, pairs))
}

fn build_request<'a>(tape: &JsonTape, source: &'a str, format: Format) -> ModelRequest<'a> {
    let root = tape.root(source);
    let settings = root.object().map(|request| requests::read(&request, format));
    let mut history = read_history(root, format);
    result_media::restore_result_media(&mut history);
    ModelRequest { object: settings.is_some(), settings: settings.unwrap_or_default(), history }
}

/// Scans a document that is known to be valid into a list of its values.
pub(super) fn read_tape(source: &str) -> Result<JsonTape, ReadError> {
    let span = Span::new(0, source.len());
    JsonTape::within(source, span).map_err(|error| {
        ReadError::from_document_error(DocumentError { error, place: None, exceeded_limit: None })
    })
}

/// Reads the messages of a document.
pub(super) fn read_history<'a>(document: JsonValue<'_, 'a>, format: Format) -> ModelHistory<'a> {
    let Some(request) = document.object() else {
        return ModelHistory {
            messages: document.list().map(|value| read_message(value, format)).collect(),
        };
    };
    let mut messages = Vec::new();
    messages.extend(read_instructions(&request, format));
    if let Some(list) = request.get(list_key(format)) {
        match read_text(Some(list)) {
            // A string stands for a single user message.
            Some(text) => messages
                .push(ModelMessage::new(ModelRole::User, vec![ContentPart::Text(text).into()])),
            None => messages.extend(list.list().map(|value| read_message(value, format))),
        }
    }
    ModelHistory { messages }
}

/// Reads a single message, content or item.
///
/// # Errors
/// If the text is not a JSON object.
pub fn decode_message(source: &str, format: Format) -> Result<ModelMessage<'_>, ReadError> {
    let tape = scan_object(source).map_err(|error| {
        ReadError::from_document_error(DocumentError { error, place: None, exceeded_limit: None })
    })?;
    Ok(read_message(tape.root(source), format))
}

fn scan_object(source: &str) -> ScanResult<JsonTape> {
    let mut scan = JsonScanner::new(source);
    if scan.shape()? != JsonShape::Object {
        return scan.fail("a message is not an object");
    }
    JsonTape::read(source)
}

/// Reads a scanned message, content or item.
pub(crate) fn read_message<'a>(value: JsonValue<'_, 'a>, format: Format) -> ModelMessage<'a> {
    let read = match format {
        Format::OpenaiChat => chat::read_message,
        Format::OpenaiResponses => responses::read_item,
        Format::Anthropic => anthropic::read_message,
        Format::Gemini => gemini::read_message,
        Format::Bedrock => bedrock::read_message,
    };
    let message = value.object().and_then(|object| read(&object));
    message.unwrap_or_else(|| unknown_message(value.raw(), format))
}

/// A message that cannot be parsed.
fn unknown_message(json: &str, format: Format) -> ModelMessage<'_> {
    let part = unknown_part(Cow::Borrowed("message"), format, PartPlacement::Message, json);
    ModelMessage::read(ModelRole::User, vec![part], format, Vec::new())
}

/// Reads the instructions that are separate from the list of messages.
fn read_instructions<'a>(request: &JsonObject<'_, 'a>, format: Format) -> Option<ModelMessage<'a>> {
    let (value, block): (_, BlockDecoder) = match format {
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
    // Elements that are not blocks are dropped.
    let is_not_block = |part: &ModelPart<'a>| matches!(part.content(), ContentPart::Unknown(other) if !other.json.starts_with('{'));
    let mut parts = read_content(Some(value), format, block);
    parts.retain(|part| !is_not_block(part));
    (!parts.is_empty()).then(|| ModelMessage::new(ModelRole::System, parts))
}

/// Reads one element of a list of blocks; `None` if its type is unknown.
pub(crate) type BlockDecoder = for<'a> fn(&JsonObject<'_, 'a>) -> Option<ContentPart<'a>>;

/// Reads a block of a message of that format.
pub(crate) fn read_block<'a>(
    block: &JsonObject<'_, 'a>,
    format: Format,
) -> Option<ContentPart<'a>> {
    match format {
        Format::OpenaiChat => chat::read_block(block),
        Format::OpenaiResponses => responses::read_block(block),
        Format::Anthropic => anthropic::read_block(block),
        Format::Gemini => gemini::read_part(block),
        Format::Bedrock => bedrock::read_block(block),
    }
}

/// Reads content that is a string or a list of blocks.
pub(crate) fn read_content<'a>(
    value: Option<JsonValue<'_, 'a>>,
    format: Format,
    block: BlockDecoder,
) -> Vec<ModelPart<'a>> {
    let Some(value) = value else { return Vec::new() };
    if let Some(text) = read_text(Some(value)) {
        return vec![ContentPart::Text(text).into()];
    }
    let mut parts: Vec<ModelPart<'a>> = Vec::new();
    for value in value.list() {
        // Bedrock's marker applies to the block before it.
        if format == Format::Bedrock
            && let (Some(last), Some(object)) = (parts.last_mut(), value.object())
            && object.tag() == "cachePoint"
            && object.others(&["cachePoint"]).is_empty()
        {
            last.notes_mut().cache_mark = Some(object.raw());
            continue;
        }
        parts.push(read_element(value, format, block));
    }
    parts
}

pub(crate) fn read_element<'a>(
    value: JsonValue<'_, 'a>,
    format: Format,
    block: BlockDecoder,
) -> ModelPart<'a> {
    let json = value.raw();
    let Some(object) = value.object() else {
        value.mark_odd();
        return unknown_part(Cow::Borrowed(""), format, PartPlacement::Block, json);
    };
    match block(&object) {
        Some(content) => {
            let part = ModelPart::read(content, format, PartPlacement::Block, json);
            match read_notes(&object, format) {
                Some(notes) => part.with_notes(notes),
                None => part,
            }
        }
        None => {
            let name = object.text("type").unwrap_or_else(|| object.tag());
            unknown_part(name, format, PartPlacement::Block, json)
        }
    }
}

fn unknown_part<'a>(
    name: Cow<'a, str>,
    format: Format,
    form: PartPlacement,
    json: &'a str,
) -> ModelPart<'a> {
    ModelPart::read(
        ContentPart::Unknown(UnknownPart { name, json: Cow::Borrowed(json) }),
        format,
        form,
        json,
    )
}

/// Parses a role of any format.
fn parse_role(role: &str) -> Option<ModelRole> {
    Some(match role {
        "user" => ModelRole::User,
        // These names always mean the model, in every format.
        "assistant" | "model" | "ai" => ModelRole::Assistant,
        "system" => ModelRole::System,
        "developer" => ModelRole::Developer,
        _ => return None,
    })
}

/// Reads arguments that are an object in some formats and a string in others.
fn read_arguments<'a>(value: Option<JsonValue<'_, 'a>>) -> JsonText<'a> {
    match value {
        Some(value) if !value.is_null() => {
            read_text(Some(value)).unwrap_or_else(|| value.raw().into())
        }
        _ => "{}".into(),
    }
}

/// Reads the free text of a custom call; a value that is not a string is kept as JSON.
fn read_free_text<'a>(value: Option<JsonValue<'_, 'a>>) -> JsonText<'a> {
    match value.filter(|value| !value.is_null()) {
        Some(value) => read_text(Some(value)).unwrap_or_else(|| value.raw().into()),
        None => JsonText::default(),
    }
}

/// The text of a string value.
pub(crate) fn read_text<'a>(value: Option<JsonValue<'_, 'a>>) -> Option<JsonText<'a>> {
    value?.raw_string().map(JsonText::from_json)
}

/// Media at a URL.
fn url_media<'a>(
    kind: MediaKind,
    url: Cow<'a, str>,
    name: Option<Cow<'a, str>>,
) -> ContentPart<'a> {
    let (source, media_type) = MediaSource::from_url(url);
    ContentPart::Media(MediaPart { kind, media_type, source, name })
}

/// Inline media, either plain base64 or a `data:` URL.
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

fn reasoning_part<'a>(text: JsonText<'a>, signature: ReasoningSignature<'a>) -> ContentPart<'a> {
    ContentPart::Reasoning(ReasoningPart { text, signature })
}

/// Joins texts with line breaks.
fn join_texts<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>) -> Cow<'a, str> {
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |mut all, text| {
        all.to_mut().push_str("\n\n");
        all.to_mut().push_str(&text);
        all
    })
}
