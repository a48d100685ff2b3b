//! Spells Anthropic blocks.

use foxwedge_core::{Answer, Kind, Patch, Span};

use crate::{
    json::{field, quote, says},
    splice::{Change, Changes, Element, Encoding, Spelling, respelled, told},
};

/// How Anthropic spells things.
pub(crate) const SPELLING: Spelling = Spelling {
    parts: "content",
    assistant: "assistant",
    text: ("{\"type\":\"text\",\"text\":", "}"),
    changes,
    answer,
    beside: |_, _| Vec::new(),
    element,
};

fn changes(source: &str, block: Span, patch: &Patch, kind: &Kind<'_>) -> Changes<'static> {
    let mut changes: Changes<'static> = Vec::new();
    if let Some(id) = patch.new_id(kind) {
        let key = if matches!(kind, Kind::Answer(_)) { "tool_use_id" } else { "id" };
        changes.push((key, Change::Text(quote(id))));
    }
    changes.extend(patch.new_name(kind).map(|name| ("name", Change::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let value = field(source, block, "input");
        changes.push(("input", Change::Text(respelled(source, value, fix, Encoding::Object))));
    }
    changes.extend(patch.output().map(|words| ("content", Change::Text(quote(words)))));
    if let Kind::Answer(answer) = kind
        && patch.told
        && patch.output().is_none()
    {
        changes.push(("content", Change::Text(quote(&told(source, answer.content)))));
    }
    changes
}

fn answer(answer: &Answer<'_>, words: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let words = quote(words);
    format!(
        "{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":{words},\"is_error\":true}}"
    )
}

fn element(source: &str, one: Span) -> Element {
    match says(source, one, "type").as_deref() {
        Some("text") => Element::Text("text"),
        Some("image" | "document" | "search_result") => Element::Whole,
        _ => Element::Told,
    }
}
