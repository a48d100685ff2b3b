//! Writes `ModelMessage[]`.

use foxwedge_json::quote;

use super::{
    CallResult, ListEncoder, MessageGroup,
    parts::{PartNames, write_text},
};
use crate::conversation::{
    ContentPart, LossKind, MediaKind, MediaSource, PartIndex, ToolCallPart, ToolResultPart,
    encode::json_writer::write_comma, media::likely_type,
};

const NAMES: PartNames = PartNames { provider: "providerOptions", file: "data" };

/// Writes the list.
pub(super) fn write(encoder: &mut ListEncoder<'_, '_>, groups: &[MessageGroup]) -> String {
    let mut out = String::from("[");
    for (number, group) in groups.iter().enumerate() {
        let is_last = number + 1 == groups.len();
        match group {
            MessageGroup::Instructions(message) => write_instructions(encoder, &mut out, *message),
            MessageGroup::Input(parts) => {
                let mut content = String::new();
                write_parts(encoder, &mut content, parts);
                write_message(&mut out, "user", &content);
            }
            MessageGroup::Reply(parts) => {
                let (mut content, mut results) = (String::new(), String::new());
                for &at in parts {
                    let Some(part) = encoder.part(at) else { continue };
                    match part.content() {
                        ContentPart::ToolCall(call) => {
                            write_call(encoder, &mut content, at, call);
                            write_result(encoder, &mut results, at, call, is_last);
                            encoder.record_note_losses(at);
                        }
                        _ => write_parts(encoder, &mut content, &[at]),
                    }
                }
                write_message(&mut out, "assistant", &content);
                write_message(&mut out, "tool", &results);
            }
        }
    }
    out.push(']');
    out
}

/// Adds a message, unless it is empty.
fn write_message(out: &mut String, role: &str, content: &str) {
    if !content.is_empty() {
        write_comma(out);
        out.push_str(&format!("{{\"role\":\"{role}\",\"content\":[{content}]}}"));
    }
}

fn write_instructions(encoder: &mut ListEncoder<'_, '_>, out: &mut String, message: usize) {
    let text = encoder.instructions(message);
    write_comma(out);
    out.push_str(&format!("{{\"role\":\"system\",\"content\":{}}}", quote(&text)));
}

fn write_parts(encoder: &mut ListEncoder<'_, '_>, out: &mut String, parts: &[PartIndex]) {
    for &at in parts {
        let Some(part) = encoder.part(at) else { continue };
        let mut written = String::new();
        if encoder.write_content(&mut written, at, part, &NAMES) {
            push(out, &written);
        }
    }
}

fn push(out: &mut String, part: &str) {
    out.push_str(if out.is_empty() { "" } else { "," });
    out.push_str(part);
}

fn write_call(
    encoder: &mut ListEncoder<'_, '_>,
    out: &mut String,
    at: PartIndex,
    call: &ToolCallPart<'_>,
) {
    let (id, name) = (encoder.call_id(at), quote(&call.name));
    let mut written =
        format!("{{\"type\":\"tool-call\",\"toolCallId\":{id},\"toolName\":{name},\"input\":");
    encoder.write_input(&mut written, at, call);
    if let Some(signature) = &call.signature {
        written.push_str(",\"providerOptions\":{\"google\":{\"thoughtSignature\":");
        signature.write(&mut written);
        written.push_str("}}");
    }
    written.push('}');
    push(out, &written);
}

fn write_result(
    encoder: &mut ListEncoder<'_, '_>,
    out: &mut String,
    at: PartIndex,
    call: &ToolCallPart<'_>,
    is_last: bool,
) {
    let output = match encoder.result_of(at, call, is_last) {
        CallResult::Open => return,
        CallResult::Missing(text) => text_output("error-text", text),
        CallResult::Known(at, result) if has_media(result) => {
            if result.error {
                let note = "the error flag of a result with media is lost";
                encoder.record_loss(at, LossKind::ErrorMark, note);
            }
            content_output(encoder, at, result)
        }
        CallResult::Known(at, result) => {
            let kind = if result.error { "error-text" } else { "text" };
            text_output(kind, &encoder.result_text(at, result))
        }
    };
    let (id, name) = (encoder.call_id(at), quote(&call.name));
    push(
        out,
        &format!(
            "{{\"type\":\"tool-result\",\"toolCallId\":{id},\"toolName\":{name},\"output\":{output}}}"
        ),
    );
}

fn text_output(kind: &str, text: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"value\":{}}}", quote(text))
}

/// Whether a result holds media that the SDK can send.
fn has_media(result: &ToolResultPart<'_>) -> bool {
    result.parts.iter().any(|part| match part.content() {
        ContentPart::Media(media) => {
            matches!(media.source, MediaSource::Data(_) | MediaSource::Url(_))
        }
        _ => false,
    })
}

/// A result with text and media.
fn content_output(
    encoder: &mut ListEncoder<'_, '_>,
    at: PartIndex,
    result: &ToolResultPart<'_>,
) -> String {
    let mut elements = String::new();
    for part in &result.parts {
        let element = match part.content() {
            ContentPart::Media(media) => {
                let kind = if media.kind == MediaKind::Image { "image" } else { "file" };
                let media_type = quote(likely_type(media));
                match &media.source {
                    MediaSource::Data(data) => format!(
                        "{{\"type\":\"{kind}-data\",\"data\":{},\"mediaType\":{media_type}}}",
                        quote(data)
                    ),
                    MediaSource::Url(url) => {
                        format!("{{\"type\":\"{kind}-url\",\"url\":{}}}", quote(url))
                    }
                    MediaSource::Text(_) | MediaSource::Stored { .. } => {
                        let own = ToolResultPart { parts: vec![part.clone()], ..result.clone() };
                        let text = quote(&encoder.result_text(at, &own));
                        format!("{{\"type\":\"text\",\"text\":{text}}}")
                    }
                }
            }
            ContentPart::Text(text) => {
                let mut written = String::new();
                write_text(&mut written, text);
                written
            }
            ContentPart::Unknown(other) => {
                format!("{{\"type\":\"text\",\"text\":{}}}", quote(&other.json))
            }
            _ => continue,
        };
        push(&mut elements, &element);
    }
    format!("{{\"type\":\"content\",\"value\":[{elements}]}}")
}
