//! Decodes Anthropic messages.

use std::borrow::Cow;

use foxwedge_core::{CallFamily, earlier_summary_text};

use super::WIRE;
use crate::conversation::{
    ContentPart, MediaKind, MediaPart, MediaSource, ModelMessage, ModelPart, PartNotes,
    PartPlacement, ReasoningSignature, TextCitation, ToolCallPart, ToolResultPart,
    decode::{
        self, BlockDecodeFormat, join_texts, read_arguments, read_content, read_role, read_text,
        reasoning_part,
    },
};
use foxwedge_json::{JsonObject, JsonTape, JsonValue};

pub(crate) const DECODE_FORMAT: BlockDecodeFormat = BlockDecodeFormat {
    wire: WIRE,
    block: read_block,
    is_usual: |key| {
        matches!(key, b"type" | b"text" | b"id" | b"name" | b"input" | b"tool_use_id" | b"content")
    },
    notes: read_notes,
    known_fields: &[
        "type",
        "text",
        "id",
        "name",
        "input",
        "tool_use_id",
        "content",
        "is_error",
        "source",
        "title",
        "thinking",
        "signature",
        "data",
        "cache_control",
        "citations",
        "caller",
    ],
    known_inner_fields: &[],
    cache_block: None,
};

pub(crate) fn read_message<'a>(message: &JsonObject<'_, 'a>) -> Option<ModelMessage<'a>> {
    let role = read_role(message, "content")?;
    let parts = read_blocks(message.get("content"));
    let parts = parts.into_iter().map(|part| read_summary(&part).unwrap_or(part)).collect();
    Some(ModelMessage::read(role, parts, WIRE, message.others(&["role", "content"])))
}

/// Reads content. Media in a document follows it as parts of its own.
fn read_blocks<'a>(content: Option<JsonValue<'_, 'a>>) -> Vec<ModelPart<'a>> {
    let parts = read_content(content, &DECODE_FORMAT);
    let is_text = |part: &ModelPart<'a>| {
        let ContentPart::Media(media) = part.content() else { return false };
        matches!(media.source, MediaSource::Text(_))
    };
    let Some(content) = content.filter(|_| parts.iter().any(is_text)) else { return parts };
    let mut all = Vec::with_capacity(parts.len());
    for (part, block) in parts.into_iter().zip(content.list()) {
        let source = block.object().filter(|_| is_text(&part)).and_then(|it| it.object("source"));
        all.push(part);
        let nested = source.and_then(|source| source.get("content")).filter(|it| it.is_list());
        let nested = nested.into_iter().flat_map(JsonValue::list).filter_map(JsonValue::object);
        let media = nested.filter_map(|block| match read_block(&block)? {
            media @ ContentPart::Media(_) => {
                Some(ModelPart::read(media, WIRE, PartPlacement::Inside, block.raw()))
            }
            _ => None,
        });
        all.extend(media);
    }
    all
}

/// The summary in a compaction block, which is all that is left of the messages before it. Other
/// formats get it as text. Encrypted content cannot be read.
fn read_summary<'a>(part: &ModelPart<'a>) -> Option<ModelPart<'a>> {
    let ContentPart::Unknown(other) = part.content() else { return None };
    let json = part.origin().filter(|_| other.name == "compaction")?.json;
    let tape = JsonTape::read(json).ok()?;
    let block = tape.root(json).object()?;
    let summary = block.non_empty_text("content")?;
    let content = ContentPart::Text(earlier_summary_text(&summary).into());
    let notes = decode::read_notes(&block, &DECODE_FORMAT).unwrap_or_default();
    let part = ModelPart::read(content, WIRE, PartPlacement::Block, json);
    Some(part.with_notes(PartNotes { summary: true, ..notes }))
}

