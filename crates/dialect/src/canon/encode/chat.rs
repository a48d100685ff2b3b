//! Writes chat messages: one for each answer, calls beside the text of their message.

use std::borrow::Cow;

use foxwedge_core::{Content, Family, Role, Span, Wire};

use super::{
    Lost,
    blocks::{document, text_or_blocks},
    outline::Told as Written,
    page::{Page, Piece, heading},
    pen::{next, string, tight, tight_into},
    turns::{Turn, turns},
};
use crate::{
    canon::{
        Answer, At, Bit, Call, Form, Media, MediaKind, Part, Source, Speaker, Words,
        media::format_of,
    },
    json::quote,
    outline::is_object,
};

/// Writes every turn.
pub(super) fn messages(page: &mut Page<'_, '_>, out: &mut String) {
    for turn in turns(page) {
        match turn.role {
            Speaker::Assistant => assistant(page, &turn, out),
            Speaker::User | Speaker::System | Speaker::Developer => plain(page, &turn, out),
        }
    }
}

/// The answers of a turn, what they show, and a message with the rest.
fn plain<'h, 'a>(page: &mut Page<'h, 'a>, turn: &Turn<'h, 'a>, out: &mut String) {
    let mut behind = Vec::new();
    let mut pieces = Vec::new();
    for &(at, part) in &turn.parts {
        match (part.bit(), page.spelled(at, part)) {
            (_, Some(raw)) if raw.form == Form::Message => {
                page.outline.give_up();
                next(out);
                tight_into(out, raw.json);
            }
            (Bit::Answer(answer), _) => self::answer(page, at, answer, &mut behind, out),
            (_, Some(raw)) => pieces.push(Piece::Block(tight(raw.json))),
            _ => pieces.extend(piece(page, at, part)),
        }
    }
    if !behind.is_empty() {
        page.outline.give_up();
        next(out);
        out.push_str("{\"role\":\"user\",\"content\":[");
        for block in behind {
            next(out);
            out.push_str(&block);
        }
        out.push_str("]}");
    }
    let origin = turn.origin(page);
    let members = origin.map(|said| said.members(page.wire)).unwrap_or_default();
    if pieces.is_empty() && members.is_empty() {
        return;
    }
    next(out);
    let start = out.len();
    let (role, head) = match turn.role {
        Speaker::System => (Role::System, "{\"role\":\"system\",\"content\":"),
        Speaker::Developer => (Role::Developer, "{\"role\":\"developer\",\"content\":"),
        Speaker::User | Speaker::Assistant => (Role::User, "{\"role\":\"user\",\"content\":"),
    };
    out.push_str(head);
    let content = content(page, out, &pieces, "\"\"");
    for member in members {
        page.outline.give_up();
        out.push(',');
        tight_into(out, member);
    }
    out.push('}');
    page.outline.message(role, Span::new(start, out.len()), content);
}

