//! Spells Anthropic blocks.

use foxwedge_core::{DraftAnswer, PartKind, PartPatch, Span};

use crate::{
    json::{field_text, field_value, quote},
    splice::{
        ArgumentsEncoding, BlockSpliceFormat, ElementQuoting, FieldChange, FieldChanges,
        encode_arguments, value_as_text,
    },
};

/// How Anthropic spells things.
pub(crate) const SPLICE_FORMAT: BlockSpliceFormat = BlockSpliceFormat {
    parts: "content",
    assistant: "assistant",
    text: ("{\"type\":\"text\",\"text\":", "}"),
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
    let mut changes: FieldChanges<'static> = Vec::new();
    if let Some(id) = patch.new_id(kind) {
        let key = if matches!(kind, PartKind::Answer(_)) { "tool_use_id" } else { "id" };
        changes.push((key, FieldChange::Text(quote(id))));
    }
    changes.extend(patch.new_name(kind).map(|name| ("name", FieldChange::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let value = field_value(source, block, "input");
        changes.push((
            "input",
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Object)),
        ));
    }
    changes.extend(patch.output().map(|words| ("content", FieldChange::Text(quote(words)))));
    if let PartKind::Answer(answer) = kind
        && patch.recode_content
        && patch.output().is_none()
    {
        changes.push(("content", FieldChange::Text(quote(&value_as_text(source, answer.content)))));
    }
    changes
}

fn new_result(answer: &DraftAnswer<'_>, words: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let words = quote(words);
    format!(
        "{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":{words},\"is_error\":true}}"
    )
}

fn quote_element(source: &str, one: Span) -> ElementQuoting {
    match field_text(source, one, "type").as_deref() {
        Some("text") => ElementQuoting::Text("text"),
        Some("image" | "document" | "search_result") => ElementQuoting::Verbatim,
        _ => ElementQuoting::AsJson,
    }
}
