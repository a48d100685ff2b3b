//! Writes chat messages: one for each answer, calls beside the text of their message.

use std::borrow::Cow;

use foxwedge_core::{CallFamily, ContentShape, Format, Role, Span};

use super::{
    LossKind,
    blocks::{titled_document, write_text_or_blocks},
    history_encoder::{ContentPiece, HistoryEncoder, result_media_heading},
    json_writer::{compact_json, write_comma, write_compact, write_string},
    outline::ResultOutline as Written,
    turns::{EncodedTurn, split_turns},
};
use crate::{
    json::quote,
    model::{
        ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ModelPart, ModelRole, PartIndex,
        PartPlacement, ToolCallPart, ToolResultPart, media::short_name_of,
    },
    outline::is_json_object,
};

/// Writes every turn.
pub(super) fn write_messages(page: &mut HistoryEncoder<'_, '_>, out: &mut String) {
    for turn in split_turns(page) {
        match turn.role {
            ModelRole::Assistant => write_assistant(page, &turn, out),
            ModelRole::User | ModelRole::System | ModelRole::Developer => {
                write_plain_turn(page, &turn, out)
            }
        }
    }
}

/// The answers of a turn, what they show, and a message with the rest.
fn write_plain_turn<'h, 'a>(
    page: &mut HistoryEncoder<'h, 'a>,
    turn: &EncodedTurn<'h, 'a>,
    out: &mut String,
) {
    let mut behind = Vec::new();
    let mut pieces = Vec::new();
    for &(at, part) in &turn.parts {
        match (part.content(), page.reusable_origin(at, part)) {
            (_, Some(raw)) if raw.placement == PartPlacement::Message => {
                page.outline.mark_inexact();
                write_comma(out);
                write_compact(out, raw.json);
            }
            (ContentPart::ToolResult(answer), _) => {
                self::write_result(page, at, answer, &mut behind, out)
            }
            (_, Some(raw)) => pieces.push(ContentPiece::Block(compact_json(raw.json))),
            _ => pieces.extend(encode_piece(page, at, part)),
        }
    }
    if !behind.is_empty() {
        page.outline.mark_inexact();
        write_comma(out);
        out.push_str("{\"role\":\"user\",\"content\":[");
        for block in behind {
            write_comma(out);
            out.push_str(&block);
        }
        out.push_str("]}");
    }
    let origin = turn.origin(page);
    let members = origin.map(|said| said.members(page.wire)).unwrap_or_default();
    if pieces.is_empty() && members.is_empty() {
        return;
    }
    write_comma(out);
    let start = out.len();
    let (role, head) = match turn.role {
        ModelRole::System => (Role::System, "{\"role\":\"system\",\"content\":"),
        ModelRole::Developer => (Role::Developer, "{\"role\":\"developer\",\"content\":"),
        ModelRole::User | ModelRole::Assistant => (Role::User, "{\"role\":\"user\",\"content\":"),
    };
    out.push_str(head);
    let content = write_content(page, out, &pieces, "\"\"");
    for member in members {
        page.outline.mark_inexact();
        out.push(',');
        write_compact(out, member);
    }
    out.push('}');
    page.outline.record_message(role, Span::new(start, out.len()), content);
}

