//! Decodes Chat messages.

use std::borrow::Cow;

use foxwedge_core::CallFamily;

use super::{FLAT_ARGUMENTS, WIRE};
use crate::conversation::{
    ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelMessage, ModelPart, ModelRole,
    PartNotes, PartPlacement, ReasoningSignature, TextCitation, ToolCallPart, ToolResultPart,
    decode::{
        BlockDecodeFormat, inline_media, parse_role, read_arguments, read_content, read_free_text,
        read_role, read_text, reasoning_part, unknown_fields, url_media,
    },
    media::media_type_of,
};
use foxwedge_json::{JsonObject, JsonValue};

pub(crate) const DECODE_FORMAT: BlockDecodeFormat = BlockDecodeFormat {
    wire: WIRE,
    block: read_block,
    is_usual: |key| matches!(key, b"type" | b"text" | b"id" | b"function"),
    notes: read_notes,
    known_fields: &[
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
    known_inner_fields: &[("image_url", &["url", "detail"])],
    cache_block: None,
};

pub(crate) fn read_message<'a>(message: &JsonObject<'_, 'a>) -> Option<ModelMessage<'a>> {
    match message.text("role").as_deref() {
        Some("tool") => Some(read_tool_message(message, message.non_empty_text("tool_call_id"))),
        // Legacy form: the result names its tool instead of a call id.
        Some("function") => Some(read_tool_message(message, None)),
        Some("assistant") => Some(read_assistant(message)),
        role => {
            // Calls of an unknown role stay with it: nothing else can hold them. A message without a
            // role that names its type or its call is one of another format.
            let has = |key| message.get(key).is_some_and(|value| !value.is_null());
            let is_foreign = !has("role") && (has("type") || has("tool_call_id"));
            let is_unknown = role.and_then(parse_role).is_none();
            if is_foreign || is_unknown && has("tool_calls") {
                return None;
            }
            let role = read_role(message, "content")?;
            let parts = read_content(message.get("content"), &DECODE_FORMAT);
            Some(ModelMessage::read(role, parts, WIRE, message.others(&["role", "content"])))
        }
    }
}

/// Reads a message that is a tool result as a whole.
fn read_tool_message<'a>(
    message: &JsonObject<'_, 'a>,
    id: Option<Cow<'a, str>>,
) -> ModelMessage<'a> {
    let parts = read_content(message.get("content"), &DECODE_FORMAT);
    let result = ToolResultPart {
        id,
        name: message.non_empty_text("name"),
        family: CallFamily::Function,
        parts,
        error: false,
    };
    let notes = unknown_fields(message, &["role", "content", "tool_call_id", "name"]);
    let part = ModelPart::read(
        ContentPart::ToolResult(result),
        WIRE,
        PartPlacement::Message,
        message.raw(),
    )
    .with_notes(notes);
    ModelMessage::read(ModelRole::User, vec![part], WIRE, Vec::new())
}

pub(crate) fn read_assistant<'a>(message: &JsonObject<'_, 'a>) -> ModelMessage<'a> {
    let mut parts = Vec::new();
    // Fields that were already read do not count as unknown.
    let mut read_fields = vec!["role", "content", "tool_calls"];
    let mut push_field = |parts: &mut Vec<ModelPart<'a>>,
                          key: &'static str,
                          content: Option<ContentPart<'a>>| {
        if let (Some(content), Some(json)) = (content, message.member(key)) {
            let notes = PartNotes { refusal: key == "refusal", ..PartNotes::default() };
            parts
                .push(ModelPart::read(content, WIRE, PartPlacement::Field, json).with_notes(notes));
            read_fields.push(key);
        }
    };
    for key in ["reasoning_content", "reasoning"] {
        let content = read_text(message.get(key))
            .map(|text| reasoning_part(text, ReasoningSignature::Unsigned));
        push_field(&mut parts, key, content);
    }
    parts.extend(read_content(message.get("content"), &DECODE_FORMAT));
    push_field(
        &mut parts,
        "refusal",
        read_text(message.get("refusal")).filter(|text| !text.is_empty()).map(ContentPart::Text),
    );
    for value in message.get("tool_calls").into_iter().flat_map(JsonValue::list) {
        if let Some(object) = value.object() {
            let (call, notes) = read_call(&object);
            let call = ContentPart::ToolCall(call);
            let part = ModelPart::read(call, WIRE, PartPlacement::Block, value.raw());
            parts.push(part.with_notes(notes));
        }
    }
    // The legacy form of a call has no id.
    let legacy_call = message.object("function_call");
    let legacy_call = legacy_call.map(|function| {
        let family = CallFamily::Function;
        ContentPart::ToolCall(read_named_call(None, &function, input_key(family), family, None))
    });
    push_field(&mut parts, "function_call", legacy_call);
    ModelMessage::read(ModelRole::Assistant, parts, WIRE, message.others(&read_fields))
}

