//! Encodes Responses items: one flat list in which each call and each result is an item.

use std::fmt::Write as _;

use foxwedge_core::{CallFamily, ContentShape, Role, Span};

use super::{WIRE, open_call};
use crate::{
    conversation::{
        ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelMessage, ModelPart,
        ModelRole, PartIndex, ReasoningPart, ReasoningSignature, ToolCallPart, ToolResultPart,
        encode::{
            ContentPiece, HistoryEncoder, ItemEncodeFormat, ResultOutline,
            json_writer::{write_comma, write_compact, write_string},
            write_text_or_blocks,
        },
        media::titled_document,
    },
    openai_chat::encode::{turn_arguments, with_detail, write_arguments_text, write_piece_list},
};
use foxwedge_json::quote;

pub(crate) const ENCODE_FORMAT: ItemEncodeFormat = ItemEncodeFormat {
    refusal: Some("{\"type\":\"refusal\",\"refusal\":"),
    results_follow: false,
    media: |part, media| Some(with_detail(encode_media(media)?, part, "}")),
    message: write_message,
    call: write_call,
    result: write_result,
};

fn write_message(
    encoder: &mut HistoryEncoder<'_, '_>,
    message: &ModelMessage<'_>,
    _: ModelRole,
    pieces: &[ContentPiece<'_>],
    out: &mut String,
) {
    let start = out.len();
    out.push_str(match message.role {
        ModelRole::System => "{\"type\":\"message\",\"role\":\"system\",\"content\":",
        ModelRole::Developer => "{\"type\":\"message\",\"role\":\"developer\",\"content\":",
        ModelRole::User => "{\"type\":\"message\",\"role\":\"user\",\"content\":",
        ModelRole::Assistant => "{\"type\":\"message\",\"role\":\"assistant\",\"content\":",
    });
    let is_original = message.wire() == Some(WIRE);
    let mut content = ContentShape::List;
    match pieces {
        // Unchanged: a string.
        [ContentPiece::Text(text)] if is_original => {
            encoder.outline.mark_inexact();
            text.write(out);
            content = ContentShape::Text;
        }
        // OpenAI's own types accept a plain string for a single text of the model.
        [ContentPiece::Text(text)] if message.role == ModelRole::Assistant => {
            let text_start = out.len();
            text.write(out);
            encoder.outline.record_text(Span::new(text_start, out.len()), text);
            content = ContentShape::Text;
        }
        pieces => {
            let text = match message.role {
                ModelRole::Assistant if is_original => write_original_text,
                ModelRole::Assistant => write_output_text,
                ModelRole::System | ModelRole::Developer | ModelRole::User => write_input_text,
            };
            write_piece_list(encoder, out, pieces, text);
        }
    }
    // A list of texts of the model is an output item, with an id and a status.
    if message.role == ModelRole::Assistant && content == ContentShape::List && !is_original {
        encoder.outline.mark_inexact();
        let _ = write!(out, ",\"id\":\"msg_{start:024x}\",\"status\":\"completed\"");
    }
    for member in message.members(WIRE) {
        encoder.outline.mark_inexact();
        out.push(',');
        write_compact(out, member);
    }
    out.push('}');
    let role = match message.role {
        ModelRole::System => Role::System,
        ModelRole::Developer => Role::Developer,
        ModelRole::User => Role::User,
        ModelRole::Assistant => Role::Assistant,
    };
    encoder.outline.record_message(role, Span::new(start, out.len()), content);
}

fn write_input_text(out: &mut String, text: &JsonText<'_>) {
    out.push_str("{\"type\":\"input_text\",\"text\":");
    text.write(out);
    out.push('}');
}

/// Writes a text of this format unchanged.
fn write_original_text(out: &mut String, text: &JsonText<'_>) {
    out.push_str("{\"type\":\"output_text\",\"text\":");
    text.write(out);
    out.push('}');
}

fn write_output_text(out: &mut String, text: &JsonText<'_>) {
    out.push_str("{\"type\":\"output_text\",\"text\":");
    text.write(out);
    out.push_str(",\"annotations\":[]}");
}

fn write_call(
    encoder: &mut HistoryEncoder<'_, '_>,
    at: PartIndex,
    call: &ToolCallPart<'_>,
    out: &mut String,
) {
    let Some(identity) = encoder.call_ids.identity(at) else { return };
    write_comma(out);
    let start = out.len();
    open_call(out, None, identity.id.as_deref(), &identity.name, identity.family);
    write_arguments_text(out, call);
    out.push('}');
    let span = Span::new(start, out.len());
    encoder.outline.record_call(span, identity, plain_family(identity.family), false);
    encoder.outline.record_message(Role::Assistant, span, ContentShape::Absent);
}

/// The kind of tool that a call is written as.
fn plain_family(family: CallFamily) -> CallFamily {
    match family {
        CallFamily::Custom => CallFamily::Custom,
        _ => CallFamily::Function,
    }
}

fn write_result<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
    at: PartIndex,
    result: &'h ToolResultPart<'a>,
    out: &mut String,
) {
    let Some(identity) = encoder.identity(at) else { return };
    encoder.record_error_mark_loss(at, result);
    let encoded = encoder.encode_result(at, result, encode_media, |_| None);
    write_comma(out);
    let start = out.len();
    out.push_str(match identity.family {
        CallFamily::Custom => "{\"type\":\"custom_tool_call_output\",\"call_id\":",
        _ => "{\"type\":\"function_call_output\",\"call_id\":",
    });
    write_string(out, identity.id.as_deref().unwrap_or(""));
    out.push_str(",\"output\":");
    let content_start = out.len();
    write_text_or_blocks(out, &encoded.pieces, write_input_text);
    let content = Span::new(content_start, out.len());
    out.push('}');
    let span = Span::new(start, out.len());
    let empty = matches!(content.of(out), "\"\"" | "[]");
    let family = plain_family(identity.family);
    encoder.outline.record_result(
        span,
        &identity,
        ResultOutline { content, empty, names_tool: false, family },
    );
    encoder.outline.record_message(Role::Answer, span, ContentShape::Absent);
}

