//! What stands in a block beside what it says: marks, sources, fields that nobody knows.

use foxwedge_core::Format;

use super::{anthropic, read_text, responses};
use crate::{
    json::{JsonObject, JsonValue},
    model::{PartNotes, TextCitation},
};

/// Reads where a text comes from.
pub(crate) fn read_citation<'a>(wire: Format, citation: &JsonObject<'_, 'a>) -> TextCitation<'a> {
    match wire {
        Format::OpenaiChat | Format::OpenaiResponses => responses::read_citation(citation),
        Format::Anthropic | Format::Gemini | Format::Bedrock => anthropic::read_citation(citation),
    }
}

/// What stands in a block beside what it says; `None` if it is surely nothing.
pub(super) fn read_notes<'a>(block: &JsonObject<'_, 'a>, wire: Format) -> Option<PartNotes<'a>> {
    if block.keys().all(|key| is_usual(key, wire)) {
        return None;
    }
    let mut notes = PartNotes::default();
    match wire {
        Format::Anthropic => {
            let cache = block.get("cache_control").filter(|cache| !cache.is_null());
            notes.cache_mark = cache.map(JsonValue::raw);
            let citations = block.list("citations").filter_map(JsonValue::object);
            notes.citations = citations.map(|one| read_citation(wire, &one)).collect();
        }
        Format::OpenaiChat | Format::OpenaiResponses => {
            notes.refusal = block.get("refusal").is_some();
            let citations = block.list("annotations").filter_map(JsonValue::object);
            notes.citations = citations.map(|one| read_citation(wire, &one)).collect();
        }
        Format::Bedrock => {
            if let Some(cited) = block.object("citationsContent") {
                let citations = cited.list("citations").filter_map(JsonValue::object);
                notes.citations = citations.map(|one| read_citation(wire, &one)).collect();
            }
        }
        Format::Gemini => {}
    }
    // Gemini signs texts, too; only reasoning and calls have a place for it.
    if wire == Format::Gemini && !block.is_true("thought") {
        let text = block.text("text").is_some_and(|text| !text.is_empty());
        let signed = block.get_any(&["thoughtSignature", "thought_signature"]);
        notes.has_signature = text && signed.is_some_and(|signature| !signature.is_null());
    }
    notes.detail = match wire {
        Format::OpenaiChat => {
            block.object("image_url").and_then(|image| read_text(image.get("detail")))
        }
        Format::OpenaiResponses => read_text(block.get("detail")),
        Format::Anthropic | Format::Gemini | Format::Bedrock => None,
    };
    // What a provider does anyway.
    notes.detail = notes.detail.filter(|detail| *detail != "auto");
    notes.unknown_fields = unknown_fields(block, known_fields(wire)).unknown_fields;
    for (key, inside) in known_inner_fields(wire) {
        if let Some(object) = block.object(key) {
            notes.unknown_fields.extend(unknown_fields(&object, inside).unknown_fields);
        }
    }
    let documented = block.object("citations").is_some_and(|asked| asked.is_true("enabled"));
    if wire == Format::Anthropic && documented {
        notes.unknown_fields.push("citations".into());
    }
    Some(notes)
}

/// Whether a field of a block is one of those that most have, and about which there is nothing to
/// note.
fn is_usual(key: &[u8], wire: Format) -> bool {
    match wire {
        Format::Anthropic => matches!(
            key,
            b"type" | b"text" | b"id" | b"name" | b"input" | b"tool_use_id" | b"content"
        ),
        Format::OpenaiChat => matches!(key, b"type" | b"text" | b"id" | b"function"),
        Format::OpenaiResponses => matches!(key, b"type" | b"text"),
        Format::Gemini | Format::Bedrock => false,
    }
}

/// The fields of objects inside blocks whose meaning we know.
fn known_inner_fields(wire: Format) -> &'static [(&'static str, &'static [&'static str])] {
    match wire {
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

/// Notes the fields that say something and are none of these.
pub(super) fn unknown_fields<'a>(object: &JsonObject<'_, 'a>, known: &[&str]) -> PartNotes<'a> {
    let unknown = object.fields().filter(|(key, value)| {
        !known.contains(&key.as_ref()) && !matches!(value.raw(), "null" | "[]" | "{}" | "\"\"")
    });
    PartNotes { unknown_fields: unknown.map(|(key, _)| key).collect(), ..PartNotes::default() }
}

/// The fields of blocks whose meaning we know, or that have none elsewhere.
fn known_fields(wire: Format) -> &'static [&'static str] {
    match wire {
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
