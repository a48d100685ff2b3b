//! Encodes Chat messages: one for each tool result; calls are beside the text of their message.

use std::borrow::Cow;

use foxwedge_core::{CallFamily, ContentShape, Role, Span};

use super::{WIRE, close_call, open_call};
use crate::{
    conversation::{
        ContentPart, JsonText, LossKind, MediaKind, MediaPart, MediaSource, ModelPart, ModelRole,
        PartIndex, PartPlacement, ReasoningPart, ToolCallPart, ToolResultPart,
        encode::{
            ContentPiece, EncodedTurn, HistoryEncoder, ResultOutline,
            json_writer::{compact_json, write_comma, write_compact, write_string},
            result_media_heading, split_turns, write_text_or_blocks,
        },
        media::{short_name_of, titled_document},
    },
    outline::is_json_object,
};
use foxwedge_json::quote;

/// Writes every turn.
pub(crate) fn write_messages(encoder: &mut HistoryEncoder<'_, '_>, out: &mut String) {
    for turn in split_turns(encoder) {
        match turn.role {
            ModelRole::Assistant => write_assistant(encoder, &turn, out),
            ModelRole::User | ModelRole::System | ModelRole::Developer => {
                write_plain_turn(encoder, &turn, out)
            }
        }
    }
}

/// Writes the tool results of a turn, their media, and a message with the rest.
fn write_plain_turn<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
    turn: &EncodedTurn<'h, 'a>,
    out: &mut String,
) {
    let mut trailing = Vec::new();
    let mut pieces = Vec::new();
    for &(at, part) in &turn.parts {
        match (part.content(), encoder.reusable_origin(at, part)) {
            (_, Some(original)) if original.placement == PartPlacement::Message => {
                encoder.outline.mark_inexact();
                write_comma(out);
                write_compact(out, original.json);
            }
            (ContentPart::ToolResult(result), _) => {
                self::write_result(encoder, at, result, &mut trailing, out)
            }
            (_, Some(original)) => pieces.push(ContentPiece::Block(compact_json(original.json))),
            _ => pieces.extend(encode_piece(encoder, at, part)),
        }
    }
    if !trailing.is_empty() {
        encoder.outline.mark_inexact();
        write_comma(out);
        out.push_str("{\"role\":\"user\",\"content\":[");
        for block in trailing {
            write_comma(out);
            out.push_str(&block);
        }
        out.push_str("]}");
    }
    let origin = turn.origin(encoder);
    let members = origin.map(|message| message.members(encoder.wire)).unwrap_or_default();
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
    let content = write_content(encoder, out, &pieces, "\"\"");
    for member in members {
        encoder.outline.mark_inexact();
        out.push(',');
        write_compact(out, member);
    }
    out.push('}');
    encoder.outline.record_message(role, Span::new(start, out.len()), content);
}

