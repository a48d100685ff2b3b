//! Writes messages in the schema of traces.
//!
//! The data of images and files is left out: a trace says what was sent, and is no archive. Content
//! of an unknown type is written as its type alone.

use foxwedge_json::{JsonScanner, JsonShape, quote};

use crate::conversation::{
    ContentPart, MediaKind, MediaPart, MediaSource, ModelHistory, ModelMessage, ModelPart,
    ModelReply, ModelRole, ToolCallPart, ToolResultPart,
};

/// The messages of a request, for `gen_ai.input.messages`.
pub fn write_input_messages(history: &ModelHistory<'_>) -> String {
    let mut out = String::from("[");
    for (index, message) in history.messages.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_message(&mut out, role_name(message), &message.parts);
        out.push('}');
    }
    out.push(']');
    out
}

/// The message of a reply, for `gen_ai.output.messages`.
pub fn write_output_messages(reply: &ModelReply<'_>, finish_reason: Option<&str>) -> String {
    let mut out = String::from("[");
    write_message(&mut out, "assistant", &reply.parts);
    if let Some(reason) = finish_reason {
        write_field(&mut out, "finish_reason", &quote(reason));
    }
    out.push_str("}]");
    out
}

fn role_name(message: &ModelMessage<'_>) -> &'static str {
    let is_result = |part: &ModelPart<'_>| matches!(part.content(), ContentPart::ToolResult(_));
    match message.role {
        ModelRole::System | ModelRole::Developer => "system",
        ModelRole::Assistant => "assistant",
        ModelRole::User if !message.parts.is_empty() && message.parts.iter().all(is_result) => {
            "tool"
        }
        ModelRole::User => "user",
    }
}

/// Writes a message without its closing brace.
fn write_message(out: &mut String, role: &str, parts: &[ModelPart<'_>]) {
    out.push_str("{\"role\":");
    out.push_str(&quote(role));
    out.push_str(",\"parts\":");
    write_parts(out, parts);
}

fn write_parts(out: &mut String, parts: &[ModelPart<'_>]) {
    out.push('[');
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_part(out, part);
    }
    out.push(']');
}

fn write_part(out: &mut String, part: &ModelPart<'_>) {
    match part.content() {
        ContentPart::Text(text) => {
            out.push_str("{\"type\":\"text\",\"content\":");
            text.write(out);
        }
        ContentPart::Reasoning(reasoning) => {
            out.push_str("{\"type\":\"reasoning\",\"content\":");
            reasoning.text.write(out);
        }
        ContentPart::Media(media) => write_media(out, media),
        ContentPart::ToolCall(call) => write_call(out, call),
        ContentPart::ToolResult(result) => write_result(out, result),
        ContentPart::Unknown(unknown) => {
            let name = if unknown.name.is_empty() { "unknown" } else { &unknown.name };
            out.push_str("{\"type\":");
            out.push_str(&quote(name));
        }
    }
    out.push('}');
}

fn write_field(out: &mut String, name: &str, json: &str) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    out.push_str(json);
}

fn write_media(out: &mut String, media: &MediaPart<'_>) {
    let (kind, field, value) = match &media.source {
        MediaSource::Url(uri) => ("uri", "uri", &**uri),
        MediaSource::Stored { id, .. } => ("file", "file_id", &**id),
        MediaSource::Data(_) | MediaSource::Text(_) => ("blob", "content", ""),
    };
    let modality = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "audio",
        MediaKind::Video => "video",
        MediaKind::File => "document",
    };
    out.push_str("{\"type\":");
    out.push_str(&quote(kind));
    if let Some(media_type) = &media.media_type {
        write_field(out, "mime_type", &quote(media_type));
    }
    write_field(out, "modality", &quote(modality));
    write_field(out, field, &quote(value));
}

fn write_call(out: &mut String, call: &ToolCallPart<'_>) {
    out.push_str("{\"type\":\"tool_call\"");
    if let Some(id) = &call.id {
        write_field(out, "id", &quote(id));
    }
    write_field(out, "name", &quote(&call.name));
    out.push_str(",\"arguments\":");
    // Arguments are an object; what the model wrote instead stays a text.
    match is_object(&call.arguments) {
        true => out.push_str(&call.arguments),
        false => call.arguments.write(out),
    }
}

fn is_object(text: &str) -> bool {
    let mut scan = JsonScanner::new(text);
    scan.shape() == Ok(JsonShape::Object) && scan.skip().and_then(|_| scan.end()).is_ok()
}

fn write_result(out: &mut String, result: &ToolResultPart<'_>) {
    out.push_str("{\"type\":\"tool_call_response\"");
    if let Some(id) = &result.id {
        write_field(out, "id", &quote(id));
    }
    if let Some(name) = &result.name {
        write_field(out, "name", &quote(name));
    }
    out.push_str(",\"response\":");
    match result.parts.as_slice() {
        [part] => match part.content() {
            ContentPart::Text(text) => text.write(out),
            _ => write_parts(out, &result.parts),
        },
        parts => write_parts(out, parts),
    }
}
