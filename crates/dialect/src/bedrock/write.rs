//! Spells Converse blocks.

use foxwedge_core::{DraftAnswer, PartKind, PartPatch, Span};

use crate::{
    json::{compact, field_value, object_fields, quote},
    splice::{
        ArgumentsEncoding, BlockSpliceFormat, ElementQuoting, FieldChange, FieldChanges,
        encode_arguments, value_as_text,
    },
};

/// How Bedrock Converse spells things.
pub(crate) const SPLICE_FORMAT: BlockSpliceFormat = BlockSpliceFormat {
    parts: "content",
    assistant: "assistant",
    text: ("{\"text\":", "}"),
    changes,
    answer: new_result,
    extra_media: |_, _| Vec::new(),
    element: quote_element,
};

fn changes(
    source: &str,
    block: Span,
    patch: &PartPatch,
    kind: &PartKind<'_>,
) -> FieldChanges<'static> {
    let answers = matches!(kind, PartKind::Answer(_));
    let outer = if answers { "toolResult" } else { "toolUse" };
    let mut inside: FieldChanges<'static> = Vec::new();
    inside.extend(patch.new_id(kind).map(|id| ("toolUseId", FieldChange::Text(quote(id)))));
    inside.extend(patch.new_name(kind).map(|name| ("name", FieldChange::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let value =
            field_value(source, block, outer).and_then(|call| field_value(source, call, "input"));
        inside.push((
            "input",
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Object)),
        ));
    }
    let content = |words| format!("[{{\"text\":{}}}]", quote(words));
    inside.extend(patch.output().map(|words| ("content", FieldChange::Text(content(words)))));
    if let PartKind::Answer(answer) = kind
        && patch.recode_content
        && patch.output().is_none()
    {
        let whole = match answer.content.of(source).starts_with('{') {
            true => format!("[{{\"json\":{}}}]", compact(source, answer.content)),
            false => content(&value_as_text(source, answer.content)),
        };
        inside.push(("content", FieldChange::Text(whole)));
    }
    if inside.is_empty() { Vec::new() } else { vec![(outer, FieldChange::Nested(inside))] }
}

fn new_result(answer: &DraftAnswer<'_>, words: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let words = quote(words);
    format!(
        "{{\"toolResult\":{{\"toolUseId\":{id},\"content\":[{{\"text\":{words}}}],\"status\":\"error\"}}}}"
    )
}

fn quote_element(source: &str, one: Span) -> ElementQuoting {
    let fields = object_fields(source, one);
    let [only] = fields.as_slice() else { return ElementQuoting::AsJson };
    match only.key.as_ref() {
        "text" => ElementQuoting::Text("text"),
        "image" | "document" | "video" if only.value.of(source).starts_with('{') => {
            ElementQuoting::Verbatim
        }
        _ => ElementQuoting::AsJson,
    }
}
