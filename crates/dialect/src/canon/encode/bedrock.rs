//! Spells Converse blocks.

use foxwedge_core::{Span, Wire};

use super::{
    blocks::{Manner, Spelling, as_blocks, document},
    page::Piece,
    pen::string,
};
use crate::{
    canon::{
        Call, Media, MediaKind, Reasoning, Seal, Source, Words, ledger::Entry, media::format_of,
    },
    json::quote,
};

/// The block behind what is cached.
pub(super) const CACHE: &str = "{\"cachePoint\":{\"type\":\"default\"}}";

pub(super) const SPELLING: Spelling = Spelling {
    blocks: "content",
    model: "assistant",
    strings: false,
    text,
    media,
    media_inside: media,
    reasoning,
    call: (call, called),
    answer,
    mark: Some(CACHE),
};

fn text(out: &mut String, words: &Words<'_>, _: bool) {
    out.push_str("{\"text\":");
    words.write(out);
    out.push('}');
}

fn reasoning(out: &mut String, reasoning: &Reasoning<'_>) {
    out.push_str("{\"reasoningContent\":{");
    match &reasoning.seal {
        Seal::Redacted(data) => {
            out.push_str("\"redactedContent\":");
            data.write(out);
        }
        Seal::Signed(signature) => {
            out.push_str("\"reasoningText\":{\"text\":");
            reasoning.text.write(out);
            out.push_str(",\"signature\":");
            signature.write(out);
            out.push('}');
        }
        Seal::Open | Seal::Encrypted(_) => {
            out.push_str("\"reasoningText\":{\"text\":");
            reasoning.text.write(out);
            out.push('}');
        }
    }
    out.push_str("}}");
}

fn media(media: &Media<'_>) -> Option<String> {
    if let (MediaKind::File, Source::Text(words)) = (media.kind, &media.source) {
        let words = quote(&document(media.name.as_deref(), words));
        return Some(format!("{{\"text\":{words}}}"));
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
pub(super) fn plain(name: Option<&str>) -> String {
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

fn call(out: &mut String, entry: &Entry<'_>) {
    out.push_str("{\"toolUse\":{\"toolUseId\":");
    string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"name\":");
    string(out, &entry.name);
    out.push_str(",\"input\":");
}

fn called(out: &mut String, _: &Call<'_>, _: bool) {
    out.push_str("}}");
}

fn answer(out: &mut String, entry: &Entry<'_>, pieces: &[Piece<'_>], manner: Manner) -> Span {
    out.push_str("{\"toolResult\":{\"toolUseId\":");
    string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"content\":");
    let start = out.len();
    let blank = |piece: &Piece<'_>| piece.words().is_some_and(|words| words.trim().is_empty());
    match (pieces.iter().all(blank), manner.error) {
        (false, _) => as_blocks(out, pieces, |out, words| text(out, words, false)),
        // A failure has to say something.
        (true, true) => out.push_str("[{\"text\":\"(no output)\"}]"),
        (true, false) => out.push_str("[]"),
    }
    let content = Span::new(start, out.len());
    out.push_str(if manner.error { ",\"status\":\"error\"" } else { "" });
    out.push_str("}}");
    content
}
