//! Decodes Responses items.

use std::borrow::Cow;

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::{
    conversation::{
        ContentPart, MediaKind, MediaPart, MediaSource, ModelMessage, ModelPart, ModelRole,
        PartNotes, PartPlacement, ReasoningSignature, ToolCallPart, ToolResultPart,
        decode::{
            BlockDecodeFormat, inline_media, join_texts, read_arguments, read_content,
            read_free_text, read_role, read_text, reasoning_part, unknown_fields, unknown_part,
            url_media,
        },
        media::media_type_of,
    },
    openai_chat::decode::read_citation,
};
use foxwedge_json::{JsonObject, JsonValue};

pub(crate) const DECODE_FORMAT: BlockDecodeFormat = BlockDecodeFormat {
    wire: WIRE,
    block: read_block,
    is_usual: |key| matches!(key, b"type" | b"text"),
    notes: read_notes,
    known_fields: &[
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
    known_inner_fields: &[],
    cache_block: None,
};

pub(crate) fn read_item<'a>(item: &JsonObject<'_, 'a>) -> Option<ModelMessage<'a>> {
    // The type of a reference is optional.
    let is_reference =
        item.non_empty_text("id").is_some() && item.others(&["id", "type"]).is_empty();
    let untyped = if is_reference { "item_reference" } else { "message" };
    let kind = item.text("type").unwrap_or(Cow::Borrowed(untyped));
    if kind == "message" {
        let role = read_role(item, "content")?;
        let parts = read_content(item.get("content"), &DECODE_FORMAT);
        let others = item.others(&["type", "role", "content"]);
        return Some(ModelMessage::read(role, parts, WIRE, others));
    }
    let (role, content) = match &*kind {
        "reasoning" => (ModelRole::Assistant, Some(read_reasoning(item))),
        "item_reference" | "mcp_approval_response" => (ModelRole::User, None),
        kind => match item_family(kind) {
            Some((family, CallSide::ToolCall)) => (ModelRole::Assistant, read_call(item, family)),
            // The output of a search that the server ran has no call of the client.
            Some((CallFamily::ToolSearch, CallSide::ToolResult))
                if item.text("call_id").is_none() =>
            {
                (ModelRole::Assistant, None)
            }
            Some((family, CallSide::ToolResult)) => {
                (ModelRole::User, Some(read_tool_result(item, family)))
            }
            None => (ModelRole::Assistant, None),
        },
    };
    let part = match content {
        Some(content) => {
            let notes = unknown_fields(item, &KNOWN);
            ModelPart::read(content, WIRE, PartPlacement::Message, item.raw()).with_notes(notes)
        }
        None => unknown_part(kind, WIRE, PartPlacement::Message, item.raw()),
    };
    Some(ModelMessage::read(role, vec![part], WIRE, Vec::new()))
}

/// The fields of items that are known, or that mean nothing in other formats.
const KNOWN: [&str; 16] = [
    "type",
    "id",
    "call_id",
    "name",
    "arguments",
    "input",
    "output",
    "status",
    "action",
    "operation",
    "summary",
    "content",
    "encrypted_content",
    "tools",
    "created_by",
    "execution",
];

enum CallSide {
    ToolCall,
    ToolResult,
}

fn item_family(kind: &str) -> Option<(CallFamily, CallSide)> {
    let (name, side) = match kind {
        "tool_search_output" => ("tool_search", CallSide::ToolResult),
        kind => match kind.strip_suffix("_call_output") {
            Some(name) => (name, CallSide::ToolResult),
            None => (kind.strip_suffix("_call")?, CallSide::ToolCall),
        },
    };
    let family = match name {
        "function" => CallFamily::Function,
        "custom_tool" => CallFamily::Custom,
        "local_shell" => CallFamily::LocalShell,
        "shell" => CallFamily::Shell,
        "apply_patch" => CallFamily::ApplyPatch,
        "computer" => CallFamily::Computer,
        "tool_search" => CallFamily::ToolSearch,
        _ => return None,
    };
    Some((family, side))
}

/// The id that pairs call and result. The local shell may use the id of its item.
fn read_call_id<'a>(item: &JsonObject<'_, 'a>, family: CallFamily) -> Option<Cow<'a, str>> {
    let own = || (family == CallFamily::LocalShell).then(|| item.non_empty_text("id")).flatten();
    item.non_empty_text("call_id").or_else(own)
}

fn read_call<'a>(item: &JsonObject<'_, 'a>, family: CallFamily) -> Option<ContentPart<'a>> {
    // Name and input field of each built-in tool.
    let (name, input) = match family {
        CallFamily::Function => (None, "arguments"),
        CallFamily::Custom => (None, "input"),
        CallFamily::LocalShell => (Some("local_shell"), "action"),
        CallFamily::Shell => (Some("shell"), "action"),
        CallFamily::ApplyPatch => (Some("apply_patch"), "operation"),
        CallFamily::Computer => (Some("computer"), "action"),
        CallFamily::ToolSearch => (Some("tool_search"), "arguments"),
    };
    // A search that the server runs itself has no call id.
    if family == CallFamily::ToolSearch && item.text("call_id").is_none() {
        return None;
    }
    let name = name.map(Cow::Borrowed).or_else(|| item.text("name")).unwrap_or_default();
    let arguments = match family {
        CallFamily::Custom => read_free_text(item.get(input)),
        _ => read_arguments(item.get(input)),
    };
    Some(ContentPart::ToolCall(ToolCallPart {
        id: read_call_id(item, family),
        name,
        family,
        arguments,
        signature: None,
    }))
}

fn read_tool_result<'a>(item: &JsonObject<'_, 'a>, family: CallFamily) -> ContentPart<'a> {
    let parts = match family {
        CallFamily::Computer => {
            item.object("output").and_then(|output| read_block(&output)).map(ModelPart::new)
        }
        CallFamily::ToolSearch => item.get("tools").map(raw_json_part),
        _ => None,
    };
    let parts = match (parts, item.get("output")) {
        (Some(part), _) => vec![part],
        (None, Some(output)) if output.is_object() || is_command_output(output) => {
            vec![raw_json_part(output)]
        }
        (None, output) => read_content(output, &DECODE_FORMAT),
    };
    let error = matches!(item.text("status").as_deref(), Some("failed"));
    let id = read_call_id(item, family);
    // A result without an id names its tool, and belongs to no call.
    let name = if id.is_none() { item.non_empty_text("name") } else { None };
    ContentPart::ToolResult(ToolResultPart { id, name, family, parts, error })
}

/// Whether an output is a list of command outputs.
fn is_command_output(output: JsonValue<'_, '_>) -> bool {
    let first = output.is_list().then(|| output.list().next()?.object()).flatten();
    first.is_some_and(|first| first.get("stdout").is_some() || first.get("stderr").is_some())
}

/// A part with the JSON of a value as its text.
fn raw_json_part<'a>(value: JsonValue<'_, 'a>) -> ModelPart<'a> {
    ContentPart::Text(value.raw().into()).into()
}

fn read_reasoning<'a>(item: &JsonObject<'_, 'a>) -> ContentPart<'a> {
    let texts = ["summary", "content"].into_iter().filter_map(|key| item.get(key));
    let texts = texts.flat_map(JsonValue::list).filter_map(|part| part.object()?.text("text"));
    let signature =
        match read_text(item.get("encrypted_content")).filter(|content| !content.is_empty()) {
            Some(content) => ReasoningSignature::Encrypted(content),
            None => ReasoningSignature::Unsigned,
        };
    reasoning_part(join_texts(texts).into(), signature)
}

pub(crate) fn read_block<'a>(block: &JsonObject<'_, 'a>) -> Option<ContentPart<'a>> {
    let name = block.non_empty_text("filename");
    Some(match &*block.text("type")? {
        "input_text" | "output_text" | "text" => ContentPart::Text(read_text(block.get("text"))?),
        "refusal" => ContentPart::Text(read_text(block.get("refusal"))?),
        "input_image" | "computer_screenshot" => {
            read_located_media(MediaKind::Image, block, "image_url", name)?
        }
        "input_file" => match block.text("file_data") {
            Some(data) => inline_media(MediaKind::File, data, name),
            None => read_located_media(MediaKind::File, block, "file_url", name)?,
        },
        "input_audio" => {
            let audio = block.object("input_audio")?;
            let format = audio.text("format").unwrap_or_default();
            let media_type = media_type_of(MediaKind::Audio, &format).map(Into::into);
            let source = MediaSource::Data(audio.text("data")?);
            ContentPart::Media(MediaPart { kind: MediaKind::Audio, media_type, source, name })
        }
        _ => return None,
    })
}

/// Media at a URL or under a file id.
fn read_located_media<'a>(
    kind: MediaKind,
    block: &JsonObject<'_, 'a>,
    key: &str,
    name: Option<Cow<'a, str>>,
) -> Option<ContentPart<'a>> {
    if let Some(url) = block.non_empty_text(key) {
        return Some(url_media(kind, url, name));
    }
    let source = MediaSource::Stored { id: block.non_empty_text("file_id")?, wire: WIRE };
    Some(ContentPart::Media(MediaPart { kind, media_type: None, source, name }))
}

/// Reads the annotations of a block.
fn read_notes<'a>(block: &JsonObject<'_, 'a>) -> PartNotes<'a> {
    let citations = block.list("annotations").filter_map(JsonValue::object);
    PartNotes {
        refusal: block.get("refusal").is_some(),
        citations: citations.map(|citation| read_citation(&citation)).collect(),
        detail: read_text(block.get("detail")),
        ..PartNotes::default()
    }
}
