//! Writes Responses items: one flat list, each call and each answer an item of its own.

use std::fmt::Write as _;

use foxwedge_core::{Content, Family, Role, Span, Wire};

use super::{
    blocks::{document, text_or_blocks},
    chat::{as_text, detailed, list},
    outline::Told as Written,
    page::{Page, Piece},
    pen::{next, string, tight, tight_into},
};
use crate::{
    canon::{Answer, At, Bit, Call, Form, Media, MediaKind, Said, Source, Speaker, Words},
    json::quote,
};

/// Writes every message as one or more items. Answers may stand anywhere behind their calls, so
/// the order is the history's.
pub(super) fn items(page: &mut Page<'_, '_>, out: &mut String) {
    let history = page.history;
    for (index, said) in history.messages.iter().enumerate() {
        page.fields(index, said);
        let mut pieces = Vec::new();
        for (part, one) in said.parts.iter().enumerate() {
            let at = At { message: index, part };
            if !page.takes(at, said.role, one) {
                continue;
            }
            match (one.bit(), page.spelled(at, one)) {
                (_, Some(raw)) if raw.form != Form::Message => {
                    pieces.push(Piece::Block(tight(raw.json)));
                    continue;
                }
                (Bit::Text(text), None) if one.notes().is_some_and(|notes| notes.refusal) => {
                    let mut block = String::from("{\"type\":\"refusal\",\"refusal\":");
                    text.write(&mut block);
                    block.push('}');
                    pieces.push(Piece::Block(block.into()));
                    continue;
                }
                // Beside something else it says nothing.
                (Bit::Text(text), None) if text.is_empty() && said.parts.len() > 1 => continue,
                (Bit::Text(text), None) => {
                    pieces.push(Piece::Text(text));
                    continue;
                }
                (Bit::Media(media), None) => {
                    pieces.push(match self::media(media) {
                        Some(block) => Piece::Block(detailed(block, one, "}").into()),
                        None => Piece::Ours(page.left_out(at, media).into()),
                    });
                    continue;
                }
                _ => {}
            }
            // What was said before stands before.
            message(page, said, &pieces, out);
            pieces.clear();
            match (one.bit(), page.spelled(at, one)) {
                (_, Some(raw)) => {
                    page.outline.give_up();
                    next(out);
                    tight_into(out, raw.json);
                }
                (Bit::Call(call), None) => self::call(page, at, call, out),
                (Bit::Answer(answer), None) => self::answer(page, at, answer, out),
                (Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Other(_), None) => {}
            }
        }
        message(page, said, &pieces, out);
    }
}

fn message(page: &mut Page<'_, '_>, said: &Said<'_>, pieces: &[Piece<'_>], out: &mut String) {
    let members = said.members(Wire::OpenaiResponses);
    if pieces.is_empty() && members.is_empty() {
        return;
    }
    next(out);
    let start = out.len();
    out.push_str(match said.role {
        Speaker::System => "{\"type\":\"message\",\"role\":\"system\",\"content\":",
        Speaker::Developer => "{\"type\":\"message\",\"role\":\"developer\",\"content\":",
        Speaker::User => "{\"type\":\"message\",\"role\":\"user\",\"content\":",
        Speaker::Assistant => "{\"type\":\"message\",\"role\":\"assistant\",\"content\":",
    });
    let own = said.wire() == Some(Wire::OpenaiResponses);
    let mut content = Content::List;
    match pieces {
        // As it was: a string.
        [Piece::Text(text)] if own => {
            page.outline.give_up();
            text.write(out);
            content = Content::Text;
        }
        // What the model said in one text: OpenAI's own types take a string without more around it.
        [Piece::Text(text)] if said.role == Speaker::Assistant => {
            let from = out.len();
            text.write(out);
            page.outline.text(Span::new(from, out.len()), text);
            content = Content::Text;
        }
        pieces => {
            let text = match said.role {
                Speaker::Assistant if own => own_text,
                Speaker::Assistant => output_text,
                Speaker::System | Speaker::Developer | Speaker::User => input_text,
            };
            list(page, out, pieces, text);
        }
    }
    // A list of the model's texts is an item of a response, with an id and a status.
    if said.role == Speaker::Assistant && content == Content::List && !own {
        page.outline.give_up();
        let _ = write!(out, ",\"id\":\"msg_{start:024x}\",\"status\":\"completed\"");
    }
    for member in members {
        page.outline.give_up();
        out.push(',');
        tight_into(out, member);
    }
    out.push('}');
    let role = match said.role {
        Speaker::System => Role::System,
        Speaker::Developer => Role::Developer,
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
    };
    page.outline.message(role, Span::new(start, out.len()), content);
}

