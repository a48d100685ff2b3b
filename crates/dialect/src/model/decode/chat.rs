//! What a chat message says.

use std::borrow::Cow;

use foxwedge_core::{CallFamily, Format};

use super::{
    inline_media, parse_role, read_arguments, read_content, read_free_text, read_text,
    reasoning_part, unknown_fields, url_media,
};
use crate::{
    json::{JsonObject, JsonValue},
    model::{
        ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelMessage, ModelPart,
        ModelRole, PartNotes, PartPlacement, ReasoningSignature, ToolCallPart, ToolResultPart,
        media::media_type_of,
    },
};

const WIRE: Format = Format::OpenaiChat;

pub(super) fn read_message<'a>(message: &JsonObject<'_, 'a>) -> Option<ModelMessage<'a>> {
    match &*message.text("role")? {
        "tool" => Some(read_tool_message(message, message.non_empty_text("tool_call_id"))),
        // The older form: an answer goes by its tool's name.
        "function" => Some(read_tool_message(message, None)),
        "assistant" => Some(read_assistant(message)),
        role => {
            let parts = read_content(message.get("content"), WIRE, read_block);
            Some(ModelMessage::read(
                parse_role(role)?,
                parts,
                WIRE,
                message.others(&["role", "content"]),
            ))
        }
    }
}

/// A message that is an answer as a whole.
fn read_tool_message<'a>(
    message: &JsonObject<'_, 'a>,
    id: Option<Cow<'a, str>>,
) -> ModelMessage<'a> {
    let parts = read_content(message.get("content"), WIRE, read_block);
    let answer = ToolResultPart {
        id,
        name: message.non_empty_text("name"),
        family: CallFamily::Function,
        parts,
        error: false,
    };
    let notes = unknown_fields(message, &["role", "content", "tool_call_id", "name"]);
    let part = ModelPart::read(
        ContentPart::ToolResult(answer),
        WIRE,
        PartPlacement::Message,
        message.raw(),
    )
    .with_notes(notes);
    ModelMessage::read(ModelRole::User, vec![part], WIRE, Vec::new())
}

pub(crate) fn read_assistant<'a>(message: &JsonObject<'_, 'a>) -> ModelMessage<'a> {
    let mut parts = Vec::new();
    // What was read from a field of its own is not told twice.
    let mut told = vec!["role", "content", "tool_calls"];
    let mut field = |parts: &mut Vec<ModelPart<'a>>,
                     key: &'static str,
                     bit: Option<ContentPart<'a>>| {
        if let (Some(bit), Some(json)) = (bit, message.member(key)) {
            let notes = PartNotes { refusal: key == "refusal", ..PartNotes::default() };
            parts.push(ModelPart::read(bit, WIRE, PartPlacement::Field, json).with_notes(notes));
            told.push(key);
        }
    };
    for key in ["reasoning_content", "reasoning"] {
        let bit = read_text(message.get(key))
            .map(|text| reasoning_part(text, ReasoningSignature::Unsigned));
        field(&mut parts, key, bit);
    }
    parts.extend(read_content(message.get("content"), WIRE, read_block));
    field(
        &mut parts,
        "refusal",
        read_text(message.get("refusal")).filter(|text| !text.is_empty()).map(ContentPart::Text),
    );
    for value in message.get("tool_calls").into_iter().flat_map(JsonValue::list) {
        if let Some(object) = value.object() {
            parts.push(ModelPart::read(
                ContentPart::ToolCall(read_call(&object)),
                WIRE,
                PartPlacement::Block,
                value.raw(),
            ));
        }
    }
    // The older form of a call has no id.
    let older = message.object("function_call");
    let older = older.map(|function| {
        ContentPart::ToolCall(read_named_call(None, Some(function), CallFamily::Function, None))
    });
    field(&mut parts, "function_call", older);
    ModelMessage::read(ModelRole::Assistant, parts, WIRE, message.others(&told))
}

fn read_call<'a>(call: &JsonObject<'_, 'a>) -> ToolCallPart<'a> {
    let id = call.non_empty_text("id");
    // Google's own spelling of its signatures in this format.
    let google = call.object("extra_content").and_then(|extra| extra.object("google"));
    let signature = read_text(google.and_then(|google| google.get("thought_signature")));
    match call.text("type").as_deref() {
        Some("custom") => read_named_call(id, call.object("custom"), CallFamily::Custom, signature),
        _ => read_named_call(id, call.object("function"), CallFamily::Function, signature),
    }
}

fn read_named_call<'a>(
    id: Option<Cow<'a, str>>,
    tool: Option<JsonObject<'_, 'a>>,
    family: CallFamily,
    signature: Option<JsonText<'a>>,
) -> ToolCallPart<'a> {
    let get = |key| tool.as_ref().and_then(|tool| tool.get(key));
    let name = get("name").and_then(JsonValue::text).unwrap_or_default();
    let arguments = match family {
        CallFamily::Custom => read_free_text(get("input")),
        _ => read_arguments(get("arguments")),
    };
    ToolCallPart { id, name, family, arguments, signature }
}

pub(super) fn read_block<'a>(block: &JsonObject<'_, 'a>) -> Option<ContentPart<'a>> {
    Some(match &*block.text("type")? {
        "text" => ContentPart::Text(read_text(block.get("text"))?),
        // Mistral's reasoning stands among the texts.
        "thinking" => {
            let thought = block.get("thinking")?;
            let texts = || thought.list().filter_map(|part| part.object()?.text("text"));
            let text =
                read_text(Some(thought)).unwrap_or_else(|| texts().collect::<String>().into());
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

/// An address, as a string or in an object.
fn read_address<'a>(block: &JsonObject<'_, 'a>, key: &str) -> Option<Cow<'a, str>> {
    let value = block.get(key)?;
    value.text().or_else(|| value.object()?.text("url"))
}
