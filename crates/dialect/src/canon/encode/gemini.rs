//! Spells Gemini parts.

use foxwedge_core::Wire;

use super::{
    blocks::{Spelling, document},
    page::Piece,
};
use crate::{
    canon::{Media, Source, ledger::Entry, media::likely_type},
    json::quote,
};

pub(super) const SPELLING: Spelling = Spelling {
    blocks: "parts",
    model: "model",
    strings: false,
    text,
    media,
    // Only newer models take media inside an answer; every model takes it behind.
    media_inside: |_| None,
    call,
    answer,
};

fn text(words: &str) -> String {
    format!("{{\"text\":{}}}", quote(words))
}

fn media(media: &Media<'_>) -> Option<String> {
    let mime = quote(likely_type(media));
    let file = |uri| format!("{{\"fileData\":{{\"mimeType\":{mime},\"fileUri\":{}}}}}", quote(uri));
    Some(match &media.source {
        Source::Data(data) => {
            format!("{{\"inlineData\":{{\"mimeType\":{mime},\"data\":{}}}}}", quote(data))
        }
        Source::Text(words) => text(&document(media.name.as_deref(), words)),
        Source::Url(uri) => file(uri),
        Source::Stored { .. } => file(media.source.stored_for(Wire::Gemini)?),
    })
}

/// The id, where there is one.
fn id(entry: &Entry<'_>) -> String {
    entry.id.as_deref().map(|id| format!("\"id\":{},", quote(id))).unwrap_or_default()
}

fn call(entry: &Entry<'_>, args: &str) -> String {
    let name = quote(&entry.name);
    format!("{{\"functionCall\":{{{}\"name\":{name},\"args\":{args}}}}}", id(entry))
}

fn answer(entry: &Entry<'_>, pieces: &[Piece<'_>], error: bool) -> String {
    let mut words = String::new();
    let mut parts = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                if !words.is_empty() {
                    words.push('\n');
                }
                words.push_str(text);
            }
            // Media that stood inside such an answer before.
            Piece::Block(block) => parts.push(block.as_str()),
        }
    }
    let key = if error { "error" } else { "output" };
    let (id, name, words) = (id(entry), quote(&entry.name), quote(&words));
    let parts = match parts.as_slice() {
        [] => String::new(),
        parts => format!(",\"parts\":[{}]", parts.join(",")),
    };
    format!(
        "{{\"functionResponse\":{{{id}\"name\":{name},\"response\":{{\"{key}\":{words}}}{parts}}}}}"
    )
}
