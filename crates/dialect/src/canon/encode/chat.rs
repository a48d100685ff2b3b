//! Writes chat messages: one for each answer, calls beside the text of their message.

use std::borrow::Cow;

use foxwedge_core::Wire;

use super::{
    Lost,
    blocks::document,
    list,
    page::{Page, Piece, heading, tight},
    turns::{Turn, turns},
};
use crate::{
    canon::{
        Answer, At, Bit, Call, Form, Media, MediaKind, Part, Source, Speaker, media::format_of,
    },
    json::quote,
    outline::is_object,
};

/// Writes every turn.
pub(super) fn messages(page: &mut Page<'_, '_>) -> Vec<String> {
    let mut out = Vec::new();
    for turn in turns(page) {
        match turn.role {
            Speaker::Assistant => out.push(assistant(page, &turn)),
            Speaker::User | Speaker::System | Speaker::Developer => plain(page, &turn, &mut out),
        }
    }
    out
}

/// The answers of a turn, what they show, and a message with the rest.
fn plain(page: &mut Page<'_, '_>, turn: &Turn<'_, '_>, out: &mut Vec<String>) {
    let mut behind = Vec::new();
    let mut pieces = Vec::new();
    for &(at, part) in &turn.parts {
        match (part.bit(), page.spelled(at, part)) {
            (_, Some(raw)) if raw.form == Form::Message => out.push(tight(raw.json).into_owned()),
            (Bit::Answer(answer), _) => out.extend(self::answer(page, at, answer, &mut behind)),
            (_, Some(raw)) => pieces.push(Piece::Block(tight(raw.json).into_owned())),
            _ => pieces.extend(piece(page, at, part)),
        }
    }
    if !behind.is_empty() {
        out.push(format!("{{\"role\":\"user\",\"content\":{}}}", list(&behind)));
    }
    let origin = turn.origin(page);
    let members = origin.map(|said| said.members(page.wire)).unwrap_or_default();
    if pieces.is_empty() && members.is_empty() {
        return;
    }
    let role = match turn.role {
        Speaker::System => "system",
        Speaker::Developer => "developer",
        Speaker::User | Speaker::Assistant => "user",
    };
    let content = content(&pieces).unwrap_or_else(|| "\"\"".to_owned());
    let mut message = format!("{{\"role\":\"{role}\",\"content\":{content}");
    for member in members {
        message.push(',');
        message.push_str(&tight(member));
    }
    message.push('}');
    out.push(message);
}

fn assistant(page: &mut Page<'_, '_>, turn: &Turn<'_, '_>) -> String {
    let mut pieces = Vec::new();
    let mut calls = Vec::new();
    let mut members: Vec<String> = Vec::new();
    for &(at, part) in &turn.parts {
        let spelled = page.spelled(at, part);
        match (part.bit(), spelled) {
            (_, Some(raw)) if raw.form == Form::Field => members.push(tight(raw.json).into_owned()),
            (Bit::Call(_), Some(raw)) => calls.push(tight(raw.json).into_owned()),
            (Bit::Call(call), None) => calls.extend(self::call(page, at, call)),
            (_, Some(raw)) => pieces.push(Piece::Block(tight(raw.json).into_owned())),
            (Bit::Text(_) | Bit::Media(_), None) => {
                if !calls.is_empty() {
                    page.lose(at.message, Lost::Order, "text behind a call moves before it");
                }
                pieces.extend(piece(page, at, part));
            }
            (Bit::Answer(_) | Bit::Reasoning(_) | Bit::Other(_), None) => {
                pieces.extend(piece(page, at, part));
            }
        }
    }
    let origin = turn.origin(page);
    let others = origin.map(|said| said.members(page.wire)).unwrap_or_default();
    members.extend(others.iter().map(|member| tight(member).into_owned()));
    if !calls.is_empty() {
        members.insert(0, format!("\"tool_calls\":{}", list(&calls)));
    }
    let content = content(&pieces).unwrap_or_else(|| "null".to_owned());
    members.insert(0, format!("\"role\":\"assistant\",\"content\":{content}"));
    format!("{{{}}}", members.join(","))
}

/// A lone text is a string, everything else a list.
fn content(pieces: &[Piece<'_>]) -> Option<String> {
    match pieces {
        [] => None,
        [Piece::Text(text)] => Some(quote(text)),
        pieces => Some(list(&super::blocks::as_blocks(pieces, text))),
    }
}

fn piece<'h>(page: &mut Page<'_, '_>, at: At, part: &'h Part<'_>) -> Option<Piece<'h>> {
    match part.bit() {
        Bit::Text(text) => Some(Piece::Text(text.as_ref().into())),
        Bit::Media(media) => Some(match self::media(media) {
            Some(block) => Piece::Block(block),
            None => Piece::Text(page.left_out(at, media).into()),
        }),
        Bit::Call(_) | Bit::Answer(_) => {
            page.lose(at.message, Lost::Unknown, "a call or an answer stands on the wrong side");
            None
        }
        // Left out before, unless the format spelled them itself.
        Bit::Reasoning(_) | Bit::Other(_) => None,
    }
}

fn text(words: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(words))
}

fn call(page: &Page<'_, '_>, at: At, call: &Call<'_>) -> Option<String> {
    let entry = page.entry(at)?;
    let (id, name) = (quote(entry.id.as_deref().unwrap_or("")), quote(&entry.name));
    let input = quote(&as_text(call));
    Some(if call.is_free_text() {
        format!(
            "{{\"id\":{id},\"type\":\"custom\",\"custom\":{{\"name\":{name},\"input\":{input}}}}}"
        )
    } else {
        format!(
            "{{\"id\":{id},\"type\":\"function\",\"function\":{{\"name\":{name},\"arguments\":{input}}}}}"
        )
    })
}

/// Arguments as the inside of a string: JSON without white space, or whatever the model wrote.
pub(super) fn as_text<'c>(call: &'c Call<'_>) -> Cow<'c, str> {
    if !call.is_free_text() && is_object(&call.arguments) {
        return tight(&call.arguments);
    }
    Cow::Borrowed(&*call.arguments)
}

fn answer(
    page: &mut Page<'_, '_>,
    at: At,
    answer: &Answer<'_>,
    behind: &mut Vec<String>,
) -> Option<String> {
    let entry = page.entry(at)?;
    page.unmarked(at, answer);
    let told = page.tell(at, answer, |_| None, media);
    if !told.behind.is_empty() {
        behind.push(text(&heading(&entry)));
        behind.extend(told.behind);
    }
    let id = quote(entry.id.as_deref().unwrap_or(""));
    let content = content(&told.pieces).unwrap_or_else(|| "\"\"".to_owned());
    Some(format!("{{\"role\":\"tool\",\"tool_call_id\":{id},\"content\":{content}}}"))
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
        (_, Source::Text(words)) => text(&document(media.name.as_deref(), words)),
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
