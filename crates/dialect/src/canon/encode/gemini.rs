//! Spells Gemini parts.

use foxwedge_core::{Span, Wire};

use super::{
    blocks::{Manner, Spelling, document},
    page::Piece,
    pen::{next, string},
};
use crate::{
    canon::{Call, Media, Reasoning, Seal, Source, Words, ledger::Entry, media::likely_type},
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
    reasoning,
    call: (call, called),
    answer,
    mark: None,
};

fn text(out: &mut String, words: &Words<'_>, _: bool) {
    out.push_str("{\"text\":");
    words.write(out);
    out.push('}');
}

fn media(media: &Media<'_>) -> Option<String> {
    let mime = quote(likely_type(media));
    let file = |uri| format!("{{\"fileData\":{{\"mimeType\":{mime},\"fileUri\":{}}}}}", quote(uri));
    Some(match &media.source {
        Source::Data(data) => {
            format!("{{\"inlineData\":{{\"mimeType\":{mime},\"data\":{}}}}}", quote(data))
        }
        Source::Text(words) => {
            format!("{{\"text\":{}}}", quote(&document(media.name.as_deref(), words)))
        }
        source if source.is_inline() => return None,
        Source::Url(uri) => file(uri),
        Source::Stored { .. } => file(media.source.stored_for(Wire::Gemini)?),
    })
}

fn reasoning(out: &mut String, reasoning: &Reasoning<'_>) {
    out.push_str("{\"text\":");
    reasoning.text.write(out);
    out.push_str(",\"thought\":true");
    if let Seal::Signed(signature) = &reasoning.seal {
        out.push_str(",\"thoughtSignature\":");
        signature.write(out);
    }
    out.push('}');
}

/// The id, where there is one, and the name.
fn named(out: &mut String, entry: &Entry<'_>) {
    if let Some(id) = &entry.id {
        out.push_str("\"id\":");
        string(out, id);
        out.push(',');
    }
    out.push_str("\"name\":");
    string(out, &entry.name);
}

fn call(out: &mut String, entry: &Entry<'_>) {
    out.push_str("{\"functionCall\":{");
    named(out, entry);
    out.push_str(",\"args\":");
}

fn called(out: &mut String, call: &Call<'_>, _: bool) {
    out.push('}');
    if let Some(signature) = &call.signature {
        out.push_str(",\"thoughtSignature\":");
        signature.write(out);
    }
    out.push('}');
}

fn answer(out: &mut String, entry: &Entry<'_>, pieces: &[Piece<'_>], manner: Manner) -> Span {
    out.push_str("{\"functionResponse\":{");
    named(out, entry);
    out.push_str(",\"response\":");
    let start = out.len();
    out.push_str(if manner.error { "{\"error\":\"" } else { "{\"output\":\"" });
    for (at, words) in pieces.iter().filter_map(Piece::words).enumerate() {
        out.push_str(if at == 0 { "" } else { "\\n" });
        words.write_inside(out);
    }
    out.push_str("\"}");
    let content = Span::new(start, out.len());
    // Media that stood inside such an answer before.
    let blocks = || {
        pieces.iter().filter_map(|piece| match piece {
            Piece::Block(block) => Some(block),
            Piece::Text(_) | Piece::Ours(_) => None,
        })
    };
    if blocks().next().is_some() {
        out.push_str(",\"parts\":[");
        for block in blocks() {
            next(out);
            out.push_str(block);
        }
        out.push(']');
    }
    out.push_str("}}");
    content
}