fn write_assistant<'h, 'a>(
    page: &mut HistoryEncoder<'h, 'a>,
    turn: &EncodedTurn<'h, 'a>,
    out: &mut String,
) {
    let mut pieces = Vec::with_capacity(turn.parts.len());
    let mut calls: Vec<(PartIndex, &ModelPart<'_>)> = Vec::new();
    let mut fields: Vec<Cow<'_, str>> = Vec::new();
    let mut thoughts: Vec<&JsonText<'_>> = Vec::new();
    // A field of a message stands once, also where several became one.
    let whole = turn.origin(page).is_some();
    for &(at, part) in &turn.parts {
        let spelled = page.reusable_origin(at, part);
        match (part.content(), spelled.filter(|raw| whole || raw.placement != PartPlacement::Field))
        {
            (_, Some(raw)) if raw.placement == PartPlacement::Field => {
                fields.push(compact_json(raw.json))
            }
            (ContentPart::ToolCall(_), _) => calls.push((at, part)),
            (_, Some(raw)) => pieces.push(ContentPiece::Block(compact_json(raw.json))),
            (ContentPart::Reasoning(reasoning), None) => thoughts.push(&reasoning.text),
            (ContentPart::Text(_) | ContentPart::Media(_), None) => {
                if !calls.is_empty() {
                    page.record_loss(
                        at.message,
                        LossKind::Order,
                        "text behind a call moves before it",
                    );
                }
                pieces.extend(encode_piece(page, at, part));
            }
            (ContentPart::ToolResult(_) | ContentPart::Unknown(_), None) => {
                pieces.extend(encode_piece(page, at, part))
            }
        }
    }
    write_comma(out);
    let start = out.len();
    out.push_str("{\"role\":\"assistant\",\"content\":");
    let origin = turn.origin(page);
    // Beside calls some servers refuse null, and none refuses the empty text.
    let content = write_content(page, out, &pieces, if origin.is_some() { "null" } else { "\"\"" });
    if !calls.is_empty() {
        out.push_str(",\"tool_calls\":[");
        for (at, part) in calls {
            write_comma(out);
            match (
                part.content(),
                page.reusable_origin(at, part).filter(|raw| raw.placement != PartPlacement::Field),
            ) {
                (_, Some(raw)) => {
                    page.outline.mark_inexact();
                    write_compact(out, raw.json);
                }
                (ContentPart::ToolCall(call), None) => self::write_call(page, at, call, out),
                _ => {}
            }
        }
        out.push(']');
    }
    if !thoughts.is_empty() {
        page.outline.mark_inexact();
        out.push_str(",\"reasoning_content\":\"");
        for (at, words) in thoughts.into_iter().enumerate() {
            out.push_str(if at == 0 { "" } else { "\\n\\n" });
            words.write_unquoted(out);
        }
        out.push('"');
    }
    let others = origin.map(|said| said.members(page.wire)).unwrap_or_default();
    for member in fields.into_iter().chain(others.iter().map(|member| compact_json(member))) {
        page.outline.mark_inexact();
        out.push(',');
        out.push_str(&member);
    }
    out.push('}');
    page.outline.record_message(Role::Assistant, Span::new(start, out.len()), content);
}

/// A lone text is a string, everything else a list.
fn write_content(
    page: &mut HistoryEncoder<'_, '_>,
    out: &mut String,
    pieces: &[ContentPiece<'_>],
    none: &str,
) -> ContentShape {
    let start = out.len();
    match pieces {
        [] => {
            out.push_str(none);
            if none == "null" {
                return ContentShape::Null;
            }
            page.outline.record_text(Span::new(start, out.len()), &JsonText::default());
            return ContentShape::Text;
        }
        [piece] if piece.text().is_some() => {
            if let Some(words) = piece.text() {
                words.write(out);
                page.outline.record_text(Span::new(start, out.len()), words);
            }
            return ContentShape::Text;
        }
        pieces => write_piece_list(page, out, pieces, write_text),
    }
    ContentShape::List
}

/// Adds pieces as a list of blocks.
pub(super) fn write_piece_list(
    page: &mut HistoryEncoder<'_, '_>,
    out: &mut String,
    pieces: &[ContentPiece<'_>],
    text: fn(&mut String, &JsonText<'_>),
) {
    out.push('[');
    for piece in pieces {
        write_comma(out);
        let start = out.len();
        match (piece, piece.text()) {
            (ContentPiece::Block(block), _) => {
                page.outline.mark_inexact();
                out.push_str(block);
            }
            (_, Some(words)) => {
                text(out, words);
                page.outline.record_text(Span::new(start, out.len()), words);
            }
            _ => {}
        }
    }
    out.push(']');
}

fn encode_piece<'h>(
    page: &mut HistoryEncoder<'_, '_>,
    at: PartIndex,
    part: &'h ModelPart<'_>,
) -> Option<ContentPiece<'h>> {
    match part.content() {
        ContentPart::Text(text) if part.notes().is_some_and(|notes| notes.refusal) => {
            let mut block = String::from("{\"type\":\"refusal\",\"refusal\":");
            text.write(&mut block);
            block.push('}');
            Some(ContentPiece::Block(block.into()))
        }
        ContentPart::Text(text) => Some(ContentPiece::Text(text)),
        ContentPart::Media(media) => Some(match self::encode_media(media) {
            Some(block) => ContentPiece::Block(with_detail(block, part, "}}").into()),
            None => ContentPiece::Generated(page.omitted_media_note(at, media).into()),
        }),
        ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => {
            page.record_loss(
                at.message,
                LossKind::Unknown,
                "a call or an answer stands on the wrong side",
            );
            None
        }
        // Left out before, unless the format spelled them itself.
        ContentPart::Reasoning(_) | ContentPart::Unknown(_) => None,
    }
}

/// A block with how closely its image is to be looked at, before its end.
pub(super) fn with_detail(mut block: String, part: &ModelPart<'_>, end: &str) -> String {
    let detail = part.notes().and_then(|notes| notes.detail.as_ref());
    if let Some(detail) = detail.filter(|_| block.contains("image_url")) {
        block.truncate(block.len() - end.len());
        block.push_str(",\"detail\":");
        detail.write(&mut block);
        block.push_str(end);
    }
    block
}

fn write_text(out: &mut String, words: &JsonText<'_>) {
    out.push_str("{\"type\":\"text\",\"text\":");
    words.write(out);
    out.push('}');
}

fn text_block(words: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(words))
}

fn write_call(
    page: &mut HistoryEncoder<'_, '_>,
    at: PartIndex,
    call: &ToolCallPart<'_>,
    out: &mut String,
) {
    let Some(entry) = page.call_ids.identity(at) else { return };
    let start = out.len();
    out.push_str("{\"id\":");
    write_string(out, entry.id.as_deref().unwrap_or(""));
    let (kind, input) = match call.is_free_text() {
        true => (",\"type\":\"custom\",\"custom\":{\"name\":", ",\"input\":"),
        false => (",\"type\":\"function\",\"function\":{\"name\":", ",\"arguments\":"),
    };
    out.push_str(kind);
    write_string(out, &entry.name);
    out.push_str(input);
    write_arguments_text(out, call);
    out.push_str("}}");
    page.outline.record_call(Span::new(start, out.len()), entry, CallFamily::Function, false);
}

/// Adds arguments as a string: JSON without white space, or whatever the model wrote.
pub(super) fn write_arguments_text(out: &mut String, call: &ToolCallPart<'_>) {
    if !call.is_free_text() && call.arguments.is_unescaped() && is_json_object(&call.arguments) {
        return write_string(out, &compact_json(&call.arguments));
    }
    call.arguments.write(out);
}

fn write_result<'h, 'a>(
    page: &mut HistoryEncoder<'h, 'a>,
    at: PartIndex,
    answer: &'h ToolResultPart<'a>,
    behind: &mut Vec<String>,
    out: &mut String,
) {
    let Some(entry) = page.identity(at) else { return };
    page.record_error_mark_loss(at, answer);
    let told = page.encode_result(at, answer, |_| None, encode_media);
    if !told.trailing_blocks.is_empty() {
        behind.push(text_block(&result_media_heading(&entry)));
        behind.extend(told.trailing_blocks);
    }
    write_comma(out);
    let start = out.len();
    out.push_str("{\"role\":\"tool\",\"tool_call_id\":");
    write_string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"content\":");
    let inside = out.len();
    write_text_or_blocks(out, &told.pieces, write_text);
    let content = Span::new(inside, out.len());
    out.push('}');
    let span = Span::new(start, out.len());
    let says = |piece: &ContentPiece<'_>| piece.text().is_none_or(|words| !words.is_empty());
    if told.pieces.iter().any(|piece| matches!(piece, ContentPiece::Block(_))) {
        page.outline.mark_inexact();
    }
    let empty = !told.pieces.iter().any(says);
    let family = CallFamily::Function;
    page.outline.record_result(span, &entry, Written { content, empty, names_tool: false, family });
    let list = content.of(out).starts_with('[');
    let content = if list { ContentShape::List } else { ContentShape::Text };
    page.outline.record_message(Role::Answer, span, content);
}

