//! Writes Gemini parts.

use foxwedge_core::{DraftAnswer, PartKind, PartPatch, Span};

use crate::splice::{ArgumentsEncoding, BlockSpliceFormat, ElementQuoting, encode_arguments};
use foxwedge_json::{FieldChange, FieldChanges};
use foxwedge_json::{array_elements, compact, field_value, quote};

/// How Gemini messages are written.
pub const SPLICE_FORMAT: BlockSpliceFormat = BlockSpliceFormat {
    parts: "parts",
    assistant: "model",
    text: ("{\"text\":", "}"),
    changes,
    answer: new_result,
    repeated: None,
    extra_media,
    element: quote_element,
};

/// The documented value that makes Gemini accept a call without its own signature.
const BYPASS: &str = "\"skip_thought_signature_validator\"";

/// The spelling of a key that the part uses. Clients use both.
fn existing_key(
    source: &str,
    part: Span,
    camel: &'static str,
    snake: &'static str,
) -> &'static str {
    if field_value(source, part, snake).is_some() { snake } else { camel }
}

fn changes(
    source: &str,
    part: Span,
    patch: &PartPatch<'_>,
    kind: &PartKind<'_>,
) -> FieldChanges<'static> {
    let outer = if matches!(kind, PartKind::Answer(_)) {
        existing_key(source, part, "functionResponse", "function_response")
    } else {
        existing_key(source, part, "functionCall", "function_call")
    };
    let mut nested: FieldChanges<'static> = Vec::new();
    nested.extend(patch.new_id(kind).map(|id| ("id", FieldChange::Text(quote(id)))));
    nested.extend(patch.new_name(kind).map(|name| ("name", FieldChange::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let value =
            field_value(source, part, outer).and_then(|call| field_value(source, call, "args"));
        nested.push((
            "args",
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Object)),
        ));
    }
    let output = |text| format!("{{\"output\":{}}}", quote(text));
    nested.extend(patch.output().map(|text| ("response", FieldChange::Text(output(text)))));
    if let PartKind::Answer(answer) = kind
        && patch.recode_content
        && patch.output().is_none()
    {
        let response = format!("{{\"output\":{}}}", compact(source, answer.content));
        nested.push(("response", FieldChange::Text(response)));
    }
    if patch.content_only {
        nested.push(("parts", FieldChange::Remove));
    }
    let mut changes: FieldChanges<'static> = Vec::new();
    if !nested.is_empty() {
        changes.push((outer, FieldChange::Nested(nested)));
    }
    if patch.signature {
        let key = existing_key(source, part, "thoughtSignature", "thought_signature");
        changes.push((key, FieldChange::Text(BYPASS.to_owned())));
    }
    changes
}

fn new_result(answer: &DraftAnswer<'_>, text: &str) -> String {
    let id = answer.id.as_deref().map(|id| format!("\"id\":{},", quote(id))).unwrap_or_default();
    let name = quote(answer.tool().unwrap_or(""));
    let text = quote(text);
    format!("{{\"functionResponse\":{{{id}\"name\":{name},\"response\":{{\"error\":{text}}}}}}}")
}

/// Newer tool results hold images and files as nested parts.
fn extra_media(source: &str, part: Span) -> Vec<Span> {
    let key = existing_key(source, part, "functionResponse", "function_response");
    let parts =
        field_value(source, part, key).and_then(|answer| field_value(source, answer, "parts"));
    match parts {
        Some(part) if part.of(source).starts_with('{') => vec![part],
        Some(parts) => array_elements(source, parts),
        None => Vec::new(),
    }
}

/// A Gemini tool result is one object, quoted as a whole.
fn quote_element(_: &str, _: Span) -> ElementQuoting {
    ElementQuoting::AsJson
}
