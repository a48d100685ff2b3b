//! Decodes Interactions steps.

use std::borrow::Cow;

use foxwedge_core::CallFamily;

use super::{StepKind, WIRE};
use crate::{
    conversation::{
        ContentPart, MediaKind, MediaPart, MediaSource, ModelMessage, ModelPart, ModelRole,
        PartNotes, PartPlacement, ReasoningSignature, TextCitation, ToolCallPart, ToolResultPart,
        decode::{
            BlockDecodeFormat, join_texts, read_arguments, read_content, read_object, read_text,
            reasoning_part, unknown_fields, unknown_part,
        },
    },
    gemini::decode::is_provider_file,
};
use foxwedge_json::{JsonObject, JsonValue};

pub(crate) const DECODE_FORMAT: BlockDecodeFormat = BlockDecodeFormat {
    wire: WIRE,
    block: read_block,
    is_usual: |key| matches!(key, b"type" | b"text"),
    notes: read_notes,
    known_fields: &["type", "text", "data", "uri", "mime_type", "annotations"],
    known_inner_fields: &[],
    cache_block: None,
};

/// The fields of steps that are known, or that mean nothing in other formats.
pub(super) const KNOWN: [&str; 9] =
    ["type", "id", "call_id", "name", "arguments", "result", "is_error", "signature", "summary"];

pub(crate) fn read_step<'a>(step: &JsonObject<'_, 'a>) -> Option<ModelMessage<'a>> {
    let name = step.text("type")?;
    let kind = StepKind::of(&name);
    let role = match kind {
        StepKind::UserInput | StepKind::FunctionResult | StepKind::Text | StepKind::Media => {
            ModelRole::User
        }
        StepKind::ModelOutput
        | StepKind::Thought
        | StepKind::FunctionCall
        | StepKind::ServerCall
        | StepKind::ServerResult
        | StepKind::Unknown => ModelRole::Assistant,
    };
    let content = match kind {
        StepKind::UserInput | StepKind::ModelOutput => {
            let parts = read_content(step.get("content"), &DECODE_FORMAT);
            return Some(ModelMessage::read(role, parts, WIRE, step.others(&["type", "content"])));
        }
        StepKind::Text | StepKind::Media => {
            let part = read_object(step, &DECODE_FORMAT);
            return Some(ModelMessage::read(role, vec![part], WIRE, Vec::new()));
        }
        StepKind::Thought => Some(read_thought(step)),
        StepKind::FunctionCall => Some(ContentPart::ToolCall(ToolCallPart {
            id: step.non_empty_text("id"),
            name: step.text("name").unwrap_or_default(),
            family: CallFamily::Function,
            arguments: read_arguments(step.get("arguments")),
            signature: None,
        })),
        StepKind::FunctionResult => Some(ContentPart::ToolResult(ToolResultPart {
            id: step.non_empty_text("call_id"),
            name: step.non_empty_text("name"),
            family: CallFamily::Function,
            parts: read_result(step.get("result")),
            error: step.is_true("is_error"),
        })),
        StepKind::ServerCall | StepKind::ServerResult | StepKind::Unknown => None,
    };
    let part = match content {
        Some(content) => ModelPart::read(content, WIRE, PartPlacement::Message, step.raw())
            .with_notes(unknown_fields(step, &KNOWN)),
        None => unknown_part(name, WIRE, PartPlacement::Message, step.raw()),
    };
    Some(ModelMessage::read(role, vec![part], WIRE, Vec::new()))
}

fn read_thought<'a>(step: &JsonObject<'_, 'a>) -> ContentPart<'a> {
    let texts = step.list("summary").filter_map(|content| content.object()?.text("text"));
    let signature = read_text(step.get("signature")).filter(|signature| !signature.is_empty());
    let signature = signature.map_or(ReasoningSignature::Unsigned, ReasoningSignature::Signed);
    reasoning_part(join_texts(texts).into(), signature)
}

/// Reads the content of a result: a text, a list of content, or any object.
fn read_result<'a>(result: Option<JsonValue<'_, 'a>>) -> Vec<ModelPart<'a>> {
    match result {
        Some(object) if object.is_object() => {
            vec![ContentPart::Text(object.raw().into()).into()]
        }
        result => read_content(result, &DECODE_FORMAT),
    }
}

fn read_block<'a>(block: &JsonObject<'_, 'a>) -> Option<ContentPart<'a>> {
    let kind = match &*block.text("type")? {
        "text" => return read_text(block.get("text")).map(ContentPart::Text),
        "image" => MediaKind::Image,
        "audio" => MediaKind::Audio,
        "video" => MediaKind::Video,
        "document" => MediaKind::File,
        _ => return None,
    };
    let source = match (block.text("data"), block.non_empty_text("uri")) {
        (Some(data), _) => MediaSource::Data(data),
        (None, Some(id)) if is_provider_file(&id) => MediaSource::Stored { id, wire: WIRE },
        (None, Some(uri)) => MediaSource::Url(uri),
        (None, None) => return None,
    };
    let media_type = block.non_empty_text("mime_type");
    Some(ContentPart::Media(MediaPart { kind, media_type, source, name: None }))
}

fn read_notes<'a>(block: &JsonObject<'_, 'a>) -> PartNotes<'a> {
    let citations = block.list("annotations").filter_map(JsonValue::object);
    PartNotes {
        citations: citations.map(|citation| read_citation(&citation)).collect(),
        ..PartNotes::default()
    }
}

/// Reads a citation. Its range counts bytes, which no other format does, so it is not read.
pub(crate) fn read_citation<'a>(citation: &JsonObject<'_, 'a>) -> TextCitation<'a> {
    let title = citation.get_any(&["title", "name", "file_name"]);
    TextCitation {
        url: read_text(citation.get_any(&["url", "document_uri"])),
        title: read_text(title),
        quote: None,
        span: None,
    }
}

/// The note about the range of a citation.
pub(crate) fn range_note() -> Cow<'static, str> {
    Cow::Borrowed("the text range of a citation is left out")
}
