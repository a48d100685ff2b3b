//! Reads the conversation of a document into the model.
//!
//! A document can be decoded exactly if it can be outlined: [`crate::read`] decides that and
//! reports the position of an error. A nested value of an unexpected type is kept as
//! [`ContentPart::Unknown`].

mod result_media;

use std::borrow::Cow;

use foxwedge_core::{Format, Span};

use super::requests;
use crate::{
    anthropic, bedrock,
    conversation::{
        CallPairs, ContentPart, ModelHistory, ModelMessage, ModelPart, ModelRequest, ModelRole,
        PartPlacement,
        decode::{BlockDecodeFormat, read_content, read_text, unknown_part},
    },
    envelope::list_key,
    error::ReadError,
    gemini, gemini_interactions, openai_chat, openai_responses,
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
        ContentPart::Text(_) => !part.notes().is_some_and(|notes| notes.summary),
        ContentPart::Media(_) | ContentPart::Reasoning(_) | ContentPart::ToolCall(_) => true,
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
    if format == Format::Gemini {
        join_streamed_contents(&mut history);
    }
    result_media::restore_result_media(&mut history);
    ModelRequest { object: settings.is_some(), settings: settings.unwrap_or_default(), history }
}

/// Clients of Gemini keep every chunk of a stream as a content. Joins what follows a call to it: in
/// other formats nothing may stand between a call and its results.
fn join_streamed_contents(history: &mut ModelHistory<'_>) {
    let holds_calls = |message: &ModelMessage<'_>| {
        message.parts.iter().any(|part| matches!(part.content(), ContentPart::ToolCall(_)))
    };
    let mut joined: Vec<ModelMessage<'_>> = Vec::with_capacity(history.messages.len());
    for message in history.messages.drain(..) {
        let of_model = message.role == ModelRole::Assistant;
        match joined.last_mut() {
            Some(last) if of_model && last.role == ModelRole::Assistant && holds_calls(last) => {
                last.join(message);
            }
            _ => joined.push(message),
        }
    }
    history.messages = joined;
}

/// Scans a document that is known to be valid into a list of its values.
pub(super) fn read_tape(source: &str) -> Result<JsonTape, ReadError> {
    let span = Span::new(0, source.len());
    JsonTape::within(source, span).map_err(|error| ReadError::from_scan(error, None))
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
            None if list.is_object() => messages.push(read_message(list, format)),
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
    let tape = scan_object(source).map_err(|error| ReadError::from_scan(error, None))?;
    Ok(read_message(tape.root(source), format))
}

fn scan_object(source: &str) -> ScanResult<JsonTape> {
    let mut scan = JsonScanner::new(source);
    if scan.shape()? != JsonShape::Object {
        return scan.fail("a message is not an object");
    }
    JsonTape::read(source)
}

/// A message that cannot be parsed.
fn unknown_message(json: &str, format: Format) -> ModelMessage<'_> {
    let part = unknown_part(Cow::Borrowed("message"), format, PartPlacement::Message, json);
    ModelMessage::read(ModelRole::User, vec![part], format, Vec::new())
}

/// Reads a scanned message, content or item.
pub(crate) fn read_message<'a>(value: JsonValue<'_, 'a>, format: Format) -> ModelMessage<'a> {
    let read = match format {
        Format::OpenaiChat => openai_chat::decode::read_message,
        Format::OpenaiResponses => openai_responses::decode::read_item,
        Format::Anthropic => anthropic::decode::read_message,
        Format::Gemini => gemini::decode::read_message,
        Format::Bedrock => bedrock::decode::read_message,
        Format::GeminiInteractions => gemini_interactions::decode::read_step,
    };
    let message = value.object().and_then(|object| read(&object));
    message.unwrap_or_else(|| unknown_message(value.raw(), format))
}

/// Reads the instructions that are separate from the list of messages.
fn read_instructions<'a>(request: &JsonObject<'_, 'a>, format: Format) -> Option<ModelMessage<'a>> {
    let value = match format {
        Format::OpenaiChat => return None,
        Format::OpenaiResponses => request.get("instructions")?,
        Format::Anthropic | Format::Bedrock => request.get("system")?,
        Format::GeminiInteractions => request.get("system_instruction")?,
        Format::Gemini => {
            let content = request.get_any(&["systemInstruction", "system_instruction"])?;
            content.object().and_then(|content| content.get("parts")).unwrap_or(content)
        }
    };
    let content = match format {
        Format::Gemini => gemini::decode::read_parts(Some(value)),
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Anthropic
        | Format::Bedrock
        | Format::GeminiInteractions => read_content(Some(value), block_format(format)),
    };
    // Elements that are not blocks are dropped.
    let is_not_block = |part: &ModelPart<'a>| matches!(part.content(), ContentPart::Unknown(other) if !other.json.starts_with('{'));
    let mut parts = content;
    parts.retain(|part| !is_not_block(part));
    (!parts.is_empty()).then(|| ModelMessage::new(ModelRole::System, parts))
}

/// Reads a block of a message of that format.
pub(crate) fn read_block<'a>(
    block: &JsonObject<'_, 'a>,
    format: Format,
) -> Option<ContentPart<'a>> {
    (block_format(format).block)(block)
}

fn block_format(format: Format) -> &'static BlockDecodeFormat {
    match format {
        Format::OpenaiChat => &openai_chat::decode::DECODE_FORMAT,
        Format::OpenaiResponses => &openai_responses::decode::DECODE_FORMAT,
        Format::Anthropic => &anthropic::decode::DECODE_FORMAT,
        Format::Gemini => &gemini::decode::DECODE_FORMAT,
        Format::Bedrock => &bedrock::decode::DECODE_FORMAT,
        Format::GeminiInteractions => &gemini_interactions::decode::DECODE_FORMAT,
    }
}
