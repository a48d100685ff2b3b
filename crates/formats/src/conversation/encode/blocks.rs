//! Encodes messages that are lists of blocks, with tool results in user messages.

use std::borrow::Cow;

use foxwedge_core::{CallFamily, ContentShape, Format, Role, Span};
use foxwedge_json::JsonTape;

use super::{
    history_encoder::{ContentPiece, HistoryEncoder, MediaEncoder, result_media_heading},
    json_writer::{write_comma, write_compact, write_string},
    outline::ResultOutline,
    system::is_foreign,
    turns::{EncodedTurn, split_turns},
};
use crate::conversation::{
    ContentPart, JsonText, LossKind, MediaSource, ModelPart, ModelRole, PartIndex, ReasoningPart,
    call_id_map::CallIdentity,
};

/// How one such format encodes its parts.
pub(crate) struct BlockEncodeFormat {
    /// The field that holds the blocks.
    pub(crate) blocks: &'static str,
    /// The name of the model's role.
    pub(crate) model_role: &'static str,
    /// Whether a single text may be written as a string.
    pub(crate) allows_string: bool,
    /// Writes a text block.
    pub(crate) text: fn(&mut String, &JsonText<'_>),
    /// Writes media in a message.
    pub(crate) media: MediaEncoder,
    /// Writes media in a tool result.
    pub(crate) media_in_result: MediaEncoder,
    /// Writes reasoning.
    pub(crate) reasoning: fn(&mut String, &ReasoningPart<'_>),
    /// Writes what comes before and after the arguments object of a call.
    pub(crate) call: CallEncoder,
    /// Writes a tool result, and whether the call failed; returns the span of its content.
    pub(crate) answer: fn(&mut String, &CallIdentity<'_>, &[ContentPiece<'_>], bool) -> Span,
    /// How the end of the cached prompt is marked.
    pub(crate) cache: CacheMarker,
    /// The JSON before and after the list of instructions, as a field of the request.
    pub(crate) instructions: (&'static str, &'static str),
}

/// How a format marks the end of the cached prompt.
pub(crate) enum CacheMarker {
    /// It has no marker.
    Unsupported,
    /// As the last field of a block, which begins like this.
    Field(&'static str),
    /// As a block of its own, which begins like this.
    Block(&'static str),
}

impl CacheMarker {
    /// Adds the marker to the block that ends here.
    fn write_field(&self, out: &mut String, mark: Option<&str>) {
        if let (Some(mark), CacheMarker::Field(field)) = (mark, self) {
            out.pop();
            out.push_str(field);
            write_lifetime(out, mark);
            out.push_str("}}");
        }
    }

    /// Writes the marker after the block that ends here; returns where it is.
    fn write_block(&self, out: &mut String, mark: Option<&str>) -> Option<Span> {
        let (Some(mark), CacheMarker::Block(block)) = (mark, self) else { return None };
        out.push(',');
        let start = out.len();
        out.push_str(block);
        write_lifetime(out, mark);
        out.push_str("}}");
        Some(Span::new(start, out.len()))
    }
}

/// The lifetime of a cache marker, if it has one.
pub(crate) fn cache_lifetime(mark: &str) -> Option<String> {
    let tape = JsonTape::read(mark).ok()?;
    let object = tape.root(mark).object()?;
    let inner = object.object("cachePoint").unwrap_or(object);
    inner.non_empty_text("ttl").map(Cow::into_owned)
}

fn write_lifetime(out: &mut String, mark: &str) {
    if let Some(lifetime) = cache_lifetime(mark) {
        out.push_str(",\"ttl\":");
        write_string(out, &lifetime);
    }
}

/// Writers for what comes before and after the arguments of a call.
pub(crate) type CallEncoder =
    (fn(&mut String, &CallIdentity<'_>), fn(&mut String, &crate::conversation::ToolCallPart<'_>));

/// Writes every turn as a message.
pub(crate) fn write_messages(
    encoder: &mut HistoryEncoder<'_, '_>,
    style: &BlockEncodeFormat,
    out: &mut String,
) {
    for turn in split_turns(encoder) {
        write_comma(out);
        write_message(encoder, style, &turn, out);
    }
}

fn write_message<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
    style: &BlockEncodeFormat,
    turn: &EncodedTurn<'h, 'a>,
    out: &mut String,
) {
    let start = out.len();
    if let Some(original) = turn.whole_message(encoder) {
        encoder.outline.mark_inexact();
        return write_compact(out, original.json);
    }
    let origin = turn.origin(encoder);
    let role = match turn.role {
        ModelRole::Assistant => style.model_role,
        ModelRole::User => "user",
        ModelRole::System | ModelRole::Developer => "system",
    };
    for text in ["{\"role\":\"", role, "\",\"", style.blocks, "\":"] {
        out.push_str(text);
    }
    let content = match single_text(encoder, style, turn) {
        Some(content_text) => {
            let start = out.len();
            content_text.write(out);
            encoder.outline.record_text(Span::new(start, out.len()), content_text);
            ContentShape::Text
        }
        None => {
            out.push('[');
            write_blocks(encoder, style, turn, out);
            out.push(']');
            ContentShape::List
        }
    };
    for member in origin.map(|message| message.members(encoder.wire)).unwrap_or_default() {
        encoder.outline.mark_inexact();
        out.push(',');
        write_compact(out, member);
    }
    out.push('}');
    let role = match turn.role {
        ModelRole::Assistant => Role::Assistant,
        ModelRole::User => Role::User,
        ModelRole::System | ModelRole::Developer => Role::System,
    };
    encoder.outline.record_message(role, Span::new(start, out.len()), content);
}

/// The text that can replace the whole list of blocks.
fn single_text<'h>(
    encoder: &HistoryEncoder<'_, '_>,
    style: &BlockEncodeFormat,
    turn: &EncodedTurn<'h, '_>,
) -> Option<&'h JsonText<'h>> {
    let [(at, part)] = turn.parts.as_slice() else { return None };
    let plain = style.allows_string
        && encoder.reusable_origin(*at, part).is_none()
        && part.notes().is_none();
    match part.content() {
        ContentPart::Text(text) if plain => Some(text),
        _ => None,
    }
}

/// Writes the blocks of a turn: tool results first, then their media, then the rest.
fn write_blocks<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
    style: &BlockEncodeFormat,
    turn: &EncodedTurn<'h, 'a>,
    out: &mut String,
) {
    let mut trailing = Vec::new();
    let is_result = |part: &ModelPart<'_>| matches!(part.content(), ContentPart::ToolResult(_));
    for &(at, part) in turn.parts.iter().filter(|(_, part)| is_result(part)) {
        write_block(encoder, style, at, part, &mut trailing, out);
    }
    // Media of the user behind that of the results would pass for theirs.
    let is_media = |part: &ModelPart<'_>| {
        let ContentPart::Media(media) = part.content() else { return false };
        !matches!(media.source, MediaSource::Text(_))
    };
    let unpaired = || turn.parts.iter().filter(|(_, part)| !is_result(part));
    let leading = match trailing.is_empty() {
        true => 0,
        false => unpaired().take_while(|(_, part)| is_media(part)).count(),
    };
    for &(at, part) in unpaired().take(leading) {
        write_block(encoder, style, at, part, &mut Vec::new(), out);
    }
    for block in trailing.drain(..) {
        encoder.outline.mark_inexact();
        write_comma(out);
        out.push_str(&block);
    }
    let others = || unpaired().skip(leading);
    let is_call = |part: &ModelPart<'_>| matches!(part.content(), ContentPart::ToolCall(_));
    // Claude requires calls at the end of a message. Messages of the own format keep their order.
    let keeps_order = encoder.wire == Format::Gemini || turn.origin(encoder).is_some();
    if keeps_order || others().is_sorted_by_key(|(_, part)| is_call(part)) {
        others().for_each(|&(at, part)| write_block(encoder, style, at, part, &mut trailing, out));
        return;
    }
    encoder.record_loss(
        turn.parts[0].0.message,
        LossKind::Order,
        "text after a call is moved before it",
    );
    for calls in [false, true] {
        let group = others().filter(|(_, part)| is_call(part) == calls);
        group.for_each(|&(at, part)| write_block(encoder, style, at, part, &mut trailing, out));
    }
}