fn encode_media(media: &MediaPart<'_>) -> Option<String> {
    let data_url = |data: &str| {
        let name = media.media_type.as_deref().unwrap_or(match media.kind {
            MediaKind::Image => "image/png",
            _ => "application/octet-stream",
        });
        format!("data:{name};base64,{data}")
    };
    Some(match (media.kind, &media.source) {
        (_, MediaSource::Text(words)) => text_block(&titled_document(media.name.as_deref(), words)),
        (MediaKind::Image, MediaSource::Data(data)) => image_block(&data_url(data)),
        (MediaKind::Image, MediaSource::Url(url)) => image_block(url),
        (MediaKind::Audio, MediaSource::Data(data)) => {
            let format = short_name_of(media).filter(|format| matches!(*format, "wav" | "mp3"))?;
            let data = quote(data);
            format!(
                "{{\"type\":\"input_audio\",\"input_audio\":{{\"data\":{data},\"format\":\"{format}\"}}}}"
            )
        }
        (MediaKind::File, MediaSource::Data(data)) => {
            let name = quote(media.name.as_deref().unwrap_or("file"));
            let data = quote(&data_url(data));
            format!("{{\"type\":\"file\",\"file\":{{\"filename\":{name},\"file_data\":{data}}}}}")
        }
        (MediaKind::File, source) => {
            let id = quote(source.stored_for(Format::OpenaiChat)?);
            format!("{{\"type\":\"file\",\"file\":{{\"file_id\":{id}}}}}")
        }
        (MediaKind::Image | MediaKind::Audio | MediaKind::Video, _) => return None,
    })
}

fn image_block(url: &str) -> String {
    format!("{{\"type\":\"image_url\",\"image_url\":{{\"url\":{}}}}}", quote(url))
}
