//! Writes Responses items: one flat list, each call and each answer an item of its own.

use foxwedge_core::{Family, Wire};

use super::{
    blocks::{as_blocks, document, lone_text},
    chat::as_text,
    list,
    page::{Page, Piece, tight},
};
use crate::{
    canon::{Answer, At, Bit, Call, Form, Media, MediaKind, Said, Source, Speaker, ledger::Entry},
    json::quote,
};

/// Writes every message as one or more items. Answers may stand anywhere behind their calls, so
/// the order is the history's.
pub(super) fn items(page: &mut Page<'_, '_>) -> Vec<String> {
    let mut out = Vec::new();
    let history = page.history;
    for (index, said) in history.messages.iter().enumerate() {
        let mut pieces = Vec::new();
        for (part, one) in said.parts.iter().enumerate() {
            let at = At { message: index, part };
            if !page.takes(at, said.role, one) {
                continue;
            }
            let spelled = page.spelled(at, one);
            let item = match (one.bit(), spelled) {
                (_, Some(raw)) if raw.form == Form::Message => Some(tight(raw.json).into_owned()),
                (Bit::Call(call), _) => page.entry(at).map(|entry| self::call(&entry, call)),
                (Bit::Answer(answer), _) => self::answer(page, at, answer),
                (_, Some(raw)) => {
                    pieces.push(Piece::Block(tight(raw.json).into_owned()));
                    continue;
                }
                (Bit::Text(text), None) => {
                    pieces.push(Piece::Text(text.as_ref().into()));
                    continue;
                }
                (Bit::Media(media), None) => {
                    pieces.push(match self::media(media) {
                        Some(block) => Piece::Block(block),
                        None => Piece::Text(page.left_out(at, media).into()),
                    });
                    continue;
                }
                (Bit::Reasoning(_) | Bit::Other(_), None) => None,
            };
            // What was said before stands before.
            out.extend(message(said, &std::mem::take(&mut pieces)));
            out.extend(item);
        }
        out.extend(message(said, &pieces));
    }
    out
}

fn message(said: &Said<'_>, pieces: &[Piece<'_>]) -> Option<String> {
    let members = said.members(Wire::OpenaiResponses);
    if pieces.is_empty() && members.is_empty() {
        return None;
    }
    let role = match said.role {
        Speaker::System => "system",
        Speaker::Developer => "developer",
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
    };
    let content = match pieces {
        // As it was: a string.
        [Piece::Text(text)] if said.wire() == Some(Wire::OpenaiResponses) => quote(text),
        pieces if said.role == Speaker::Assistant => list(&as_blocks(pieces, output_text)),
        pieces => list(&as_blocks(pieces, input_text)),
    };
    let mut out = format!("{{\"type\":\"message\",\"role\":\"{role}\",\"content\":{content}");
    for member in members {
        out.push(',');
        out.push_str(&tight(member));
    }
    out.push('}');
    Some(out)
}

fn input_text(words: &str) -> String {
    format!("{{\"type\":\"input_text\",\"text\":{}}}", quote(words))
}

fn output_text(words: &str) -> String {
    format!("{{\"type\":\"output_text\",\"text\":{}}}", quote(words))
}

fn call(entry: &Entry<'_>, call: &Call<'_>) -> String {
    let (id, name) = (quote(entry.id.as_deref().unwrap_or("")), quote(&entry.name));
    let (kind, key) = match entry.family {
        Family::Custom => ("custom_tool_call", "input"),
        // A built-in tool without its own answer is told as a function.
        _ => ("function_call", "arguments"),
    };
    let input = quote(&as_text(call));
    format!("{{\"type\":\"{kind}\",\"call_id\":{id},\"name\":{name},\"{key}\":{input}}}")
}

fn answer(page: &mut Page<'_, '_>, at: At, answer: &Answer<'_>) -> Option<String> {
    let entry = page.entry(at)?;
    page.unmarked(at, answer);
    let told = page.tell(at, answer, media, |_| None);
    let kind = match entry.family {
        Family::Custom => "custom_tool_call_output",
        _ => "function_call_output",
    };
    let output = match lone_text(&told.pieces) {
        Some(text) => quote(text),
        None => list(&as_blocks(&told.pieces, input_text)),
    };
    let id = quote(entry.id.as_deref().unwrap_or(""));
    Some(format!("{{\"type\":\"{kind}\",\"call_id\":{id},\"output\":{output}}}"))
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
        (_, Source::Text(words)) => input_text(&document(name, words)),
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
