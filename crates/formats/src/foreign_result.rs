//! Writes the content of a tool result that is written as in another format.

use std::borrow::Cow;

use foxwedge_core::Span;
use foxwedge_json::{
    JsonObject, JsonTape, SpliceWriter, array_elements, compact, field_value, quote,
};

use crate::{
    conversation::{MediaKind, MediaPart, MediaSource},
    splice::{TextBlock, value_as_text},
};

/// Writes the content with the blocks of the own format. What has no such block becomes text.
pub(crate) fn write_foreign_content(
    out: &mut SpliceWriter<'_>,
    content: Span,
    text_block: TextBlock,
    media: fn(&MediaPart<'_>) -> Option<String>,
) {
    let source = out.source;
    let raw = content.of(source);
    if raw.starts_with('"') {
        out.copy(content);
    } else if raw.is_empty() || raw == "null" {
        out.text("\"\"");
    } else if !raw.starts_with('[') {
        out.text(&quote(&value_as_text(source, content)));
    } else {
        out.text("[");
        for (index, element) in array_elements(source, content).into_iter().enumerate() {
            out.text(if index == 0 { "" } else { "," });
            write_element(out, element, text_block, media);
        }
        out.text("]");
    }
}

fn write_element(
    out: &mut SpliceWriter<'_>,
    element: Span,
    (before, behind): TextBlock,
    media: fn(&MediaPart<'_>) -> Option<String>,
) {
    let source = out.source;
    let tape = JsonTape::within(source, element).ok();
    let object = tape.as_ref().and_then(|tape| tape.root(source).object());
    let kind = object.and_then(|block| block.text("type"));
    let is_text = matches!(kind.as_deref(), Some("text" | "input_text" | "output_text"));
    let text = field_value(source, element, "text").filter(|it| it.of(source).starts_with('"'));
    let image = object.and_then(|block| read_image(&block));
    match (text.filter(|_| is_text), image.and_then(|image| media(&image))) {
        (_, Some(block)) => out.text(&block),
        (Some(text), None) => {
            out.text(before);
            out.copy(text);
            out.text(behind);
        }
        (None, None) => {
            out.text(&format!("{before}{}{behind}", quote(&compact(source, element))));
        }
    }
}

/// An image block of Chat, Responses or Anthropic.
fn read_image<'a>(block: &JsonObject<'_, 'a>) -> Option<MediaPart<'a>> {
    let at = |url: Cow<'a, str>| MediaSource::from_url(url);
    let (source, media_type) = match &*block.text("type")? {
        "image_url" => at(block.object("image_url")?.text("url")?),
        "input_image" => at(block.text("image_url")?),
        "image" => {
            let image = block.object("source")?;
            match &*image.text("type")? {
                "base64" => (MediaSource::Data(image.text("data")?), image.text("media_type")),
                "url" => at(image.text("url")?),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(MediaPart { kind: MediaKind::Image, media_type, source, name: None })
}
