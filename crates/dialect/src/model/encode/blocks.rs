//! Formats whose messages are lists of blocks, with the answers on the user's side.

use std::borrow::Cow;

use foxwedge_core::{CallFamily, ContentShape, Format, Role, Span};

use super::{
    LossKind,
    history_encoder::{ContentPiece, HistoryEncoder, MediaEncoder, result_media_heading},
    json_writer::{write_comma, write_compact},
    outline::ResultOutline,
    turns::{EncodedTurn, split_turns},
};
use crate::model::{
    ContentPart, JsonText, MediaSource, ModelPart, ModelRole, PartIndex, ReasoningPart,
    call_id_map::CallIdentity,
};

/// How such a format spells things.
pub(super) struct BlockEncodeFormat {
    /// The field that holds the blocks.
    pub(super) blocks: &'static str,
    /// The name of the model's role.
    pub(super) model_role: &'static str,
    /// A lone text may stand as a string.
    pub(super) allows_string: bool,
    /// A text block; tells whether it is marked for caching.
    pub(super) text: fn(&mut String, &JsonText<'_>, bool),
    /// Media in a message.
    pub(super) media: MediaEncoder,
    /// Media in an answer.
    pub(super) media_in_result: MediaEncoder,
    /// Reasoning.
    pub(super) reasoning: fn(&mut String, &ReasoningPart<'_>),
    /// What stands before and behind the arguments of a call, an object.
    pub(super) call: CallEncoder,
    /// An answer; tells where its content lies.
    pub(super) answer: fn(&mut String, &CallIdentity<'_>, &[ContentPiece<'_>], ResultFlags) -> Span,
    /// A mark for caching that is a block of its own.
    pub(super) cache_block: Option<&'static str>,
}

/// Writes what stands before the arguments of a call, and what behind.
pub(super) type CallEncoder =
    (fn(&mut String, &CallIdentity<'_>), fn(&mut String, &crate::model::ToolCallPart<'_>, bool));

/// How an answer is meant.
#[derive(Clone, Copy)]
pub(super) struct ResultFlags {
    /// It failed.
    pub(super) error: bool,
    /// It is marked for caching.
    pub(super) cache: bool,
}

/// Writes every turn as a message.
pub(super) fn write_messages(
    page: &mut HistoryEncoder<'_, '_>,
    spelling: &BlockEncodeFormat,
    out: &mut String,
) {
    for turn in split_turns(page) {
        write_comma(out);
        write_message(page, spelling, &turn, out);
    }
}

fn write_message<'h, 'a>(
    page: &mut HistoryEncoder<'h, 'a>,
    spelling: &BlockEncodeFormat,
    turn: &EncodedTurn<'h, 'a>,
    out: &mut String,
) {
    let start = out.len();
    if let Some(raw) = turn.whole_message(page) {
        page.outline.mark_inexact();
        return write_compact(out, raw.json);
    }
    let origin = turn.origin(page);
    let role = match turn.role {
        ModelRole::Assistant => spelling.model_role,
        ModelRole::User => "user",
        ModelRole::System | ModelRole::Developer => "system",
    };
    for piece in ["{\"role\":\"", role, "\",\"", spelling.blocks, "\":"] {
        out.push_str(piece);
    }
    let content = match single_text(page, spelling, turn) {
        Some(words) => {
            let start = out.len();
            words.write(out);
            page.outline.record_text(Span::new(start, out.len()), words);
            ContentShape::Text
        }
        None => {
            out.push('[');
            write_blocks(page, spelling, turn, out);
            out.push(']');
            ContentShape::List
        }
    };
    for member in origin.map(|said| said.members(page.wire)).unwrap_or_default() {
        page.outline.mark_inexact();
        out.push(',');
        write_compact(out, member);
    }
    out.push('}');
    let role = match turn.role {
        ModelRole::Assistant => Role::Assistant,
        ModelRole::User => Role::User,
        ModelRole::System | ModelRole::Developer => Role::System,
    };
    page.outline.record_message(role, Span::new(start, out.len()), content);
}

/// The text that stands for the whole list.
fn single_text<'h>(
    page: &HistoryEncoder<'_, '_>,
    spelling: &BlockEncodeFormat,
    turn: &EncodedTurn<'h, '_>,
) -> Option<&'h JsonText<'h>> {
    let [(at, part)] = turn.parts.as_slice() else { return None };
    let plain = spelling.allows_string
        && page.reusable_origin(*at, part).is_none()
        && part.notes().is_none();
    match part.content() {
        ContentPart::Text(words) if plain => Some(words),
        _ => None,
    }
}

/// The blocks of a turn: answers first, then what they show, then the rest.
fn write_blocks<'h, 'a>(
    page: &mut HistoryEncoder<'h, 'a>,
    spelling: &BlockEncodeFormat,
    turn: &EncodedTurn<'h, 'a>,
    out: &mut String,
) {
    let mut behind = Vec::new();
    let is_answer = |part: &ModelPart<'_>| matches!(part.content(), ContentPart::ToolResult(_));
    for &(at, part) in turn.parts.iter().filter(|(_, part)| is_answer(part)) {
        write_block(page, spelling, at, part, &mut behind, out);
    }
    for shown in behind.drain(..) {
        page.outline.mark_inexact();
        write_comma(out);
        out.push_str(&shown);
    }
    let others = || turn.parts.iter().filter(|(_, part)| !is_answer(part));
    let is_call = |part: &ModelPart<'_>| matches!(part.content(), ContentPart::ToolCall(_));
    // Claude wants the calls at the end of a message. What its own format had in another order stays.
    let free = page.wire == Format::Gemini || turn.origin(page).is_some();
    if free || others().is_sorted_by_key(|(_, part)| is_call(part)) {
        others().for_each(|&(at, part)| write_block(page, spelling, at, part, &mut behind, out));
        return;
    }
    page.record_loss(
        turn.parts[0].0.message,
        LossKind::Order,
        "text behind a call moves before it",
    );
    for wanted in [false, true] {
        let some = others().filter(|(_, part)| is_call(part) == wanted);
        some.for_each(|&(at, part)| write_block(page, spelling, at, part, &mut behind, out));
    }
}