fn assistant<'h, 'a>(page: &mut Page<'h, 'a>, turn: &Turn<'h, 'a>, out: &mut String) {
    let mut pieces = Vec::with_capacity(turn.parts.len());
    let mut calls: Vec<(At, &Part<'_>)> = Vec::new();
    let mut fields: Vec<Cow<'_, str>> = Vec::new();
    let mut thoughts: Vec<&Words<'_>> = Vec::new();
    // A field of a message stands once, also where several became one.
    let whole = turn.origin(page).is_some();
    for &(at, part) in &turn.parts {
        let spelled = page.spelled(at, part);
        match (part.bit(), spelled.filter(|raw| whole || raw.form != Form::Field)) {
            (_, Some(raw)) if raw.form == Form::Field => fields.push(tight(raw.json)),
            (Bit::Call(_), _) => calls.push((at, part)),
            (_, Some(raw)) => pieces.push(Piece::Block(tight(raw.json))),
            (Bit::Reasoning(reasoning), None) => thoughts.push(&reasoning.text),
            (Bit::Text(_) | Bit::Media(_), None) => {
                if !calls.is_empty() {
                    page.lose(at.message, Lost::Order, "text behind a call moves before it");
                }
                pieces.extend(piece(page, at, part));
            }
            (Bit::Answer(_) | Bit::Other(_), None) => pieces.extend(piece(page, at, part)),
        }
    }
    next(out);
    let start = out.len();
    out.push_str("{\"role\":\"assistant\",\"content\":");
    let origin = turn.origin(page);
    // Beside calls some servers refuse null, and none refuses the empty text.
    let content = content(page, out, &pieces, if origin.is_some() { "null" } else { "\"\"" });
    if !calls.is_empty() {
        out.push_str(",\"tool_calls\":[");
        for (at, part) in calls {
            next(out);
            match (part.bit(), page.spelled(at, part).filter(|raw| raw.form != Form::Field)) {
                (_, Some(raw)) => {
                    page.outline.give_up();
                    tight_into(out, raw.json);
                }
                (Bit::Call(call), None) => self::call(page, at, call, out),
                _ => {}
            }
        }
        out.push(']');
    }
    if !thoughts.is_empty() {
        page.outline.give_up();
        out.push_str(",\"reasoning_content\":\"");
        for (at, words) in thoughts.into_iter().enumerate() {
            out.push_str(if at == 0 { "" } else { "\\n\\n" });
            words.write_inside(out);
        }
        out.push('"');
    }
    let others = origin.map(|said| said.members(page.wire)).unwrap_or_default();
    for member in fields.into_iter().chain(others.iter().map(|member| tight(member))) {
        page.outline.give_up();
        out.push(',');
        out.push_str(&member);
    }
    out.push('}');
    page.outline.message(Role::Assistant, Span::new(start, out.len()), content);
}

/// A lone text is a string, everything else a list.
fn content(page: &mut Page<'_, '_>, out: &mut String, pieces: &[Piece<'_>], none: &str) -> Content {
    let start = out.len();
    match pieces {
        [] => {
            out.push_str(none);
            if none == "null" {
                return Content::Null;
            }
            page.outline.text(Span::new(start, out.len()), &Words::default());
            return Content::Text;
        }
        [piece] if piece.words().is_some() => {
            if let Some(words) = piece.words() {
                words.write(out);
                page.outline.text(Span::new(start, out.len()), words);
            }
            return Content::Text;
        }
        pieces => list(page, out, pieces, text),
    }
    Content::List
}

/// Adds pieces as a list of blocks.
pub(super) fn list(
    page: &mut Page<'_, '_>,
    out: &mut String,
    pieces: &[Piece<'_>],
    text: fn(&mut String, &Words<'_>),
) {
    out.push('[');
    for piece in pieces {
        next(out);
        let start = out.len();
        match (piece, piece.words()) {
            (Piece::Block(block), _) => {
                page.outline.give_up();
                out.push_str(block);
            }
            (_, Some(words)) => {
                text(out, words);
                page.outline.text(Span::new(start, out.len()), words);
            }
            _ => {}
        }
    }
    out.push(']');
}

fn piece<'h>(page: &mut Page<'_, '_>, at: At, part: &'h Part<'_>) -> Option<Piece<'h>> {
    match part.bit() {
        Bit::Text(text) if part.notes().is_some_and(|notes| notes.refusal) => {
            let mut block = String::from("{\"type\":\"refusal\",\"refusal\":");
            text.write(&mut block);
            block.push('}');
            Some(Piece::Block(block.into()))
        }
        Bit::Text(text) => Some(Piece::Text(text)),
        Bit::Media(media) => Some(match self::media(media) {
            Some(block) => Piece::Block(detailed(block, part, "}}").into()),
            None => Piece::Ours(page.left_out(at, media).into()),
        }),
        Bit::Call(_) | Bit::Answer(_) => {
            page.lose(at.message, Lost::Unknown, "a call or an answer stands on the wrong side");
            None
        }
        // Left out before, unless the format spelled them itself.
        Bit::Reasoning(_) | Bit::Other(_) => None,
    }
}

/// A block with how closely its image is to be looked at, before its end.
pub(super) fn detailed(mut block: String, part: &Part<'_>, end: &str) -> String {
    let detail = part.notes().and_then(|notes| notes.detail.as_ref());
    if let Some(detail) = detail.filter(|_| block.contains("image_url")) {
        block.truncate(block.len() - end.len());
        block.push_str(",\"detail\":");
        detail.write(&mut block);
        block.push_str(end);
    }
    block
}

fn text(out: &mut String, words: &Words<'_>) {
    out.push_str("{\"type\":\"text\",\"text\":");
    words.write(out);
    out.push('}');
}

fn block_of(words: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(words))
}

fn call(page: &mut Page<'_, '_>, at: At, call: &Call<'_>, out: &mut String) {
    let Some(entry) = page.ledger.entry(at) else { return };
    let start = out.len();
    out.push_str("{\"id\":");
    string(out, entry.id.as_deref().unwrap_or(""));
    let (kind, input) = match call.is_free_text() {
        true => (",\"type\":\"custom\",\"custom\":{\"name\":", ",\"input\":"),
        false => (",\"type\":\"function\",\"function\":{\"name\":", ",\"arguments\":"),
    };
    out.push_str(kind);
    string(out, &entry.name);
    out.push_str(input);
    as_text(out, call);
    out.push_str("}}");
    page.outline.call(Span::new(start, out.len()), entry, Family::Function, false);
}

/// Adds arguments as a string: JSON without white space, or whatever the model wrote.
pub(super) fn as_text(out: &mut String, call: &Call<'_>) {
    if !call.is_free_text() && call.arguments.is_as_it_reads() && is_object(&call.arguments) {
        return string(out, &tight(&call.arguments));
    }
    call.arguments.write(out);
}

fn answer<'h, 'a>(
    page: &mut Page<'h, 'a>,
    at: At,
    answer: &'h Answer<'a>,
    behind: &mut Vec<String>,
    out: &mut String,
) {
    let Some(entry) = page.entry(at) else { return };
    page.unmarked(at, answer);
    let told = page.tell(at, answer, |_| None, media);
    if !told.behind.is_empty() {
        behind.push(block_of(&heading(&entry)));
        behind.extend(told.behind);
    }
    next(out);
    let start = out.len();
    out.push_str("{\"role\":\"tool\",\"tool_call_id\":");
    string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"content\":");
    let inside = out.len();
    text_or_blocks(out, &told.pieces, text);
    let content = Span::new(inside, out.len());
    out.push('}');
    let span = Span::new(start, out.len());
    let says = |piece: &Piece<'_>| piece.words().is_none_or(|words| !words.is_empty());
    if told.pieces.iter().any(|piece| matches!(piece, Piece::Block(_))) {
        page.outline.give_up();
    }
    let empty = !told.pieces.iter().any(says);
    let family = Family::Function;
    page.outline.answer(span, &entry, Written { content, empty, named: false, family });
    let list = content.of(out).starts_with('[');
    let content = if list { Content::List } else { Content::Text };
    page.outline.message(Role::Answer, span, content);
}

fn media(media: &Media<'_>) -> Option<String> {
    let data_url = |data: &str| {
        let name = media.media_type.as_deref().unwrap_or(match media.kind {
            MediaKind::Image => "image/png",
            _ => "application/octet-stream",
        });
        format!("data:{name};base64,{data}")
    };
    Some(match (media.kind, &media.source) {
        (_, Source::Text(words)) => block_of(&document(media.name.as_deref(), words)),
        (MediaKind::Image, Source::Data(data)) => image(&data_url(data)),
        (MediaKind::Image, Source::Url(url)) => image(url),
        (MediaKind::Audio, Source::Data(data)) => {
            let format = format_of(media).filter(|format| matches!(*format, "wav" | "mp3"))?;
            let data = quote(data);
            format!(
                "{{\"type\":\"input_audio\",\"input_audio\":{{\"data\":{data},\"format\":\"{format}\"}}}}"
            )
        }
        (MediaKind::File, Source::Data(data)) => {
            let name = quote(media.name.as_deref().unwrap_or("file"));
            let data = quote(&data_url(data));
            format!("{{\"type\":\"file\",\"file\":{{\"filename\":{name},\"file_data\":{data}}}}}")
        }
        (MediaKind::File, source) => {
            let id = quote(source.stored_for(Wire::OpenaiChat)?);
            format!("{{\"type\":\"file\",\"file\":{{\"file_id\":{id}}}}}")
        }
        (MediaKind::Image | MediaKind::Audio | MediaKind::Video, _) => return None,
    })
}

fn image(url: &str) -> String {
    format!("{{\"type\":\"image_url\",\"image_url\":{{\"url\":{}}}}}", quote(url))
}
