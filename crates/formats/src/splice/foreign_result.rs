//! Writes the content of a tool result that is written as in another format.

use foxwedge_core::{Format, Span};
use foxwedge_json::{JsonTape, SpliceWriter, array_elements, compact, field_value, quote};

use super::{recoded_result::TextBlock, value_as_text};
use crate::{
    conversation::{ContentPart, MediaPart},
    model::decode::read_block,
};

/// The formats whose results occur in histories of others.
const OTHER_FORMATS: [Format; 3] = [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic];

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
    let part = object.and_then(|it| OTHER_FORMATS.iter().find_map(|of| read_block(&it, *of)));
    let text = field_value(source, element, "text").filter(|it| it.of(source).starts_with('"'));
    let block = match &part {
        Some(ContentPart::Media(part)) => media(part),
        _ => None,
    };
    match (&part, text, block) {
        (_, _, Some(block)) => out.text(&block),
        (Some(ContentPart::Text(_)), Some(text), None) => {
            out.text(before);
            out.copy(text);
            out.text(behind);
        }
        _ => out.text(&format!("{before}{}{behind}", quote(&compact(source, element)))),
    }
}
