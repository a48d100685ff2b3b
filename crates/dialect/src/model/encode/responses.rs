//! Writes Responses items: one flat list, each call and each answer an item of its own.

use std::fmt::Write as _;

use foxwedge_core::{CallFamily, ContentShape, Format, Role, Span};

use super::{
    blocks::{titled_document, write_text_or_blocks},
    chat::{with_detail, write_arguments_text, write_piece_list},
    history_encoder::{ContentPiece, HistoryEncoder},
    json_writer::{compact_json, write_comma, write_compact, write_string},
    outline::ResultOutline as Written,
};
use crate::{
    json::quote,
    model::{
        ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelMessage, ModelRole,
        PartIndex, PartPlacement, ToolCallPart, ToolResultPart,
    },
};

/// Writes every message as one or more items. Answers may stand anywhere behind their calls, so
/// the order is the history's.
pub(super) fn write_items(page: &mut HistoryEncoder<'_, '_>, out: &mut String) {
    let history = page.history;
    for (index, said) in history.messages.iter().enumerate() {
        page.record_field_losses(index, said);
        let mut pieces = Vec::new();
        for (part, one) in said.parts.iter().enumerate() {
            let at = PartIndex { message: index, part };
            if !page.accepts_part(at, said.role, one) {
                continue;
            }
            match (one.content(), page.reusable_origin(at, one)) {
                (_, Some(raw)) if raw.placement != PartPlacement::Message => {
                    pieces.push(ContentPiece::Block(compact_json(raw.json)));
                    continue;
                }
                (ContentPart::Text(text), None)
                    if one.notes().is_some_and(|notes| notes.refusal) =>
                {
                    let mut block = String::from("{\"type\":\"refusal\",\"refusal\":");
                    text.write(&mut block);
                    block.push('}');
                    pieces.push(ContentPiece::Block(block.into()));
                    continue;
                }
                // Beside something else it says nothing.
                (ContentPart::Text(text), None) if text.is_empty() && said.parts.len() > 1 => {
                    continue;
                }
                (ContentPart::Text(text), None) => {
                    pieces.push(ContentPiece::Text(text));
                    continue;
                }
                (ContentPart::Media(media), None) => {
                    pieces.push(match self::encode_media(media) {
                        Some(block) => ContentPiece::Block(with_detail(block, one, "}").into()),
                        None => ContentPiece::Generated(page.omitted_media_note(at, media).into()),
                    });
                    continue;
                }
                _ => {}
            }
            // What was said before stands before.
            write_message(page, said, &pieces, out);
            pieces.clear();
            match (one.content(), page.reusable_origin(at, one)) {
                (_, Some(raw)) => {
                    page.outline.mark_inexact();
                    write_comma(out);
                    write_compact(out, raw.json);
                }
                (ContentPart::ToolCall(call), None) => self::write_call(page, at, call, out),
                (ContentPart::ToolResult(answer), None) => {
                    self::write_result(page, at, answer, out)
                }
                (
                    ContentPart::Text(_)
                    | ContentPart::Media(_)
                    | ContentPart::Reasoning(_)
                    | ContentPart::Unknown(_),
                    None,
                ) => {}
            }
        }
        write_message(page, said, &pieces, out);
    }
}