/// Reads a call and notes its unknown fields. One without an object for its tool may have name and
/// arguments as fields.
fn read_call<'a>(call: &JsonObject<'_, 'a>) -> (ToolCallPart<'a>, PartNotes<'a>) {
    let id = call.non_empty_text("id");
    // Google's field for its signatures in this format.
    let google = call.object("extra_content").and_then(|extra| extra.object("google"));
    let signature = read_text(google.and_then(|google| google.get("thought_signature")));
    let (key, family) = match call.text("type").as_deref() {
        Some("custom") => ("custom", CallFamily::Custom),
        _ => ("function", CallFamily::Function),
    };
    let mut known = vec!["id", "type", "index", key];
    known.extend(signature.is_some().then_some("extra_content"));
    let mut unknown = Vec::new();
    let (tool, input) = match call.object(key) {
        Some(tool) => {
            let input = input_key(family);
            let known = ["name", "parsed_arguments", input];
            unknown.append(&mut unknown_fields(&tool, &known).unknown_fields);
            (tool, input)
        }
        None => {
            let input = FLAT_ARGUMENTS.into_iter().find(|key| call.get(key).is_some());
            let input = input.unwrap_or(input_key(family));
            known.extend(["name", input]);
            (*call, input)
        }
    };
    unknown.append(&mut unknown_fields(call, &known).unknown_fields);
    let notes = PartNotes { unknown_fields: unknown, ..PartNotes::default() };
    (read_named_call(id, &tool, input, family, signature), notes)
}

/// The field of a tool that holds what it gets.
fn input_key(family: CallFamily) -> &'static str {
    match family {
        CallFamily::Custom => "input",
        _ => "arguments",
    }
}

fn read_named_call<'a>(
    id: Option<Cow<'a, str>>,
    tool: &JsonObject<'_, 'a>,
    input: &str,
    family: CallFamily,
    signature: Option<JsonText<'a>>,
) -> ToolCallPart<'a> {
    let name = tool.text("name").unwrap_or_default();
    let arguments = match family {
        CallFamily::Custom => read_free_text(tool.get(input)),
        _ => read_arguments(tool.get(input)),
    };
    ToolCallPart { id, name, family, arguments, signature }
}

pub(crate) fn read_block<'a>(block: &JsonObject<'_, 'a>) -> Option<ContentPart<'a>> {
    Some(match &*block.text("type")? {
        "text" => ContentPart::Text(read_text(block.get("text"))?),
        // Mistral puts reasoning among the text blocks.
        "thinking" => {
            let reasoning = block.get("thinking")?;
            let texts = || reasoning.list().filter_map(|part| part.object()?.text("text"));
            let text =
                read_text(Some(reasoning)).unwrap_or_else(|| texts().collect::<String>().into());
            reasoning_part(text, ReasoningSignature::Unsigned)
        }
        "refusal" => ContentPart::Text(read_text(block.get("refusal"))?),
        "image_url" => url_media(MediaKind::Image, read_address(block, "image_url")?, None),
        "video_url" => url_media(MediaKind::Video, read_address(block, "video_url")?, None),
        "input_audio" => {
            let audio = block.object("input_audio")?;
            let format = audio.text("format").unwrap_or_default();
            let media_type = media_type_of(MediaKind::Audio, &format).map(Into::into);
            let source = MediaSource::Data(audio.text("data")?);
            ContentPart::Media(MediaPart { kind: MediaKind::Audio, media_type, source, name: None })
        }
        "file" => {
            let file = block.object("file")?;
            let name = file.non_empty_text("filename");
            match (file.text("file_data"), file.text("file_id")) {
                (Some(data), _) => inline_media(MediaKind::File, data, name),
                (None, Some(id)) => ContentPart::Media(MediaPart {
                    kind: MediaKind::File,
                    media_type: None,
                    source: MediaSource::Stored { id, wire: WIRE },
                    name,
                }),
                (None, None) => return None,
            }
        }
        _ => return None,
    })
}

/// A URL, as a string or in an object.
fn read_address<'a>(block: &JsonObject<'_, 'a>, key: &str) -> Option<Cow<'a, str>> {
    let value = block.get(key)?;
    value.text().or_else(|| value.object()?.text("url"))
}

/// Reads the annotations of a block.
fn read_notes<'a>(block: &JsonObject<'_, 'a>) -> PartNotes<'a> {
    let citations = block.list("annotations").filter_map(JsonValue::object);
    PartNotes {
        refusal: block.get("refusal").is_some(),
        citations: citations.map(|citation| read_citation(&citation)).collect(),
        detail: block.object("image_url").and_then(|image| read_text(image.get("detail"))),
        ..PartNotes::default()
    }
}

/// Reads a citation of a text, here or in Responses; Chat nests it one object deeper.
pub(crate) fn read_citation<'a>(citation: &JsonObject<'_, 'a>) -> TextCitation<'a> {
    let inner = citation.object("url_citation");
    let citation = inner.as_ref().unwrap_or(citation);
    TextCitation {
        url: read_text(citation.get("url")),
        title: read_text(citation.get_any(&["title", "filename"])),
        quote: None,
        span: citation.count("start_index").zip(citation.count("end_index")),
    }
}
