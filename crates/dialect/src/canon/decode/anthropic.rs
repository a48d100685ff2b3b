//! What an Anthropic message says.

use foxwedge_core::{Family, Wire};

use super::{arguments, body, reasoning, speaker};
use crate::canon::{Answer, Bit, Call, Media, MediaKind, Said, Source, view::Object};

const WIRE: Wire = Wire::Anthropic;

pub(super) fn message<'a>(message: &Object<'a>) -> Option<Said<'a>> {
    let role = speaker(&message.text("role")?)?;
    let parts = body(message.get("content"), WIRE, block);
    Some(Said::read(role, parts, WIRE, message.others(&["role", "content"])))
}

pub(super) fn block<'a>(block: &Object<'a>) -> Option<Bit<'a>> {
    Some(match &*block.text("type")? {
        "text" => Bit::Text(block.text("text")?),
        "thinking" => reasoning(block.text("thinking")?, block.word("signature").is_some()),
        "redacted_thinking" => reasoning("".into(), true),
        "tool_use" => Bit::Call(Call {
            id: block.word("id"),
            name: block.text("name").unwrap_or_default(),
            family: Family::Function,
            arguments: arguments(block.get("input")),
        }),
        "tool_result" => Bit::Answer(Answer {
            id: block.word("tool_use_id"),
            name: None,
            parts: body(block.get("content"), WIRE, self::block),
            error: block.is_true("is_error"),
        }),
        "image" => Bit::Media(media(MediaKind::Image, block)?),
        "document" => Bit::Media(media(MediaKind::File, block)?),
        _ => return None,
    })
}

fn media<'a>(kind: MediaKind, block: &Object<'a>) -> Option<Media<'a>> {
    let source = block.object("source")?;
    let found = match &*source.text("type")? {
        "base64" => Source::Data(source.text("data")?),
        "text" => Source::Text(source.text("data")?),
        "url" => Source::Url(source.text("url")?),
        "file" => Source::Stored { id: source.text("file_id")?, wire: WIRE },
        _ => return None,
    };
    let (media_type, name) = (source.word("media_type"), block.word("title"));
    Some(Media { kind, media_type, source: found, name })
}