fn write_message(
    page: &mut HistoryEncoder<'_, '_>,
    said: &ModelMessage<'_>,
    pieces: &[ContentPiece<'_>],
    out: &mut String,
) {
    let members = said.members(Format::OpenaiResponses);
    if pieces.is_empty() && members.is_empty() {
        return;
    }
    write_comma(out);
    let start = out.len();
    out.push_str(match said.role {
        ModelRole::System => "{\"type\":\"message\",\"role\":\"system\",\"content\":",
        ModelRole::Developer => "{\"type\":\"message\",\"role\":\"developer\",\"content\":",
        ModelRole::User => "{\"type\":\"message\",\"role\":\"user\",\"content\":",
        ModelRole::Assistant => "{\"type\":\"message\",\"role\":\"assistant\",\"content\":",
    });
    let own = said.wire() == Some(Format::OpenaiResponses);
    let mut content = ContentShape::List;
    match pieces {
        // As it was: a string.
        [ContentPiece::Text(text)] if own => {
            page.outline.mark_inexact();
            text.write(out);
            content = ContentShape::Text;
        }
        // What the model said in one text: OpenAI's own types take a string without more around it.
        [ContentPiece::Text(text)] if said.role == ModelRole::Assistant => {
            let from = out.len();
            text.write(out);
            page.outline.record_text(Span::new(from, out.len()), text);
            content = ContentShape::Text;
        }
        pieces => {
            let text = match said.role {
                ModelRole::Assistant if own => write_original_text,
                ModelRole::Assistant => write_output_text,
                ModelRole::System | ModelRole::Developer | ModelRole::User => write_input_text,
            };
            write_piece_list(page, out, pieces, text);
        }
    }
    // A list of the model's texts is an item of a response, with an id and a status.
    if said.role == ModelRole::Assistant && content == ContentShape::List && !own {
        page.outline.mark_inexact();
        let _ = write!(out, ",\"id\":\"msg_{start:024x}\",\"status\":\"completed\"");
    }
    for member in members {
        page.outline.mark_inexact();
        out.push(',');
        write_compact(out, member);
    }
    out.push('}');
    let role = match said.role {
        ModelRole::System => Role::System,
        ModelRole::Developer => Role::Developer,
        ModelRole::User => Role::User,
        ModelRole::Assistant => Role::Assistant,
    };
    page.outline.record_message(role, Span::new(start, out.len()), content);
}

fn write_input_text(out: &mut String, words: &JsonText<'_>) {
    out.push_str("{\"type\":\"input_text\",\"text\":");
    words.write(out);
    out.push('}');
}

/// A text of the format's own, as it was.
fn write_original_text(out: &mut String, words: &JsonText<'_>) {
    out.push_str("{\"type\":\"output_text\",\"text\":");
    words.write(out);
    out.push('}');
}

fn write_output_text(out: &mut String, words: &JsonText<'_>) {
    out.push_str("{\"type\":\"output_text\",\"text\":");
    words.write(out);
    out.push_str(",\"annotations\":[]}");
}

fn write_call(
    page: &mut HistoryEncoder<'_, '_>,
    at: PartIndex,
    call: &ToolCallPart<'_>,
    out: &mut String,
) {
    let Some(entry) = page.call_ids.identity(at) else { return };
    write_comma(out);
    let start = out.len();
    let (kind, input) = match entry.family {
        CallFamily::Custom => ("{\"type\":\"custom_tool_call\",\"call_id\":", ",\"input\":"),
        // A built-in tool without its own answer is told as a function.
        _ => ("{\"type\":\"function_call\",\"call_id\":", ",\"arguments\":"),
    };
    out.push_str(kind);
    write_string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"name\":");
    write_string(out, &entry.name);
    out.push_str(input);
    write_arguments_text(out, call);
    out.push('}');
    let span = Span::new(start, out.len());
    page.outline.record_call(span, entry, plain_family(entry.family), false);
    page.outline.record_message(Role::Assistant, span, ContentShape::Absent);
}

/// The kind of tool as which a call is written.
fn plain_family(family: CallFamily) -> CallFamily {
    match family {
        CallFamily::Custom => CallFamily::Custom,
        _ => CallFamily::Function,
    }
}

fn write_result<'h, 'a>(
    page: &mut HistoryEncoder<'h, 'a>,
    at: PartIndex,
    answer: &'h ToolResultPart<'a>,
    out: &mut String,
) {
    let Some(entry) = page.identity(at) else { return };
    page.record_error_mark_loss(at, answer);
    let told = page.encode_result(at, answer, encode_media, |_| None);
    write_comma(out);
    let start = out.len();
    out.push_str(match entry.family {
        CallFamily::Custom => "{\"type\":\"custom_tool_call_output\",\"call_id\":",
        _ => "{\"type\":\"function_call_output\",\"call_id\":",
    });
    write_string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"output\":");
    let inside = out.len();
    write_text_or_blocks(out, &told.pieces, write_input_text);
    let content = Span::new(inside, out.len());
    out.push('}');
    let span = Span::new(start, out.len());
    let empty = matches!(content.of(out), "\"\"" | "[]");
    let family = plain_family(entry.family);
    page.outline.record_result(span, &entry, Written { content, empty, names_tool: false, family });
    page.outline.record_message(Role::Answer, span, ContentShape::Absent);
}

fn encode_media(media: &MediaPart<'_>) -> Option<String> {
    let stored = |key: &str| {
        let id = quote(media.source.stored_for(Format::OpenaiResponses)?);
        Some(format!("{{\"type\":\"{key}\",\"file_id\":{id}}}"))
    };
    let data_url = |data: &str, other: &str| {
        let name = media.media_type.as_deref().unwrap_or(other);
        quote(&format!("data:{name};base64,{data}"))
    };
    let name = media.name.as_deref();
    Some(match (media.kind, &media.source) {
        (_, MediaSource::Text(words)) => {
            format!("{{\"type\":\"input_text\",\"text\":{}}}", quote(&titled_document(name, words)))
        }
        (MediaKind::Image, MediaSource::Data(data)) => {
            format!("{{\"type\":\"input_image\",\"image_url\":{}}}", data_url(data, "image/png"))
        }
        (MediaKind::Image, MediaSource::Url(url)) => {
            format!("{{\"type\":\"input_image\",\"image_url\":{}}}", quote(url))
        }
        (MediaKind::Image, MediaSource::Stored { .. }) => stored("input_image")?,
        (MediaKind::File, MediaSource::Data(data)) => {
            let name = quote(name.unwrap_or("file"));
            let data = data_url(data, "application/octet-stream");
            format!("{{\"type\":\"input_file\",\"filename\":{name},\"file_data\":{data}}}")
        }
        (MediaKind::File, MediaSource::Url(url)) => {
            format!("{{\"type\":\"input_file\",\"file_url\":{}}}", quote(url))
        }
        (MediaKind::File, MediaSource::Stored { .. }) => stored("input_file")?,
        (MediaKind::Audio | MediaKind::Video, _) => return None,
    })
}
