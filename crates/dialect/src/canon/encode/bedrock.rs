//! Spells Converse blocks.

use foxwedge_core::Wire;

use super::{
    blocks::{Spelling, as_blocks, document},
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
    strings: false,
    text,
    media,
    media_inside: media,
    call,
    answer,
};

fn text(words: &str) -> String {
    format!("{{\"text\":{}}}", quote(words))
}

fn media(media: &Media<'_>) -> Option<String> {
    if let (MediaKind::File, Source::Text(words)) = (media.kind, &media.source) {
        return Some(text(&document(media.name.as_deref(), words)));
    }
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Video => "video",
        MediaKind::File => "document",
        MediaKind::Audio => return None,
    };
    let format = format_of(media).filter(|format| *format != "json")?;
    let source = match &media.source {
        Source::Data(data) => format!("{{\"bytes\":{}}}", quote(data)),
        source => {
            let uri = quote(source.stored_for(Wire::Bedrock)?);
            format!("{{\"s3Location\":{{\"uri\":{uri}}}}}")
        }
    };
    // Documents have to be named.
    let name = match media.kind {
        MediaKind::File => format!("\"name\":{},", quote(&plain(media.name.as_deref()))),
        _ => String::new(),
    };
    Some(format!("{{\"{kind}\":{{\"format\":\"{format}\",{name}\"source\":{source}}}}}"))
}

/// A name of the characters that Bedrock takes: letters, digits, single spaces, `-()[]`.
fn plain(name: Option<&str>) -> String {
    let mut plain = String::new();
    for character in name.unwrap_or("document").chars() {
        match character {
            c if c.is_ascii_alphanumeric() || "-()[]".contains(c) => plain.push(c),
            _ if plain.ends_with(' ') || plain.is_empty() => {}
            _ => plain.push(' '),
        }
    }
    let plain = plain.trim();
    if plain.is_empty() { "document".to_owned() } else { plain.to_owned() }
}

fn call(entry: &Entry<'_>, input: &str) -> String {
    let (id, name) = (quote(entry.id.as_deref().unwrap_or("")), quote(&entry.name));
    format!("{{\"toolUse\":{{\"toolUseId\":{id},\"name\":{name},\"input\":{input}}}}}")
}

fn answer(entry: &Entry<'_>, pieces: &[Piece<'_>], error: bool) -> String {
    let id = quote(entry.id.as_deref().unwrap_or(""));
    let blank = |piece: &&Piece<'_>| !matches!(piece, Piece::Text(text) if text.trim().is_empty());
    let said = pieces.iter().any(|piece| blank(&piece));
    let content = match (said, error) {
        (true, _) => as_blocks(pieces, text),
        // A failure has to say something.
        (false, true) => vec![text("(no output)")],
        (false, false) => Vec::new(),
    };
    let status = if error { ",\"status\":\"error\"" } else { "" };
    format!("{{\"toolResult\":{{\"toolUseId\":{id},\"content\":{}{status}}}}}", list(&content))
}
