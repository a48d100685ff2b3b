//! Spells Converse blocks.

use foxwedge_core::{Answer, Kind, Patch, Span};

use crate::{
    json::{compact, field, fields, quote},
    splice::{Change, Changes, Element, Encoding, Spelling, respelled, told},
};

/// How Bedrock Converse spells things.
pub(crate) const SPELLING: Spelling = Spelling {
    parts: "content",
    assistant: "assistant",
    text: ("{\"text\":", "}"),
    changes,
    answer,
    beside: |_, _| Vec::new(),
    element,
};

fn changes(source: &str, block: Span, patch: &Patch, kind: &Kind<'_>) -> Changes<'static> {
    let answers = matches!(kind, Kind::Answer(_));
    let outer = if answers { "toolResult" } else { "toolUse" };
    let mut inside: Changes<'static> = Vec::new();
    inside.extend(patch.new_id(kind).map(|id| ("toolUseId", Change::Text(quote(id)))));
    inside.extend(patch.new_name(kind).map(|name| ("name", Change::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let value = field(source, block, outer).and_then(|call| field(source, call, "input"));
        inside.push(("input", Change::Text(respelled(source, value, fix, Encoding::Object))));
    }
    let content = |words| format!("[{{\"text\":{}}}]", quote(words));
    inside.extend(patch.output().map(|words| ("content", Change::Text(content(words)))));
    if let Kind::Answer(answer) = kind
        && patch.told
        && patch.output().is_none()
    {
        let whole = match answer.content.of(source).starts_with('{') {
            true => format!("[{{\"json\":{}}}]", compact(source, answer.content)),
            false => content(&told(source, answer.content)),
        };
        inside.push(("content", Change::Text(whole)));
    }
    if inside.is_empty() { Vec::new() } else { vec![(outer, Change::Inside(inside))] }
}

fn answer(answer: &Answer<'_>, words: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let words = quote(words);
    format!(
        "{{\"toolResult\":{{\"toolUseId\":{id},\"content\":[{{\"text\":{words}}}],\"status\":\"error\"}}}}"
    )
}

fn element(source: &str, one: Span) -> Element {
    let fields = fields(source, one);
    let [only] = fields.as_slice() else { return Element::Told };
    match only.key.as_ref() {
        "text" => Element::Text("text"),
        "image" | "document" | "video" if only.value.of(source).starts_with('{') => Element::Whole,
        _ => Element::Told,
    }
}
