//! Spells Gemini parts.

use foxwedge_core::{Answer, Kind, Patch, Span};

use crate::{
    json::{compact, elements, field, quote},
    splice::{Change, Changes, Element, Encoding, Spelling, respelled},
};

/// How Gemini spells things.
pub(crate) const SPELLING: Spelling = Spelling {
    parts: "parts",
    assistant: "model",
    text: ("{\"text\":", "}"),
    changes,
    answer,
    beside,
    element,
};

/// The documented value that tells Gemini to skip a signature it never made.
const BYPASS: &str = "\"skip_thought_signature_validator\"";

/// Both spellings of a key are in use; the one that is there is kept.
fn spelled(source: &str, part: Span, camel: &'static str, snake: &'static str) -> &'static str {
    if field(source, part, snake).is_some() { snake } else { camel }
}

fn changes(source: &str, part: Span, patch: &Patch, kind: &Kind<'_>) -> Changes<'static> {
    let outer = if matches!(kind, Kind::Answer(_)) {
        spelled(source, part, "functionResponse", "function_response")
    } else {
        spelled(source, part, "functionCall", "function_call")
    };
    let mut inside: Changes<'static> = Vec::new();
    inside.extend(patch.new_id(kind).map(|id| ("id", Change::Text(quote(id)))));
    inside.extend(patch.new_name(kind).map(|name| ("name", Change::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let value = field(source, part, outer).and_then(|call| field(source, call, "args"));
        inside.push(("args", Change::Text(respelled(source, value, fix, Encoding::Object))));
    }
    let output = |words| format!("{{\"output\":{}}}", quote(words));
    inside.extend(patch.output().map(|words| ("response", Change::Text(output(words)))));
    if let Kind::Answer(answer) = kind
        && patch.told
        && patch.output().is_none()
    {
        let whole = format!("{{\"output\":{}}}", compact(source, answer.content));
        inside.push(("response", Change::Text(whole)));
    }
    if patch.bare {
        inside.push(("parts", Change::Remove));
    }
    let mut changes: Changes<'static> = Vec::new();
    if !inside.is_empty() {
        changes.push((outer, Change::Inside(inside)));
    }
    if patch.signature {
        let key = spelled(source, part, "thoughtSignature", "thought_signature");
        changes.push((key, Change::Text(BYPASS.to_owned())));
    }
    changes
}

fn answer(answer: &Answer<'_>, words: &str) -> String {
    let id = answer.id.as_deref().map(|id| format!("\"id\":{},", quote(id))).unwrap_or_default();
    let name = quote(answer.tool().unwrap_or(""));
    let words = quote(words);
    format!("{{\"functionResponse\":{{{id}\"name\":{name},\"response\":{{\"error\":{words}}}}}}}")
}

/// Newer answers carry images and files as parts of their own.
fn beside(source: &str, part: Span) -> Vec<Span> {
    let key = spelled(source, part, "functionResponse", "function_response");
    let parts = field(source, part, key).and_then(|answer| field(source, answer, "parts"));
    parts.map(|parts| elements(source, parts)).unwrap_or_default()
}

/// A Gemini answer is an object, told as a whole.
fn element(_: &str, _: Span) -> Element {
    Element::Told
}