fn write_assistant<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
    turn: &EncodedTurn<'h, 'a>,
    out: &mut String,
) {
    let mut pieces = Vec::with_capacity(turn.parts.len());
    let mut calls: Vec<(PartIndex, &ModelPart<'_>)> = Vec::new();
    let mut fields: Vec<Cow<'_, str>> = Vec::new();
    let mut reasoning_texts: Vec<&JsonText<'_>> = Vec::new();
    // A merged message must not repeat a field.
    let is_original = turn.origin(encoder).is_some();
    for &(at, part) in &turn.parts {
        let original = encoder.reusable_origin(at, part);
        match (
            part.content(),
            original.filter(|raw| is_original || raw.placement != PartPlacement::Field),
        ) {
            (_, Some(raw)) if raw.placement == PartPlacement::Field => {
                fields.push(compact_json(raw.json))
            }
            (ContentPart::ToolCall(_), _) => calls.push((at, part)),
            (_, Some(raw)) => pieces.push(ContentPiece::Block(compact_json(raw.json))),
            (ContentPart::Reasoning(reasoning), None) => reasoning_texts.push(&reasoning.text),
            (ContentPart::Text(_) | ContentPart::Media(_), None) => {
                if !calls.is_empty() {
                    encoder.record_loss(
                        at.message,
                        LossKind::Order,
                        "text after a call is moved before it",
                    );
                }
                pieces.extend(encode_piece(encoder, at, part));
            }
            (ContentPart::ToolResult(_) | ContentPart::Unknown(_), None) => {
                pieces.extend(encode_piece(encoder, at, part))
            }
        }
    }
    write_comma(out);
    let start = out.len();
    out.push_str("{\"role\":\"assistant\",\"content\":");
    let origin = turn.origin(encoder);
    // Some servers reject null content beside calls; all accept an empty string.
    let content =
        write_content(encoder, out, &pieces, if origin.is_some() { "null" } else { "\"\"" });
    if !calls.is_empty() {
        out.push_str(",\"tool_calls\":[");
        for (at, part) in calls {
            write_comma(out);
            match (
                part.content(),
                encoder
                    .reusable_origin(at, part)
                    .filter(|raw| raw.placement != PartPlacement::Field),
            ) {
                (_, Some(raw)) => {
                    encoder.outline.mark_inexact();
                    write_compact(out, raw.json);
                }
                (ContentPart::ToolCall(call), None) => self::write_call(encoder, at, call, out),
                _ => {}
            }
        }
        out.push(']');
    }
    if !reasoning_texts.is_empty() {
        encoder.outline.mark_inexact();
        out.push_str(",\"reasoning_content\":\"");
        for (at, text) in reasoning_texts.into_iter().enumerate() {
            out.push_str(if at == 0 { "" } else { "\\n\\n" });
            text.write_unquoted(out);
        }
        out.push('"');
    }
    let others = origin.map(|message| message.members(encoder.wire)).unwrap_or_default();
    for member in fields.into_iter().chain(others.iter().map(|member| compact_json(member))) {
        encoder.outline.mark_inexact();
        out.push(',');
        out.push_str(&member);
    }
    out.push('}');
    encoder.outline.record_message(Role::Assistant, Span::new(start, out.len()), content);
}

/// Writes a single text as a string, everything else as a list.
fn write_content(
    encoder: &mut HistoryEncoder<'_, '_>,
    out: &mut String,
    pieces: &[ContentPiece<'_>],
    empty: &str,
) -> ContentShape {
    let start = out.len();
    match pieces {
        [] => {
            out.push_str(empty);
            if empty == "null" {
                return ContentShape::Null;
            }
            encoder.outline.record_text(Span::new(start, out.len()), &JsonText::default());
            return ContentShape::Text;
        }
        [piece] if piece.text().is_some() => {
            if let Some(text) = piece.text() {
                text.write(out);
                encoder.outline.record_text(Span::new(start, out.len()), text);
            }
            return ContentShape::Text;
        }
        pieces => write_piece_list(encoder, out, pieces, write_text),
    }
    ContentShape::List
}

/// Writes content as a list of blocks.
pub(crate) fn write_piece_list(
    encoder: &mut HistoryEncoder<'_, '_>,
    out: &mut String,
    pieces: &[ContentPiece<'_>],
    write_text: fn(&mut String, &JsonText<'_>),
) {
    out.push('[');
    for piece in pieces {
        write_comma(out);
        let start = out.len();
        match (piece, piece.text()) {
            (ContentPiece::Block(block), _) => {
                encoder.outline.mark_inexact();
                out.push_str(block);
            }
            (_, Some(text)) => {
                write_text(out, text);
                encoder.outline.record_text(Span::new(start, out.len()), text);
            }
            _ => {}
        }
    }
    out.push(']');
}

fn encode_piece<'h>(
    encoder: &mut HistoryEncoder<'_, '_>,
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
            None => ContentPiece::Generated(encoder.omitted_media_note(at, media).into()),
        }),
        ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => {
            encoder.record_loss(
                at.message,
                LossKind::Unknown,
                "a call or a result is in a message of the wrong role",
            );
            None
        }
        // Already omitted, unless the part is from this format.
        ContentPart::Reasoning(_) | ContentPart::Unknown(_) => None,
    }
}

/// Adds the image detail to a block, before its end.
pub(crate) fn with_detail(mut block: String, part: &ModelPart<'_>, end: &str) -> String {
    let detail = part.notes().and_then(|notes| notes.detail.as_ref());
    if let Some(detail) = detail.filter(|_| block.contains("image_url")) {
        block.truncate(block.len() - end.len());
        block.push_str(",\"detail\":");
        detail.write(&mut block);
        block.push_str(end);
    }
    block
}

fn write_text(out: &mut String, text: &JsonText<'_>) {
    out.push_str("{\"type\":\"text\",\"text\":");
    text.write(out);
    out.push('}');
}

fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(text))
}

fn write_call(
    encoder: &mut HistoryEncoder<'_, '_>,
    at: PartIndex,
    call: &ToolCallPart<'_>,
    out: &mut String,
) {
    let Some(identity) = encoder.call_ids.identity(at) else { return };
    let start = out.len();
    open_call(out, identity.id.as_deref(), &identity.name, call.is_free_text());
    write_arguments_text(out, call);
    close_call(out, None);
    encoder.outline.record_call(Span::new(start, out.len()), identity, CallFamily::Function, false);
}

/// Writes arguments as a string: compact JSON, or whatever the model wrote.
pub(crate) fn write_arguments_text(out: &mut String, call: &ToolCallPart<'_>) {
    if !call.is_free_text() && call.arguments.is_unescaped() && is_json_object(&call.arguments) {
        return write_string(out, &compact_json(&call.arguments));
    }
    call.arguments.write(out);
}