pub(super) fn encode_media(media: &MediaPart<'_>) -> Option<String> {
    let stored_file = |key: &str| {
        let id = quote(media.source.stored_for(WIRE)?);
        Some(format!("{{\"type\":\"{key}\",\"file_id\":{id}}}"))
    };
    let data_url = |data: &str, default_type: &str| {
        let name = media.media_type.as_deref().unwrap_or(default_type);
        quote(&format!("data:{name};base64,{data}"))
    };
    let name = media.name.as_deref();
    Some(match (media.kind, &media.source) {
        (_, MediaSource::Text(text)) => {
            format!("{{\"type\":\"input_text\",\"text\":{}}}", quote(&titled_document(name, text)))
        }
        (MediaKind::Image, MediaSource::Data(data)) => {
            format!("{{\"type\":\"input_image\",\"image_url\":{}}}", data_url(data, "image/png"))
        }
        (MediaKind::Image, MediaSource::Url(url)) => {
            format!("{{\"type\":\"input_image\",\"image_url\":{}}}", quote(url))
        }
        (MediaKind::Image, MediaSource::Stored { .. }) => stored_file("input_image")?,
        (MediaKind::File, MediaSource::Data(data)) => {
            let name = quote(name.unwrap_or("file"));
            let data = data_url(data, "application/octet-stream");
            format!("{{\"type\":\"input_file\",\"filename\":{name},\"file_data\":{data}}}")
        }
        (MediaKind::File, MediaSource::Url(url)) => {
            format!("{{\"type\":\"input_file\",\"file_url\":{}}}", quote(url))
        }
        (MediaKind::File, MediaSource::Stored { .. }) => stored_file("input_file")?,
        (MediaKind::Audio | MediaKind::Video, _) => return None,
    })
}

/// Writes a reply as items for the next request, without ids, so that they need not exist on the
/// server.
pub(crate) fn encode_turn(parts: &[&ModelPart<'_>]) -> String {
    let mut out = String::from("[");
    for part in parts {
        match part.content() {
            ContentPart::Text(text) => {
                let refusal = part.notes().is_some_and(|notes| notes.refusal);
                write_comma(&mut out);
                out.push_str("{\"type\":\"message\",\"role\":\"assistant\",\"content\":");
                if refusal {
                    out.push_str("[{\"type\":\"refusal\",\"refusal\":");
                    text.write(&mut out);
                    out.push_str("}]}");
                } else {
                    text.write(&mut out);
                    out.push('}');
                }
            }
            ContentPart::Reasoning(ReasoningPart {
                text,
                signature: ReasoningSignature::Encrypted(content),
            }) => {
                write_comma(&mut out);
                out.push_str("{\"type\":\"reasoning\",\"summary\":[");
                if !text.is_empty() {
                    out.push_str("{\"type\":\"summary_text\",\"text\":");
                    text.write(&mut out);
                    out.push('}');
                }
                out.push_str("],\"encrypted_content\":");
                content.write(&mut out);
                out.push('}');
            }
            ContentPart::ToolCall(call) => {
                write_comma(&mut out);
                open_call(&mut out, None, call.id.as_deref(), &call.name, call.family);
                turn_arguments(call).write(&mut out);
                out.push('}');
            }
            ContentPart::Reasoning(_)
            | ContentPart::Media(_)
            | ContentPart::ToolResult(_)
            | ContentPart::Unknown(_) => {}
        }
    }
    out.push(']');
    out
}
