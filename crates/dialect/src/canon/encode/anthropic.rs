//! Spells Anthropic blocks.

use foxwedge_core::Wire;

use super::{
    blocks::{Spelling, as_blocks, lone_text},
    list,
    page::Piece,
};
use crate::{
    canon::{Media, MediaKind, Source, ledger::Entry, media::format_of},
    json::quote,
};

pub(super) const SPELLING: Spelling = Spelling {
    blocks: "content",
    model: "assistant",
    strings: true,
    text,
    media,
    media_inside: media,
    call,
    answer,
};

fn text(words: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(words))
}

fn media(media: &Media<'_>) -> Option<String> {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::File => "document",
        MediaKind::Audio | MediaKind::Video => return None,
    };
    let source = match &media.source {
        Source::Data(data) => {
            let readable = match media.kind {
                MediaKind::Image => format_of(media).is_some(),
                _ => media.media_type.as_deref() == Some("application/pdf"),
            };
            let name = media.media_type.as_deref().filter(|_| readable)?;
            format!(
                "{{\"type\":\"base64\",\"media_type\":{},\"data\":{}}}",
                quote(name),
                quote(data)
            )
        }
        Source::Text(text) if media.kind == MediaKind::File => {
            let data = quote(text);
            format!("{{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":{data}}}")
        }
        Source::Url(url) => format!("{{\"type\":\"url\",\"url\":{}}}", quote(url)),
        Source::Text(_) | Source::Stored { .. } => {
            let id = quote(media.source.stored_for(Wire::Anthropic)?);
            format!("{{\"type\":\"file\",\"file_id\":{id}}}")
        }
    };
    let title = match &media.name {
        Some(name) if media.kind == MediaKind::File => format!(",\"title\":{}", quote(name)),
        _ => String::new(),
    };
    Some(format!("{{\"type\":\"{kind}\",\"source\":{source}{title}}}"))
}

fn call(entry: &Entry<'_>, input: &str) -> String {
    let (id, name) = (quote(entry.id.as_deref().unwrap_or("")), quote(&entry.name));
    format!("{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}")
}

fn answer(entry: &Entry<'_>, pieces: &[Piece<'_>], error: bool) -> String {
    let id = quote(entry.id.as_deref().unwrap_or(""));
    let content = match lone_text(pieces) {
        Some(text) => quote(text),
        None => list(&as_blocks(pieces, text)),
    };
    let error = if error { ",\"is_error\":true" } else { "" };
    format!("{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":{content}{error}}}")
}
