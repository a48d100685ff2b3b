//! Writes Converse blocks.

use foxwedge_core::{DraftAnswer, PartKind, PartPatch, Span};

use crate::splice::{
    ArgumentsEncoding, BlockSpliceFormat, ElementQuoting, encode_arguments, recode_result,
    value_as_text,
};
use foxwedge_json::{FieldChange, FieldChanges};
use foxwedge_json::{compact, field_value, object_fields, quote};

/// How Bedrock Converse messages are written.
pub(crate) const SPLICE_FORMAT: BlockSpliceFormat = BlockSpliceFormat {
    parts: "content",
    assistant: "assistant",
    text: ("{\"text\":", "}"),
    changes,
    answer: new_result,
    repeated: None,
    extra_media: |_, _| Vec::new(),
    element: quote_element,
};

fn changes(
    source: &str,
    block: Span,
    patch: &PartPatch<'_>,
    kind: &PartKind<'_>,
) -> FieldChanges<'static> {
    let is_result = matches!(kind, PartKind::Answer(_));
    let outer = if is_result { "toolResult" } else { "toolUse" };
    let mut nested: FieldChanges<'static> = Vec::new();
    nested.extend(patch.new_id(kind).map(|id| ("toolUseId", FieldChange::Text(quote(id)))));
    nested.extend(patch.new_name(kind).map(|name| ("name", FieldChange::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let value =
            field_value(source, block, outer).and_then(|call| field_value(source, call, "input"));
        nested.push((
            "input",
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Object)),
        ));
    }
    let content = |text| format!("[{{\"text\":{}}}]", quote(text));
    nested.extend(patch.output().map(|text| ("content", FieldChange::Text(content(text)))));
    if let PartKind::Answer(answer) = kind
        && patch.recode_content
        && patch.output().is_none()
    {
        let blocks = match answer.content.of(source).as_bytes().first() {
            Some(b'{') => {
                FieldChange::Text(format!("[{{\"json\":{}}}]", compact(source, answer.content)))
            }
            Some(b'[') => recode_result(answer.content, SPLICE_FORMAT.text),
            _ => FieldChange::Text(content(&value_as_text(source, answer.content))),
        };
        nested.push(("content", blocks));
    }
    if nested.is_empty() { Vec::new() } else { vec![(outer, FieldChange::Nested(nested))] }
}

fn new_result(answer: &DraftAnswer<'_>, text: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let text = quote(text);
    format!(
        "{{\"toolResult\":{{\"toolUseId\":{id},\"content\":[{{\"text\":{text}}}],\"status\":\"error\"}}}}"
    )
}

fn quote_element(source: &str, element: Span) -> ElementQuoting {
    let fields = object_fields(source, element);
    let [only] = fields.as_slice() else { return ElementQuoting::AsJson };
    match only.key.as_ref() {
        "text" => ElementQuoting::Text("text"),
        "image" | "document" | "video" if only.value.of(source).starts_with('{') => {
            ElementQuoting::Verbatim
        }
        _ => ElementQuoting::AsJson,
    }
}
