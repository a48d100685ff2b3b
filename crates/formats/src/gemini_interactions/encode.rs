//! Encodes Interactions steps.

use foxwedge_core::{CallFamily, ContentShape, Role, Span};

use super::{WIRE, open_call, open_result};
use crate::{
    conversation::{
        ContentPart, JsonText, LossKind, MediaKind, MediaPart, MediaSource, ModelMessage,
        ModelPart, ModelRole, PartIndex, ReasoningPart, ReasoningSignature, ToolCallPart,
        ToolResultPart,
        encode::{
            ContentPiece, HistoryEncoder, ItemEncodeFormat, ResultOutline, is_foreign,
            json_writer::{write_comma, write_compact},
            write_arguments_object, write_text_or_blocks,
        },
        media::{likely_type, titled_document},
    },
    openai_chat::encode::write_piece_list,
};
use foxwedge_json::quote;

pub(crate) const ENCODE_FORMAT: ItemEncodeFormat = ItemEncodeFormat {
    refusal: None,
    results_follow: true,
    media: |_, media| encode_media(media),
    message: write_message,
    call: write_call,
    result: write_result,
};

fn write_message(
    encoder: &mut HistoryEncoder<'_, '_>,
    message: &ModelMessage<'_>,
    role: ModelRole,
    pieces: &[ContentPiece<'_>],
    out: &mut String,
) {
    let start = out.len();
    let role = match role {
        ModelRole::Assistant => Role::Assistant,
        ModelRole::User | ModelRole::System | ModelRole::Developer => Role::User,
    };
    out.push_str(match role {
        Role::Assistant => "{\"type\":\"model_output\",\"content\":",
        _ => "{\"type\":\"user_input\",\"content\":",
    });
    write_piece_list(encoder, out, pieces, write_text);
    for member in message.members(WIRE) {
        encoder.outline.mark_inexact();
        out.push(',');
        write_compact(out, member);
    }
    out.push('}');
    encoder.outline.record_message(role, Span::new(start, out.len()), ContentShape::List);
}

fn write_text(out: &mut String, text: &JsonText<'_>) {
    out.push_str("{\"type\":\"text\",\"text\":");
    text.write(out);
    out.push('}');
}

fn write_call(
    encoder: &mut HistoryEncoder<'_, '_>,
    at: PartIndex,
    call: &ToolCallPart<'_>,
    out: &mut String,
) {
    let Some(identity) = encoder.identity(at) else { return };
    write_comma(out);
    let start = out.len();
    open_call(out, identity.id.as_deref(), &identity.name);
    encoder.write_arguments_object(out, at, call);
    out.push('}');
    let span = Span::new(start, out.len());
    encoder.outline.record_call(span, &identity, CallFamily::Function, false);
    encoder.outline.record_message(Role::Assistant, span, ContentShape::Absent);
}

fn write_result<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
    at: PartIndex,
    result: &'h ToolResultPart<'a>,
    out: &mut String,
) {
    let Some(identity) = encoder.identity(at) else { return };
    let encoded = encoder.encode_result(at, result, encode_media, |_| None);
    write_comma(out);
    let start = out.len();
    open_result(out, identity.id.as_deref(), &identity.name, result.error);
    let content_start = out.len();
    write_text_or_blocks(out, &encoded.pieces, write_text);
    let content = Span::new(content_start, out.len());
    out.push('}');
    let span = Span::new(start, out.len());
    let empty = matches!(content.of(out), "\"\"" | "[]");
    let outline = ResultOutline { content, empty, names_tool: true, family: CallFamily::Function };
    encoder.outline.record_result(span, &identity, outline);
    encoder.outline.record_message(Role::Answer, span, ContentShape::Absent);
}

pub(super) fn encode_media(media: &MediaPart<'_>) -> Option<String> {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "audio",
        MediaKind::Video => "video",
        MediaKind::File => "document",
    };
    let (key, value) = match &media.source {
        MediaSource::Data(data) => ("data", &**data),
        MediaSource::Text(text) => {
            let text = quote(&titled_document(media.name.as_deref(), text));
            return Some(format!("{{\"type\":\"text\",\"text\":{text}}}"));
        }
        source if source.is_inline() => return None,
        MediaSource::Url(uri) => ("uri", &**uri),
        MediaSource::Stored { .. } => ("uri", media.source.stored_for(WIRE)?),
    };
    let (value, mime) = (quote(value), quote(likely_type(media)));
    Some(format!("{{\"type\":\"{kind}\",\"{key}\":{value},\"mime_type\":{mime}}}"))
}

/// The instructions field of a request, if there are instructions to write there: one text.
pub(crate) fn encode_instructions(encoder: &mut HistoryEncoder<'_, '_>) -> Option<String> {
    if !encoder.target.separate_instructions {
        return None;
    }
    let history = encoder.history;
    let mut texts = String::new();
    for (index, message) in history.messages.iter().enumerate().take(encoder.leading_instructions) {
        if !is_foreign(encoder, message) {
            break;
        }
        for (part_index, part) in message.parts.iter().enumerate() {
            let at = PartIndex { message: index, part: part_index };
            let ContentPart::Text(text) = part.content() else {
                let note = "instructions must be text in this format";
                encoder.record_loss(index, LossKind::Instructions, note);
                continue;
            };
            if !text.trim().is_empty() && encoder.accepts_part(at, ModelRole::System, part) {
                texts.push_str(if texts.is_empty() { "" } else { "\\n\\n" });
                text.write_unquoted(&mut texts);
            }
        }
    }
    (!texts.is_empty()).then(|| format!("\"system_instruction\":\"{texts}\""))
}

/// Writes a reply as steps for the next request.
pub(crate) fn encode_turn(parts: &[&ModelPart<'_>]) -> String {
    let mut out = String::from("[");
    for part in parts {
        match part.content() {
            ContentPart::Text(text) => {
                write_comma(&mut out);
                out.push_str("{\"type\":\"model_output\",\"content\":[");
                write_text(&mut out, text);
                out.push_str("]}");
            }
            ContentPart::Reasoning(ReasoningPart { text, signature }) => {
                write_comma(&mut out);
                let signature = match signature {
                    ReasoningSignature::Signed(signature) => Some(signature),
                    _ => None,
                };
                write_thought(&mut out, Some(text).filter(|text| !text.is_empty()), signature);
            }
            ContentPart::ToolCall(call) => {
                write_comma(&mut out);
                open_call(&mut out, call.id.as_deref(), &call.name);
                write_arguments_object(&mut out, call);
                out.push('}');
            }
            ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_) => {}
        }
    }
    out.push(']');
    out
}

/// Writes a thought: its signature and its summary.
pub(super) fn write_thought(
    out: &mut String,
    text: Option<&JsonText<'_>>,
    signature: Option<&JsonText<'_>>,
) {
    out.push_str("{\"type\":\"thought\"");
    if let Some(signature) = signature {
        out.push_str(",\"signature\":");
        signature.write(out);
    }
    if let Some(text) = text {
        out.push_str(",\"summary\":[");
        write_text(out, text);
        out.push(']');
    }
    out.push('}');
}
