//! Annotations of a block besides its content: markers, citations, unknown fields.

use foxwedge_core::Format;

use super::{anthropic, read_text, responses};
use crate::model::{PartNotes, TextCitation};
use foxwedge_json::{JsonObject, JsonValue};

/// Reads a citation of a text.
pub(crate) fn read_citation<'a>(format: Format, citation: &JsonObject<'_, 'a>) -> TextCitation<'a> {
    match format {
        Format::OpenaiChat | Format::OpenaiResponses => responses::read_citation(citation),
        Format::Anthropic | Format::Gemini | Format::Bedrock => anthropic::read_citation(citation),
    }
}

/// Reads the annotations of a block; `None` if there are certainly none.
pub(super) fn read_notes<'a>(block: &JsonObject<'_, 'a>, format: Format) -> Option<PartNotes<'a>> {
    if block.keys().all(|key| is_usual(key, format)) {
        return None;
    }
    let mut notes = PartNotes::default();
    match format {
        Format::Anthropic => {
            let cache = block.get("cache_control").filter(|cache| !cache.is_null());
            notes.cache_mark = cache.map(JsonValue::raw);
            let citations = block.list("citations").filter_map(JsonValue::object);
            notes.citations = citations.map(|citation| read_citation(format, &citation)).collect();
        }
        Format::OpenaiChat | Format::OpenaiResponses => {
            notes.refusal = block.get("refusal").is_some();
            let citations = block.list("annotations").filter_map(JsonValue::object);
            notes.citations = citations.map(|citation| read_citation(format, &citation)).collect();
        }
        Format::Bedrock => {
            if let Some(cited) = block.object("citationsContent") {
                let citations = cited.list("citations").filter_map(JsonValue::object);
                notes.citations =
                    citations.map(|citation| read_citation(format, &citation)).collect();
            }
        }
        Format::Gemini => {}
    }
    // Gemini also signs texts; the model only has signatures for reasoning and calls.
    if format == Format::Gemini && !block.is_true("thought") {
        let text = block.text("text").is_some_and(|text| !text.is_empty());
        let signed = block.get_any(&["thoughtSignature", "thought_signature"]);
        notes.has_signature = text && signed.is_some_and(|signature| !signature.is_null());
    }
    notes.detail = match format {
        Format::OpenaiChat => {
            block.object("image_url").and_then(|image| read_text(image.get("detail")))
        }
        Format::OpenaiResponses => read_text(block.get("detail")),
        Format::Anthropic | Format::Gemini | Format::Bedrock => None,
    };
    // The default of every provider.
    notes.detail = notes.detail.filter(|detail| *detail != "auto");
    notes.unknown_fields = unknown_fields(block, known_fields(format)).unknown_fields;
    for (key, inside) in known_inner_fields(format) {
        if let Some(object) = block.object(key) {
            notes.unknown_fields.extend(unknown_fields(&object, inside).unknown_fields);
        }
    }
    let citations_enabled =
        block.object("citations").is_some_and(|setting| setting.is_true("enabled"));
    if format == Format::Anthropic && citations_enabled {
        notes.unknown_fields.push("citations".into());
    }
    Some(notes)
}

/// Whether a field is one of the common fields of a block that need no note.
fn is_usual(key: &[u8], format: Format) -> bool {
    match format {
        Format::Anthropic => matches!(
            key,
            b"type" | b"text" | b"id" | b"name" | b"input" | b"tool_use_id" | b"content"
        ),
        Format::OpenaiChat => matches!(key, b"type" | b"text" | b"id" | b"function"),
        Format::OpenaiResponses => matches!(key, b"type" | b"text"),
        Format::Gemini | Format::Bedrock => false,
    }
}

/// The known fields of objects inside blocks.
fn known_inner_fields(format: Format) -> &'static [(&'static str, &'static [&'static str])] {
    match format {
        Format::OpenaiChat => &[("image_url", &["url", "detail"])],
        Format::Gemini => &[
            ("functionResponse", &["id", "name", "response", "parts"]),
            ("functionCall", &["id", "name", "args"]),
        ],
        Format::Bedrock => &[
            ("toolUse", &["toolUseId", "name", "input", "type"]),
            ("toolResult", &["toolUseId", "content", "status", "type"]),
            ("document", &["name", "format", "source"]),
            ("image", &["format", "source"]),
        ],
        Format::Anthropic | Format::OpenaiResponses => &[],
    }
}

/// Notes the non-empty fields that are not known.
pub(super) fn unknown_fields<'a>(object: &JsonObject<'_, 'a>, known: &[&str]) -> PartNotes<'a> {
    let unknown = object.fields().filter(|(key, value)| {
        !known.contains(&key.as_ref()) && !matches!(value.raw(), "null" | "[]" | "{}" | "\"\"")
    });
    PartNotes { unknown_fields: unknown.map(|(key, _)| key).collect(), ..PartNotes::default() }
}

/// The fields of blocks that are known, or that mean nothing in other formats.
fn known_fields(format: Format) -> &'static [&'static str] {
    match format {
        Format::OpenaiChat => &[
            "type",
            "text",
            "thinking",
            "closed",
            "id",
            "function",
            "custom",
            "refusal",
            "image_url",
            "video_url",
            "input_audio",
            "file",
            "annotations",
            "index",
        ],
        Format::OpenaiResponses => &[
            "type",
            "text",
            "refusal",
            "annotations",
            "image_url",
            "file_id",
            "file_url",
            "file_data",
            "filename",
            "input_audio",
            "logprobs",
            "detail",
        ],
        Format::Anthropic => &[
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
        Format::Gemini => &[
            "text",
            "thought",
            "thoughtSignature",
            "thought_signature",
            "functionCall",
            "function_call",
            "functionResponse",
            "function_response",
            "inlineData",
            "inline_data",
            "fileData",
            "file_data",
        ],
        Format::Bedrock => &[
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
    }
}