fn input_text(out: &mut String, words: &Words<'_>) {
    out.push_str("{\"type\":\"input_text\",\"text\":");
    words.write(out);
    out.push('}');
}

/// A text of the format's own, as it was.
fn own_text(out: &mut String, words: &Words<'_>) {
    out.push_str("{\"type\":\"output_text\",\"text\":");
    words.write(out);
    out.push('}');
}

fn output_text(out: &mut String, words: &Words<'_>) {
    out.push_str("{\"type\":\"output_text\",\"text\":");
    words.write(out);
    out.push_str(",\"annotations\":[]}");
}

fn call(page: &mut Page<'_, '_>, at: At, call: &Call<'_>, out: &mut String) {
    let Some(entry) = page.ledger.entry(at) else { return };
    next(out);
    let start = out.len();
    let (kind, input) = match entry.family {
        Family::Custom => ("{\"type\":\"custom_tool_call\",\"call_id\":", ",\"input\":"),
        // A built-in tool without its own answer is told as a function.
        _ => ("{\"type\":\"function_call\",\"call_id\":", ",\"arguments\":"),
    };
    out.push_str(kind);
    string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"name\":");
    string(out, &entry.name);
    out.push_str(input);
    as_text(out, call);
    out.push('}');
    let span = Span::new(start, out.len());
    page.outline.call(span, entry, plain(entry.family), false);
    page.outline.message(Role::Assistant, span, Content::Absent);
}

/// The kind of tool as which a call is written.
fn plain(family: Family) -> Family {
    match family {
        Family::Custom => Family::Custom,
        _ => Family::Function,
    }
}

fn answer<'h, 'a>(page: &mut Page<'h, 'a>, at: At, answer: &'h Answer<'a>, out: &mut String) {
    let Some(entry) = page.entry(at) else { return };
    page.unmarked(at, answer);
    let told = page.tell(at, answer, media, |_| None);
    next(out);
    let start = out.len();
    out.push_str(match entry.family {
        Family::Custom => "{\"type\":\"custom_tool_call_output\",\"call_id\":",
        _ => "{\"type\":\"function_call_output\",\"call_id\":",
    });
    string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"output\":");
    let inside = out.len();
    text_or_blocks(out, &told.pieces, input_text);
    let content = Span::new(inside, out.len());
    out.push('}');
    let span = Span::new(start, out.len());
    let empty = matches!(content.of(out), "\"\"" | "[]");
    let family = plain(entry.family);
    page.outline.answer(span, &entry, Written { content, empty, named: false, family });
    page.outline.message(Role::Answer, span, Content::Absent);
}

fn media(media: &Media<'_>) -> Option<String> {
    let stored = |key: &str| {
        let id = quote(media.source.stored_for(Wire::OpenaiResponses)?);
        Some(format!("{{\"type\":\"{key}\",\"file_id\":{id}}}"))
    };
    let data_url = |data: &str, other: &str| {
        let name = media.media_type.as_deref().unwrap_or(other);
        quote(&format!("data:{name};base64,{data}"))
    };
    let name = media.name.as_deref();
    Some(match (media.kind, &media.source) {
        (_, Source::Text(words)) => {
            format!("{{\"type\":\"input_text\",\"text\":{}}}", quote(&document(name, words)))
        }
        (MediaKind::Image, Source::Data(data)) => {
            format!("{{\"type\":\"input_image\",\"image_url\":{}}}", data_url(data, "image/png"))
        }
        (MediaKind::Image, Source::Url(url)) => {
            format!("{{\"type\":\"input_image\",\"image_url\":{}}}", quote(url))
        }
        (MediaKind::Image, Source::Stored { .. }) => stored("input_image")?,
        (MediaKind::File, Source::Data(data)) => {
            let name = quote(name.unwrap_or("file"));
            let data = data_url(data, "application/octet-stream");
            format!("{{\"type\":\"input_file\",\"filename\":{name},\"file_data\":{data}}}")
        }
        (MediaKind::File, Source::Url(url)) => {
            format!("{{\"type\":\"input_file\",\"file_url\":{}}}", quote(url))
        }
        (MediaKind::File, Source::Stored { .. }) => stored("input_file")?,
        (MediaKind::Audio | MediaKind::Video, _) => return None,
    })
}