fn write_block<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
    style: &BlockEncodeFormat,
    at: PartIndex,
    part: &'h ModelPart<'a>,
    trailing: &mut Vec<String>,
    out: &mut String,
) {
    let mark = encoder.cache_mark(part);
    write_comma(out);
    let start = out.len();
    if let Some(original) = encoder.reusable_origin(at, part) {
        encoder.outline.mark_inexact();
        write_compact(out, original.json);
        if let (Some(mark), CacheMarker::Block(_)) = (mark, &style.cache) {
            out.push(',');
            write_compact(out, mark);
        }
        return;
    }
    match part.content() {
        ContentPart::Text(text) => {
            (style.text)(out, text);
            style.cache.write_field(out, mark);
            encoder.outline.record_text(Span::new(start, out.len()), text);
        }
        ContentPart::Media(media) => match (style.media)(&encoder.with_valid_name(at, media)) {
            Some(block) => {
                out.push_str(&block);
                style.cache.write_field(out, mark);
                match media.source {
                    // Some formats write this as text.
                    MediaSource::Text(_) => encoder.outline.mark_inexact(),
                    _ => encoder.outline.record_media(Span::new(start, out.len())),
                }
            }
            None => {
                encoder.outline.mark_inexact();
                (style.text)(out, &encoder.omitted_media_note(at, media).into());
                style.cache.write_field(out, mark);
            }
        },
        ContentPart::ToolCall(call) => {
            let Some(identity) = encoder.identity(at) else { return };
            (style.call.0)(out, &identity);
            encoder.write_arguments_object(out, at, call);
            (style.call.1)(out, call);
            style.cache.write_field(out, mark);
            let signed = encoder.wire == Format::Gemini
                && call.signature.as_ref().is_some_and(|signature| !signature.is_empty());
            let span = Span::new(start, out.len());
            encoder.outline.record_call(span, &identity, CallFamily::Function, signed);
        }
        ContentPart::ToolResult(result) => {
            let Some(identity) = encoder.identity(at) else { return };
            let encoded = encoder.encode_result(at, result, style.media_in_result, style.media);
            if !encoded.trailing_blocks.is_empty() {
                let mut head = String::new();
                (style.text)(&mut head, &result_media_heading(&identity).into());
                trailing.push(head);
                trailing.extend(encoded.trailing_blocks);
            }
            let content = (style.answer)(out, &identity, &encoded.pieces, result.error);
            style.cache.write_field(out, mark);
            let empty = matches!(content.of(out), "\"\"" | "[]");
            let names_tool = encoder.wire == Format::Gemini;
            let outline =
                ResultOutline { content, empty, names_tool, family: CallFamily::Function };
            encoder.outline.record_result(Span::new(start, out.len()), &identity, outline);
        }
        ContentPart::Reasoning(reasoning) => {
            encoder.outline.mark_inexact();
            (style.reasoning)(out, reasoning);
        }
        // Already omitted, unless the part is from this format.
        ContentPart::Unknown(_) => {}
    }
    if let Some(span) = style.cache.write_block(out, mark) {
        encoder.outline.record_other(span);
    }
}