pub(crate) fn read_block<'a>(block: &JsonObject<'_, 'a>) -> Option<ContentPart<'a>> {
    Some(match &*block.text("type")? {
        "text" => ContentPart::Text(read_text(block.get("text"))?),
        "thinking" => {
            let signature =
                read_text(block.get("signature")).filter(|signature| !signature.is_empty());
            reasoning_part(
                read_text(block.get("thinking")).unwrap_or_default(),
                signature.map_or(ReasoningSignature::Unsigned, ReasoningSignature::Signed),
            )
        }
        "redacted_thinking" => {
            let data = read_text(block.get("data")).unwrap_or_default();
            reasoning_part("".into(), ReasoningSignature::Redacted(data))
        }
        "tool_use" => ContentPart::ToolCall(ToolCallPart {
            id: block.non_empty_text("id"),
            name: block.text("name").unwrap_or_default(),
            family: CallFamily::Function,
            arguments: read_arguments(block.get("input")),
            signature: None,
        }),
        "tool_result" => ContentPart::ToolResult(ToolResultPart {
            id: block.non_empty_text("tool_use_id"),
            name: None,
            family: CallFamily::Function,
            parts: read_blocks(block.get("content")),
            error: block.is_true("is_error"),
        }),
        "image" => ContentPart::Media(read_media(MediaKind::Image, block)?),
        "document" => ContentPart::Media(read_media(MediaKind::File, block)?),
        // A search result is a document with a source.
        "search_result" => ContentPart::Media(MediaPart {
            kind: MediaKind::File,
            media_type: None,
            source: MediaSource::Text(document_texts(block.get("content")?)),
            name: read_source_name(block),
        }),
        _ => return None,
    })
}

/// The title of a search result and where it was found, which the model cites.
fn read_source_name<'a>(block: &JsonObject<'_, 'a>) -> Option<Cow<'a, str>> {
    match (block.non_empty_text("title"), block.non_empty_text("source")) {
        (Some(title), Some(source)) => Some(format!("{title} ({source})").into()),
        (title, source) => title.or(source),
    }
}

/// The texts of a document that consists of several blocks, joined with line breaks.
fn document_texts<'a>(content: JsonValue<'_, 'a>) -> Cow<'a, str> {
    content.text().unwrap_or_else(|| {
        join_texts(content.list().filter_map(|block| block.object()?.text("text")))
    })
}

fn read_media<'a>(kind: MediaKind, block: &JsonObject<'_, 'a>) -> Option<MediaPart<'a>> {
    let source = block.object("source")?;
    let media_source = match &*source.text("type")? {
        "base64" => MediaSource::Data(source.text("data")?),
        "text" => MediaSource::Text(source.text("data")?),
        "url" => MediaSource::Url(source.text("url")?),
        "content" => MediaSource::Text(document_texts(source.get("content")?)),
        "file" => MediaSource::Stored { id: source.text("file_id")?, wire: WIRE },
        _ => return None,
    };
    let (media_type, name) = (source.non_empty_text("media_type"), block.non_empty_text("title"));
    Some(MediaPart { kind, media_type, source: media_source, name })
}

/// Reads a citation of a text.
pub(crate) fn read_citation<'a>(citation: &JsonObject<'_, 'a>) -> TextCitation<'a> {
    let text = |keys: &[&str]| read_text(citation.get_any(keys));
    TextCitation {
        url: text(&["url"]),
        title: text(&["title", "document_title"]),
        quote: text(&["cited_text"]),
        span: None,
    }
}

/// Reads the annotations of a block.
fn read_notes<'a>(block: &JsonObject<'_, 'a>) -> PartNotes<'a> {
    let mut notes = PartNotes::default();
    let cache = block.get("cache_control").filter(|cache| !cache.is_null());
    notes.cache_mark = cache.map(JsonValue::raw);
    let citations = block.list("citations").filter_map(JsonValue::object);
    notes.citations = citations.map(|citation| read_citation(&citation)).collect();
    if block.object("citations").is_some_and(|setting| setting.is_true("enabled")) {
        notes.unknown_fields.push("citations".into());
    }
    // Every call names a caller; only one made by code has an owner to lose.
    let caller = block.object("caller").and_then(|caller| caller.text("type"));
    if caller.is_some_and(|kind| kind != "direct") {
        notes.unknown_fields.push("caller".into());
    }
    notes
}
