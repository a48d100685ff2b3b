//! Decodes Converse messages.

use std::borrow::Cow;

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::{
    anthropic::decode::read_citation,
    conversation::{
        ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelMessage, PartNotes,
        ReasoningSignature, ToolCallPart, ToolResultPart,
        decode::{
            BlockDecodeFormat, read_arguments, read_content, read_role, read_text, reasoning_part,
        },
        media::media_type_of,
    },
};
use foxwedge_json::{JsonObject, JsonValue};

pub(crate) const DECODE_FORMAT: BlockDecodeFormat = BlockDecodeFormat {
    wire: WIRE,
    block: read_block,
    is_usual: |_| false,
    notes: read_notes,
    known_fields: &[
        "text",
        "citationsContent",
        "toolUse",
        "toolResult",
        "reasoningContent",
        "json",
        "image",
        "audio",
        "video",
        "document",
    ],
    known_inner_fields: &[
        ("toolUse", &["toolUseId", "name", "input", "type"]),
        ("toolResult", &["toolUseId", "content", "status", "type"]),
        ("document", &["name", "format", "source"]),
        ("image", &["format", "source"]),
    ],
    cache_block: Some("cachePoint"),
};

pub(crate) fn read_message<'a>(message: &JsonObject<'_, 'a>) -> Option<ModelMessage<'a>> {
    let role = read_role(message, "content")?;
    let parts = read_content(message.get("content"), &DECODE_FORMAT);
    Some(ModelMessage::read(role, parts, WIRE, message.others(&["role", "content"])))
}

pub(crate) fn read_block<'a>(block: &JsonObject<'_, 'a>) -> Option<ContentPart<'a>> {
    if let Some(text) = read_text(block.get("text")) {
        return Some(ContentPart::Text(text));
    }
    // Texts with citations, and texts for a guardrail.
    if let Some(cited) = block.object("citationsContent") {
        let text = |value: JsonValue<'_, 'a>| value.object()?.text("text");
        return Some(ContentPart::Text(
            cited.list("content").filter_map(text).collect::<String>().into(),
        ));
    }
    if let Some(guarded) = block.object("guardContent").and_then(|guard| guard.object("text")) {
        return Some(ContentPart::Text(read_text(guarded.get("text"))?));
    }
    if let Some(call) = block.object("toolUse") {
        return read_tool_use(&call);
    }
    if let Some(result) = block.object("toolResult") {
        return read_tool_result(&result);
    }
    if let Some(reasoning) = block.object("reasoningContent") {
        let readable = reasoning.object("reasoningText");
        let text = read_text(readable.and_then(|readable| readable.get("text")));
        let signature = read_text(readable.and_then(|readable| readable.get("signature")));
        let signature = signature.filter(|signature| !signature.is_empty());
        let signature = match (signature, reasoning.get("redactedContent")) {
            (Some(signature), _) => ReasoningSignature::Signed(signature),
            (None, Some(data)) => {
                ReasoningSignature::Redacted(read_text(Some(data)).unwrap_or_default())
            }
            (None, None) => ReasoningSignature::Unsigned,
        };
        return Some(reasoning_part(text.unwrap_or_default(), signature));
    }
    // In tool results: a JSON value of any shape.
    if let Some(json) = block.get("json") {
        return Some(ContentPart::Text(JsonText::from(json.raw())));
    }
    let kinds = [
        ("image", MediaKind::Image),
        ("audio", MediaKind::Audio),
        ("video", MediaKind::Video),
        ("document", MediaKind::File),
    ];
    kinds
        .into_iter()
        .find_map(|(key, kind)| read_media(kind, block.get(key)?))
        .map(ContentPart::Media)
}

fn read_tool_use<'a>(call: &JsonObject<'_, 'a>) -> Option<ContentPart<'a>> {
    if call.text("type").as_deref() == Some("server_tool_use") {
        return None;
    }
    Some(ContentPart::ToolCall(ToolCallPart {
        id: call.non_empty_text("toolUseId"),
        name: call.text("name").unwrap_or_default(),
        family: CallFamily::Function,
        arguments: read_arguments(call.get("input")),
        signature: None,
    }))
}

fn read_tool_result<'a>(result: &JsonObject<'_, 'a>) -> Option<ContentPart<'a>> {
    // The result of a server tool has that tool's type.
    if result.text("type").is_some_and(|kind| kind != "tool_result") {
        return None;
    }
    Some(ContentPart::ToolResult(ToolResultPart {
        id: result.non_empty_text("toolUseId"),
        name: None,
        family: CallFamily::Function,
        parts: read_content(result.get("content"), &DECODE_FORMAT),
        error: result.text("status").as_deref() == Some("error"),
    }))
}

fn read_media<'a>(kind: MediaKind, value: JsonValue<'_, 'a>) -> Option<MediaPart<'a>> {
    let media = value.object()?;
    let source = media.object("source")?;
    let location = source.object("s3Location");
    let media_source = match (source.text("bytes"), source.text("text"), location) {
        (Some(bytes), _, _) => MediaSource::Data(bytes),
        (_, Some(text), _) => MediaSource::Text(text),
        (_, _, Some(location)) => MediaSource::Stored { id: location.text("uri")?, wire: WIRE },
        (None, None, None) => return None,
    };
    let format = media.text("format");
    let media_type = format.and_then(|format| media_type_of(kind, &format)).map(Cow::Borrowed);
    Some(MediaPart { kind, media_type, source: media_source, name: media.non_empty_text("name") })
}

/// Reads the annotations of a block.
fn read_notes<'a>(block: &JsonObject<'_, 'a>) -> PartNotes<'a> {
    let cited = block.object("citationsContent");
    let citations = cited.iter().flat_map(|cited| cited.list("citations"));
    let citations = citations.filter_map(JsonValue::object);
    PartNotes {
        citations: citations.map(|citation| read_citation(&citation)).collect(),
        ..PartNotes::default()
    }
}