/// The instructions field of a request, if there are instructions to write there.
pub(crate) fn encode_instructions(
    encoder: &mut HistoryEncoder<'_, '_>,
    style: &BlockEncodeFormat,
) -> Option<String> {
    if !encoder.target.separate_instructions {
        return None;
    }
    let history = encoder.history;
    let (before, after) = style.instructions;
    let mut out = format!("{before}[");
    let empty = out.len();
    for (index, message) in history.messages.iter().enumerate().take(encoder.leading_instructions) {
        if !is_foreign(encoder, message) {
            break;
        }
        for (part_index, part) in message.parts.iter().enumerate() {
            let at = PartIndex { message: index, part: part_index };
            let mark = encoder.cache_mark(part);
            match (part.content(), encoder.reusable_origin(at, part)) {
                (_, Some(original)) => {
                    write_comma(&mut out);
                    write_compact(&mut out, original.json);
                }
                (ContentPart::Text(text), None) => {
                    if text.trim().is_empty() || !encoder.accepts_part(at, ModelRole::System, part)
                    {
                        continue;
                    }
                    write_comma(&mut out);
                    (style.text)(&mut out, text);
                    style.cache.write_field(&mut out, mark);
                }
                _ => {
                    let note = "instructions must be text in this format";
                    encoder.record_loss(index, LossKind::Instructions, note);
                    continue;
                }
            }
            style.cache.write_block(&mut out, mark);
        }
    }
    if out.len() == empty {
        return None;
    }
    out.push(']');
    out.push_str(after);
    Some(out)
}

/// Writes the parts of a result as blocks.
pub(crate) fn write_pieces(
    out: &mut String,
    pieces: &[ContentPiece<'_>],
    write_text: impl Fn(&mut String, &JsonText<'_>),
) {
    out.push('[');
    for piece in pieces {
        write_comma(out);
        match piece {
            ContentPiece::Text(text) => write_text(out, text),
            ContentPiece::Generated(text) => write_text(out, text),
            ContentPiece::Block(block) => out.push_str(block),
        }
    }
    out.push(']');
}

/// Writes the only text of a result as a string, or all its blocks as a list.
pub(crate) fn write_text_or_blocks(
    out: &mut String,
    pieces: &[ContentPiece<'_>],
    write_text: impl Fn(&mut String, &JsonText<'_>),
) {
    match pieces {
        [] => out.push_str("\"\""),
        [piece] => match piece.text() {
            Some(text) => text.write(out),
            None => write_pieces(out, pieces, write_text),
        },
        _ => write_pieces(out, pieces, write_text),
    }
}
