//! Writes Anthropic blocks.

use foxwedge_core::{DraftAnswer, PartKind, PartPatch, Span};

use super::encode::encode_media;
use crate::foreign_result::write_foreign_content;
use crate::splice::{
    ArgumentsEncoding, BlockSpliceFormat, ElementQuoting, encode_arguments, recode_result,
};
use foxwedge_json::{FieldChange, FieldChanges, SpliceWriter};
use foxwedge_json::{field_text, field_value, quote};

/// How Anthropic messages are written.
pub const SPLICE_FORMAT: BlockSpliceFormat = BlockSpliceFormat {
    parts: "content",
    assistant: "assistant",
    text: ("{\"type\":\"text\",\"text\":", "}"),
    changes,
    answer: new_result,
    repeated: Some("toolset_name"),
    extra_media: |_, _| Vec::new(),
    element: quote_element,
};

fn changes(
    source: &str,
    block: Span,
    patch: &PartPatch<'_>,
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
    if let PartKind::Answer(answer) = kind
        && patch.is_rewritten()
    {
        // A message of another format becomes a block.
        let id = quote(answer.id.as_deref().unwrap_or(""));
        let content = answer.content;
        changes = vec![
            ("type", FieldChange::Text(quote("tool_result"))),
            ("tool_use_id", FieldChange::Text(id)),
        ];
        if patch.output().is_none() {
            let write = move |out: &mut SpliceWriter<'_>| {
                write_foreign_content(out, content, SPLICE_FORMAT.text, encode_media)
            };
            changes.push(("content", FieldChange::WriteWith(Box::new(write))));
        }
        let others = ["role", "tool_call_id", "name", "status", "id"];
        changes.extend(others.map(|key| (key, FieldChange::Remove)));
    }
    changes.extend(patch.output().map(|text| ("content", FieldChange::Text(quote(text)))));
    if let PartKind::Answer(answer) = kind
        && patch.recode_content
        && patch.output().is_none()
    {
        changes.push(("content", recode_result(answer.content, SPLICE_FORMAT.text)));
    }
    changes
}

fn new_result(answer: &DraftAnswer<'_>, text: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let text = quote(text);
    format!(
        "{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":{text},\"is_error\":true}}"
    )
}

fn quote_element(source: &str, element: Span) -> ElementQuoting {
    match field_text(source, element, "type").as_deref() {
        Some("text") => ElementQuoting::Text("text"),
        Some("image" | "document" | "search_result") => ElementQuoting::Verbatim,
        _ => ElementQuoting::AsJson,
    }
}
