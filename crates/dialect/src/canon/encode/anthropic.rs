//! Spells Anthropic blocks.

use foxwedge_core::{Span, Wire};

use super::{
    blocks::{Manner, Spelling, text_or_blocks},
    page::Piece,
    pen::string,
};
use crate::{
    canon::{
        Call, Media, MediaKind, Reasoning, Seal, Source, Words, ledger::Entry, media::format_of,
    },
    json::quote,
};

/// The field that marks a block for caching.
pub(super) const CACHE: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

pub(super) const SPELLING: Spelling = Spelling {
    blocks: "content",
    model: "assistant",
    strings: true,
    text,
    media,
    media_inside: media,
    reasoning,
    call: (call, called),
    answer,
    mark: None,
};

fn text(out: &mut String, words: &Words<'_>, cache: bool) {
    out.push_str("{\"type\":\"text\",\"text\":");
    words.write(out);
    out.push_str(if cache { CACHE } else { "" });
    out.push('}');
}

fn reasoning(out: &mut String, reasoning: &Reasoning<'_>) {
    match &reasoning.seal {
        Seal::Redacted(data) => {
            out.push_str("{\"type\":\"redacted_thinking\",\"data\":");
            data.write(out);
        }
        Seal::Signed(signature) => {
            out.push_str("{\"type\":\"thinking\",\"thinking\":");
            reasoning.text.write(out);
            out.push_str(",\"signature\":");
            signature.write(out);
        }
        Seal::Open | Seal::Encrypted(_) => {
            out.push_str("{\"type\":\"thinking\",\"thinking\":");
            reasoning.text.write(out);
        }
    }
    out.push('}');
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
        source if source.is_inline() => return None,
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

fn call(out: &mut String, entry: &Entry<'_>) {
    out.push_str("{\"type\":\"tool_use\",\"id\":");
    string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"name\":");
    string(out, &entry.name);
    out.push_str(",\"input\":");
}

fn called(out: &mut String, _: &Call<'_>, cache: bool) {
    out.push_str(if cache { CACHE } else { "" });
    out.push('}');
}

fn answer(out: &mut String, entry: &Entry<'_>, pieces: &[Piece<'_>], manner: Manner) -> Span {
    out.push_str("{\"type\":\"tool_result\",\"tool_use_id\":");
    string(out, entry.id.as_deref().unwrap_or(""));
    out.push_str(",\"content\":");
    let start = out.len();
    text_or_blocks(out, pieces, |out, words| text(out, words, false));
    let content = Span::new(start, out.len());
    out.push_str(if manner.error { ",\"is_error\":true" } else { "" });
    out.push_str(if manner.cache { CACHE } else { "" });
    out.push('}');
    content
}