fn write_result<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
    at: PartIndex,
    result: &'h ToolResultPart<'a>,
    trailing: &mut Vec<String>,
    out: &mut String,
) {
    let Some(identity) = encoder.identity(at) else { return };
    encoder.record_error_mark_loss(at, result);
    let encoded = encoder.encode_result(at, result, |_| None, encode_media);
    if !encoded.trailing_blocks.is_empty() {
        trailing.push(text_block(&result_media_heading(&identity)));
        trailing.extend(encoded.trailing_blocks);
    }
    write_comma(out);
    let start = out.len();
    out.push_str("{\"role\":\"tool\",\"tool_call_id\":");
    write_string(out, identity.id.as_deref().unwrap_or(""));
    out.push_str(",\"content\":");
    let content_start = out.len();
    write_text_or_blocks(out, &encoded.pieces, write_text);
    let content = Span::new(content_start, out.len());
    out.push('}');
    let span = Span::new(start, out.len());
    let has_content = |piece: &ContentPiece<'_>| piece.text().is_none_or(|text| !text.is_empty());
    if encoded.pieces.iter().any(|piece| matches!(piece, ContentPiece::Block(_))) {
        encoder.outline.mark_inexact();
    }
    let empty = !encoded.pieces.iter().any(has_content);
    let family = CallFamily::Function;
    encoder.outline.record_result(
        span,
        &identity,
        ResultOutline { content, empty, names_tool: false, family },
    );
    let list = content.of(out).starts_with('[');
    let content = if list { ContentShape::List } else { ContentShape::Text };
    encoder.outline.record_message(Role::Answer, span, content);
}

pub(super) fn encode_media(media: &MediaPart<'_>) -> Option<String> {
    let data_url = |data: &str| {
        let name = media.media_type.as_deref().unwrap_or(match media.kind {
            MediaKind::Image => "image/png",
            _ => "application/octet-stream",
        });
        format!("data:{name};base64,{data}")
    };
    Some(match (media.kind, &media.source) {
        (_, MediaSource::Text(text)) => text_block(&titled_document(media.name.as_deref(), text)),
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
            let id = quote(source.stored_for(WIRE)?);
            format!("{{\"type\":\"file\",\"file\":{{\"file_id\":{id}}}}}")
        }
        (MediaKind::Image | MediaKind::Audio | MediaKind::Video, _) => return None,
    })
}

fn image_block(url: &str) -> String {
    format!("{{\"type\":\"image_url\",\"image_url\":{{\"url\":{}}}}}", quote(url))
}

/// Writes a reply as a message for the next request.
pub(crate) fn encode_turn(parts: &[&ModelPart<'_>]) -> String {
    let is_refusal = |part: &ModelPart<'_>| part.notes().is_some_and(|notes| notes.refusal);
    let mut out = String::from("{\"role\":\"assistant\",\"content\":");
    let texts = parts.iter().filter_map(|part| match part.content() {
        ContentPart::Text(text) => Some((*part, text)),
        _ => None,
    });
    if texts.clone().any(|(part, _)| is_refusal(part)) {
        out.push('[');
        for (part, text) in texts {
            let kind = if is_refusal(part) { "refusal" } else { "text" };
            write_comma(&mut out);
            out.extend(["{\"type\":\"", kind, "\",\"", kind, "\":"]);
            text.write(&mut out);
            out.push('}');
        }
        out.push(']');
    } else {
        // Some servers reject null content beside calls; all accept an empty string.
        out.push('"');
        texts.for_each(|(_, text)| text.write_unquoted(&mut out));
        out.push('"');
    }
    let mut reasoning_text = String::new();
    for reasoning in parts.iter().filter_map(|part| as_reasoning(part)) {
        reasoning_text.push_str(if reasoning_text.is_empty() { "" } else { "\\n\\n" });
        reasoning.text.write_unquoted(&mut reasoning_text);
    }
    if !reasoning_text.is_empty() {
        out.extend([",\"reasoning_content\":\"", &reasoning_text, "\""]);
    }
    let mut calls = parts.iter().filter_map(|part| as_call(part)).peekable();
    if calls.peek().is_some() {
        out.push_str(",\"tool_calls\":[");
        for call in calls {
            write_comma(&mut out);
            open_call(&mut out, call.id.as_deref(), &call.name, call.is_free_text());
            turn_arguments(call).write(&mut out);
            close_call(&mut out, call.signature.as_ref());
        }
        out.push(']');
    }
    out.push('}');
    out
}

fn as_reasoning<'p, 'a>(part: &'p ModelPart<'a>) -> Option<&'p ReasoningPart<'a>> {
    match part.content() {
        ContentPart::Reasoning(reasoning) => Some(reasoning),
        _ => None,
    }
}

fn as_call<'p, 'a>(part: &'p ModelPart<'a>) -> Option<&'p ToolCallPart<'a>> {
    match part.content() {
        ContentPart::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// Arguments as a string: whatever the model wrote, or an empty object for no arguments.
pub(crate) fn turn_arguments<'c, 'a>(call: &'c ToolCallPart<'a>) -> Cow<'c, JsonText<'a>> {
    match call.arguments.trim().is_empty() && !call.is_free_text() {
        true => Cow::Owned(JsonText::from("{}")),
        false => Cow::Borrowed(&call.arguments),
    }
}
