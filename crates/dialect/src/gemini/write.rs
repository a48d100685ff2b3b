//! Spells Gemini parts.

use foxwedge_core::{DraftAnswer, PartKind, PartPatch, Span};

use crate::{
    json::{array_elements, compact, field_value, quote},
    splice::{
        ArgumentsEncoding, BlockSpliceFormat, ElementQuoting, FieldChange, FieldChanges,
        encode_arguments,
    },
};

/// How Gemini spells things.
pub(crate) const SPLICE_FORMAT: BlockSpliceFormat = BlockSpliceFormat {
    parts: "parts",
    assistant: "model",
    text: ("{\"text\":", "}"),
    changes,
    answer: new_result,
    extra_media,
    element: quote_element,
};

/// The documented value that tells Gemini to skip a signature it never made.
const BYPASS: &str = "\"skip_thought_signature_validator\"";

/// Both spellings of a key are in use; the one that is there is kept.
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
    patch: &PartPatch,
    kind: &PartKind<'_>,
) -> FieldChanges<'static> {
    let outer = if matches!(kind, PartKind::Answer(_)) {
        existing_key(source, part, "functionResponse", "function_response")
    } else {
        existing_key(source, part, "functionCall", "function_call")
    };
    let mut inside: FieldChanges<'static> = Vec::new();
    inside.extend(patch.new_id(kind).map(|id| ("id", FieldChange::Text(quote(id)))));
    inside.extend(patch.new_name(kind).map(|name| ("name", FieldChange::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let value =
            field_value(source, part, outer).and_then(|call| field_value(source, call, "args"));
        inside.push((
            "args",
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Object)),
        ));
    }
    let output = |words| format!("{{\"output\":{}}}", quote(words));
    inside.extend(patch.output().map(|words| ("response", FieldChange::Text(output(words)))));
    if let PartKind::Answer(answer) = kind
        && patch.recode_content
        && patch.output().is_none()
    {
        let whole = format!("{{\"output\":{}}}", compact(source, answer.content));
        inside.push(("response", FieldChange::Text(whole)));
    }
    if patch.content_only {
        inside.push(("parts", FieldChange::Remove));
    }
    let mut changes: FieldChanges<'static> = Vec::new();
    if !inside.is_empty() {
        changes.push((outer, FieldChange::Nested(inside)));
    }
    if patch.signature {
        let key = existing_key(source, part, "thoughtSignature", "thought_signature");
        changes.push((key, FieldChange::Text(BYPASS.to_owned())));
    }
    changes
}

fn new_result(answer: &DraftAnswer<'_>, words: &str) -> String {
    let id = answer.id.as_deref().map(|id| format!("\"id\":{},", quote(id))).unwrap_or_default();
    let name = quote(answer.tool().unwrap_or(""));
    let words = quote(words);
    format!("{{\"functionResponse\":{{{id}\"name\":{name},\"response\":{{\"error\":{words}}}}}}}")
}

/// Newer answers carry images and files as parts of their own.
fn extra_media(source: &str, part: Span) -> Vec<Span> {
    let key = existing_key(source, part, "functionResponse", "function_response");
    let parts =
        field_value(source, part, key).and_then(|answer| field_value(source, answer, "parts"));
    parts.map(|parts| array_elements(source, parts)).unwrap_or_default()
}

/// A Gemini answer is an object, told as a whole.
fn quote_element(_: &str, _: Span) -> ElementQuoting {
    ElementQuoting::AsJson
}