fn write_block<'h, 'a>(
    page: &mut HistoryEncoder<'h, 'a>,
    spelling: &BlockEncodeFormat,
    at: PartIndex,
    part: &'h ModelPart<'a>,
    behind: &mut Vec<String>,
    out: &mut String,
) {
    let mark = part.notes().and_then(|notes| notes.cache_mark);
    write_comma(out);
    let start = out.len();
    if let Some(raw) = page.reusable_origin(at, part) {
        page.outline.mark_inexact();
        write_compact(out, raw.json);
        if let (Some(mark), Some(_)) = (mark, spelling.cache_block) {
            out.push(',');
            write_compact(out, mark);
        }
        return;
    }
    match part.content() {
        ContentPart::Text(text) => {
            (spelling.text)(out, text, mark.is_some());
            page.outline.record_text(Span::new(start, out.len()), text);
        }
        ContentPart::Media(media) => match (spelling.media)(&page.with_valid_name(at, media)) {
            Some(block) => {
                out.push_str(&block);
                if let (Some(_), Format::Anthropic) = (mark, page.wire) {
                    out.pop();
                    out.push_str(super::anthropic::CACHE);
                    out.push('}');
                }
                match media.source {
                    // Told as text by some.
                    MediaSource::Text(_) => page.outline.mark_inexact(),
                    _ => page.outline.record_media(Span::new(start, out.len())),
                }
            }
            None => {
                page.outline.mark_inexact();
                (spelling.text)(out, &page.omitted_media_note(at, media).into(), mark.is_some());
            }
        },
        ContentPart::ToolCall(call) => {
            let Some(entry) = page.identity(at) else { return };
            (spelling.call.0)(out, &entry);
            page.write_arguments_object(out, at, call);
            (spelling.call.1)(out, call, mark.is_some());
            let signed = page.wire == Format::Gemini
                && call.signature.as_ref().is_some_and(|signature| !signature.is_empty());
            let span = Span::new(start, out.len());
            page.outline.record_call(span, &entry, CallFamily::Function, signed);
        }
        ContentPart::ToolResult(answer) => {
            let Some(entry) = page.identity(at) else { return };
            let told = page.encode_result(at, answer, spelling.media_in_result, spelling.media);
            if !told.trailing_blocks.is_empty() {
                let mut head = String::new();
                (spelling.text)(&mut head, &result_media_heading(&entry).into(), false);
                behind.push(head);
                behind.extend(told.trailing_blocks);
            }
            let manner = ResultFlags { error: answer.error, cache: mark.is_some() };
            let content = (spelling.answer)(out, &entry, &told.pieces, manner);
            let empty = matches!(content.of(out), "\"\"" | "[]");
            let named = page.wire == Format::Gemini;
            let told =
                ResultOutline { content, empty, names_tool: named, family: CallFamily::Function };
            page.outline.record_result(Span::new(start, out.len()), &entry, told);
        }
        ContentPart::Reasoning(reasoning) => {
            page.outline.mark_inexact();
            (spelling.reasoning)(out, reasoning);
        }
        // Left out before, unless the format spelled them itself.
        ContentPart::Unknown(_) => {}
    }
    if let (Some(_), Some(block)) = (mark, spelling.cache_block) {
        out.push(',');
        let start = out.len();
        out.push_str(block);
        page.outline.record_other(Span::new(start, out.len()));
    }
}

/// The pieces of an answer as blocks.
pub(super) fn write_pieces(
    out: &mut String,
    pieces: &[ContentPiece<'_>],
    text: impl Fn(&mut String, &JsonText<'_>),
) {
    out.push('[');
    for piece in pieces {
        write_comma(out);
        match piece {
            ContentPiece::Text(words) => text(out, words),
            ContentPiece::Generated(words) => text(out, words),
            ContentPiece::Block(block) => out.push_str(block),
        }
    }
    out.push(']');
}

/// Adds the one text of an answer that says nothing else, or all its blocks.
pub(super) fn write_text_or_blocks(
    out: &mut String,
    pieces: &[ContentPiece<'_>],
    text: impl Fn(&mut String, &JsonText<'_>),
) {
    match pieces {
        [] => out.push_str("\"\""),
        [piece] => match piece.text() {
            Some(words) => words.write(out),
            None => write_pieces(out, pieces, text),
        },
        _ => write_pieces(out, pieces, text),
    }
}

/// The text of a document, under its name.
pub(super) fn titled_document<'t>(name: Option<&str>, text: &'t str) -> Cow<'t, str> {
    match name {
        Some(name) => Cow::Owned(format!("{name}:\n\n{text}")),
        None => Cow::Borrowed(text),
    }
}
