//! Decodes Gemini contents. Keys may be in camel case or snake case.

use foxwedge_core::CallFamily;

use super::WIRE;
use crate::conversation::{
    ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelMessage, ModelPart, ModelRole,
    PartNotes, ReasoningSignature, ToolCallPart, ToolResultPart,
    decode::{
        BlockDecodeFormat, read_arguments, read_content, read_object, read_role, read_text,
        reasoning_part,
    },
};
use foxwedge_json::{JsonObject, JsonValue};

pub(crate) const DECODE_FORMAT: BlockDecodeFormat = BlockDecodeFormat {
    wire: WIRE,
    block: read_part,
    is_usual: |_| false,
    notes: read_notes,
    known_fields: &[
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
    known_inner_fields: &[
        ("functionResponse", &["id", "name", "response", "parts"]),
        ("functionCall", &["id", "name", "args"]),
    ],
    cache_block: None,
};

pub(crate) fn read_message<'a>(content: &JsonObject<'_, 'a>) -> Option<ModelMessage<'a>> {
    // The role may be omitted; it is then the user. So are the roles of tool results.
    let role = content.get("role").filter(|role| !role.is_null());
    let is_user = role
        .is_none_or(|role| role.text().is_some_and(|role| matches!(&*role, "function" | "tool")));
    let role = if is_user { ModelRole::User } else { read_role(content, "parts")? };
    let parts = content.get("parts");
    // Other formats allow a string here.
    if let Some(text) = parts.filter(|parts| parts.text().is_some()) {
        text.mark_odd();
    }
    let parts = read_parts(parts);
    Some(ModelMessage::read(role, parts, WIRE, content.others(&["role", "parts"])))
}

/// Reads a list of parts, or the single part that Google accepts in its place.
pub(crate) fn read_parts<'a>(parts: Option<JsonValue<'_, 'a>>) -> Vec<ModelPart<'a>> {
    match parts.and_then(JsonValue::object) {
        Some(part) => vec![read_object(&part, &DECODE_FORMAT)],
        None => read_content(parts, &DECODE_FORMAT),
    }
}

pub(crate) fn read_part<'a>(part: &JsonObject<'_, 'a>) -> Option<ContentPart<'a>> {
    if let Some(call) = part.get_any(&["functionCall", "function_call"]) {
        let call = call.object()?;
        return Some(ContentPart::ToolCall(ToolCallPart {
            id: call.non_empty_text("id"),
            name: call.text("name").unwrap_or_default(),
            family: CallFamily::Function,
            arguments: read_arguments(call.get("args")),
            signature: read_signature(part),
        }));
    }
    if let Some(result) = part.get_any(&["functionResponse", "function_response"]) {
        return self::read_tool_result(&result.object()?).map(ContentPart::ToolResult);
    }
    if let Some(media) = read_media(part) {
        return Some(ContentPart::Media(media));
    }
    let text = read_text(part.get("text"))?;
    let signature = read_signature(part);
    // An empty text may only carry a signature.
    let is_reasoning = part.is_true("thought") || signature.is_some() && text.is_empty();
    Some(match is_reasoning {
        true => reasoning_part(
            text,
            signature.map_or(ReasoningSignature::Unsigned, ReasoningSignature::Signed),
        ),
        false => ContentPart::Text(text),
    })
}

fn read_signature<'a>(part: &JsonObject<'_, 'a>) -> Option<JsonText<'a>> {
    let signature = read_text(part.get_any(&["thoughtSignature", "thought_signature"]));
    signature.filter(|signature| !signature.is_empty())
}

fn read_media<'a>(part: &JsonObject<'_, 'a>) -> Option<MediaPart<'a>> {
    let data = part.get_any(&["inlineData", "inline_data"]);
    let file = part.get_any(&["fileData", "file_data"]);
    let object = data.or(file)?.object()?;
    let text = |keys| object.get_any(keys).and_then(JsonValue::text);
    let source = match (data, text(&["fileUri", "file_uri"])) {
        (Some(_), _) => MediaSource::Data(object.text("data")?),
        (None, Some(uri)) if is_provider_file(&uri) => MediaSource::Stored { id: uri, wire: WIRE },
        (None, Some(uri)) => MediaSource::Url(uri),
        (None, None) => return None,
    };
    let media_type = text(&["mimeType", "mime_type"]);
    let name = text(&["displayName", "display_name"]);
    Some(MediaPart { kind: MediaKind::from_type(media_type.as_deref()), media_type, source, name })
}

/// Whether only this provider can open the URI.
pub(crate) fn is_provider_file(uri: &str) -> bool {
    uri.starts_with("gs://") || uri.starts_with("https://generativelanguage.googleapis.com/")
}

fn read_tool_result<'a>(result: &JsonObject<'_, 'a>) -> Option<ToolResultPart<'a>> {
    let mut parts: Vec<ModelPart<'a>> = Vec::new();
    let mut error = false;
    if let Some(response) = result.get("response").filter(|response| !response.is_null()) {
        let (text, failed) = read_response_text(response);
        parts.push(ContentPart::Text(text).into());
        error = failed;
    }
    // Newer tool results carry images and files in separate parts.
    parts.extend(read_parts(result.get("parts")));
    let (id, name) = (result.non_empty_text("id"), result.non_empty_text("name"));
    Some(ToolResultPart { id, name, family: CallFamily::Function, parts, error })
}

/// The text of a function response, and whether it is an error.
fn read_response_text<'a>(response: JsonValue<'_, 'a>) -> (JsonText<'a>, bool) {
    let single_text = || {
        let object = response.object()?;
        let key = object.tag();
        if !object.others(&[&key]).is_empty() {
            return None;
        }
        let known = matches!(&*key, "output" | "result" | "content" | "error");
        let text = read_text(object.get(&key)).filter(|_| known)?;
        Some((text, key == "error"))
    };
    single_text().unwrap_or_else(|| {
        let text = read_text(Some(response)).unwrap_or_else(|| response.raw().into());
        let failed = response.object().is_some_and(|object| {
            object.get("error").is_some_and(|error| !error.is_null())
                && object.get("output").is_none()
        });
        (text, failed)
    })
}

/// Reads the annotations of a part. Gemini also signs texts and media; the model only has signatures
/// for reasoning and calls.
fn read_notes<'a>(part: &JsonObject<'_, 'a>) -> PartNotes<'a> {
    let text = part.text("text").is_some_and(|text| !text.is_empty());
    let signed = part.get_any(&["thoughtSignature", "thought_signature"]);
    let signed = signed.is_some_and(|signature| !signature.is_null());
    let media = ["inlineData", "inline_data", "fileData", "file_data"];
    let has_signature =
        !part.is_true("thought") && signed && (text || part.get_any(&media).is_some());
    PartNotes { has_signature, ..PartNotes::default() }
}
