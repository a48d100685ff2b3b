//! What an Anthropic message says.

use std::borrow::Cow;

use foxwedge_core::{Family, Wire};

use super::{arguments, body, joined, reasoning, speaker, words};
use crate::{
    canon::{Answer, Bit, Call, Citation, Media, MediaKind, Said, Seal, Source},
    json::{Object, Value},
};

const WIRE: Wire = Wire::Anthropic;

pub(super) fn message<'a>(message: &Object<'_, 'a>) -> Option<Said<'a>> {
    let role = speaker(&message.text("role")?)?;
    let parts = body(message.get("content"), WIRE, block);
    Some(Said::read(role, parts, WIRE, message.others(&["role", "content"])))
}

pub(crate) fn block<'a>(block: &Object<'_, 'a>) -> Option<Bit<'a>> {
    Some(match &*block.text("type")? {
        "text" => Bit::Text(words(block.get("text"))?),
        "thinking" => {
            let signature = words(block.get("signature")).filter(|signature| !signature.is_empty());
            reasoning(words(block.get("thinking"))?, signature.map_or(Seal::Open, Seal::Signed))
        }
        "redacted_thinking" => {
            let data = words(block.get("data")).unwrap_or_default();
            reasoning("".into(), Seal::Redacted(data))
        }
        "tool_use" => Bit::Call(Call {
            id: block.word("id"),
            name: block.text("name").unwrap_or_default(),
            family: Family::Function,
            arguments: arguments(block.get("input")),
            signature: None,
        }),
        "tool_result" => Bit::Answer(Answer {
            id: block.word("tool_use_id"),
            name: None,
            family: Family::Function,
            parts: body(block.get("content"), WIRE, self::block),
            error: block.is_true("is_error"),
        }),
        "image" => Bit::Media(media(MediaKind::Image, block)?),
        "document" => Bit::Media(media(MediaKind::File, block)?),
        // What was found is a document with a source.
        "search_result" => Bit::Media(Media {
            kind: MediaKind::File,
            media_type: None,
            source: Source::Text(texts(block.get("content")?)),
            name: block.word("title"),
        }),
        _ => return None,
    })
}

/// The texts of a document in pieces, one below the other.
fn texts<'a>(content: Value<'_, 'a>) -> Cow<'a, str> {
    content
        .text()
        .unwrap_or_else(|| joined(content.list().filter_map(|block| block.object()?.text("text"))))
}

fn media<'a>(kind: MediaKind, block: &Object<'_, 'a>) -> Option<Media<'a>> {
    let source = block.object("source")?;
    let found = match &*source.text("type")? {
        "base64" => Source::Data(source.text("data")?),
        "text" => Source::Text(source.text("data")?),
        "url" => Source::Url(source.text("url")?),
        "content" => Source::Text(texts(source.get("content")?)),
        "file" => Source::Stored { id: source.text("file_id")?, wire: WIRE },
        _ => return None,
    };
    let (media_type, name) = (source.word("media_type"), block.word("title"));
    Some(Media { kind, media_type, source: found, name })
}

pub(super) fn citation<'a>(citation: &Object<'_, 'a>) -> Citation<'a> {
    let text = |keys: &[&str]| words(citation.any(keys));
    Citation {
        url: text(&["url"]),
        title: text(&["title", "document_title"]),
        quote: text(&["cited_text"]),
        span: None,
    }
}
