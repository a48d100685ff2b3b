//! What stands in a block beside what it says: marks, sources, fields that nobody knows.

use foxwedge_core::Wire;

use super::{anthropic, responses, words};
use crate::{
    canon::{Citation, Notes},
    json::{Object, Value},
};

/// Reads where a text comes from.
pub(crate) fn citation<'a>(wire: Wire, citation: &Object<'_, 'a>) -> Citation<'a> {
    match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => responses::citation(citation),
        Wire::Anthropic | Wire::Gemini | Wire::Bedrock => anthropic::citation(citation),
    }
}

/// What stands in a block beside what it says; `None` if it is surely nothing.
pub(super) fn notes<'a>(block: &Object<'_, 'a>, wire: Wire) -> Option<Notes<'a>> {
    if block.keys().all(|key| is_usual(key, wire)) {
        return None;
    }
    let mut notes = Notes::default();
    match wire {
        Wire::Anthropic => {
            let cache = block.get("cache_control").filter(|cache| !cache.is_null());
            notes.cache = cache.map(Value::raw);
            let citations = block.list("citations").filter_map(Value::object);
            notes.citations = citations.map(|one| citation(wire, &one)).collect();
        }
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            notes.refusal = block.get("refusal").is_some();
            let citations = block.list("annotations").filter_map(Value::object);
            notes.citations = citations.map(|one| citation(wire, &one)).collect();
        }
        Wire::Bedrock => {
            if let Some(cited) = block.object("citationsContent") {
                let citations = cited.list("citations").filter_map(Value::object);
                notes.citations = citations.map(|one| citation(wire, &one)).collect();
            }
        }
        Wire::Gemini => {}
    }
    // Gemini signs texts, too; only reasoning and calls have a place for it.
    if wire == Wire::Gemini && !block.is_true("thought") {
        let text = block.text("text").is_some_and(|text| !text.is_empty());
        let signed = block.any(&["thoughtSignature", "thought_signature"]);
        notes.signed = text && signed.is_some_and(|signature| !signature.is_null());
    }
    notes.detail = match wire {
        Wire::OpenaiChat => block.object("image_url").and_then(|image| words(image.get("detail"))),
        Wire::OpenaiResponses => words(block.get("detail")),
        Wire::Anthropic | Wire::Gemini | Wire::Bedrock => None,
    };
    // What a provider does anyway.
    notes.detail = notes.detail.filter(|detail| *detail != "auto");
    notes.others = strangers(block, known(wire)).others;
    for (key, inside) in inner(wire) {
        if let Some(object) = block.object(key) {
            notes.others.extend(strangers(&object, inside).others);
        }
    }
    let documented = block.object("citations").is_some_and(|asked| asked.is_true("enabled"));
    if wire == Wire::Anthropic && documented {
        notes.others.push("citations".into());
    }
    Some(notes)
}

/// Whether a field of a block is one of those that most have, and about which there is nothing to
/// note.
fn is_usual(key: &[u8], wire: Wire) -> bool {
    match wire {
        Wire::Anthropic => matches!(
            key,
            b"type" | b"text" | b"id" | b"name" | b"input" | b"tool_use_id" | b"content"
        ),
        Wire::OpenaiChat => matches!(key, b"type" | b"text" | b"id" | b"function"),
        Wire::OpenaiResponses => matches!(key, b"type" | b"text"),
        Wire::Gemini | Wire::Bedrock => false,
    }
}

/// The fields of objects inside blocks whose meaning we know.
fn inner(wire: Wire) -> &'static [(&'static str, &'static [&'static str])] {
    match wire {
        Wire::OpenaiChat => &[("image_url", &["url", "detail"])],
        Wire::Gemini => &[
            ("functionResponse", &["id", "name", "response", "parts"]),
            ("functionCall", &["id", "name", "args"]),
        ],
        Wire::Bedrock => &[
            ("toolUse", &["toolUseId", "name", "input", "type"]),
            ("toolResult", &["toolUseId", "content", "status", "type"]),
            ("document", &["name", "format", "source"]),
            ("image", &["format", "source"]),
        ],
        Wire::Anthropic | Wire::OpenaiResponses => &[],
    }
}

/// Notes the fields that say something and are none of these.
pub(super) fn strangers<'a>(object: &Object<'_, 'a>, known: &[&str]) -> Notes<'a> {
    let unknown = object.fields().filter(|(key, value)| {
        !known.contains(&key.as_ref()) && !matches!(value.raw(), "null" | "[]" | "{}" | "\"\"")
    });
    Notes { others: unknown.map(|(key, _)| key).collect(), ..Notes::default() }
}

/// The fields of blocks whose meaning we know, or that have none elsewhere.
fn known(wire: Wire) -> &'static [&'static str] {
    match wire {
        Wire::OpenaiChat => &[
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
        Wire::OpenaiResponses => &[
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
        Wire::Anthropic => &[
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
        Wire::Gemini => &[
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
        Wire::Bedrock => &[
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
