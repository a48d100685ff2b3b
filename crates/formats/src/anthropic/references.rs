//! References to tools in the results of tool searches.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use foxwedge_core::{Span, TextReplacement, UnresolvedReference};
use foxwedge_json::{array_elements, field_text, field_value};
use memchr::memmem;

use crate::outline::OutlineReader;

/// Notes the content of a result if it may hold references. Text that only mentions them is sorted
/// out at the end.
pub(super) fn note_references(reader: &mut OutlineReader<'_>, content: Span) {
    let raw = content.of(reader.source).as_bytes();
    let is_list = raw.first().is_some_and(|byte| *byte != b'"');
    if is_list && (memmem::find(raw, b"tool_reference").is_some() || has_escaped_letters(raw)) {
        reader.references.push(content);
    }
}

/// Whether a text has escapes of letters, which no usual encoder writes: `\u0074` for `t`.
fn has_escaped_letters(raw: &[u8]) -> bool {
    let is_letter = |at: usize| matches!(raw.get(at + 4), Some(b'4'..=b'7'));
    memmem::find_iter(raw, b"\\u00").any(is_letter)
}

/// Finds the references to tools that the request does not declare.
pub(crate) fn resolve_references(reader: &mut OutlineReader<'_>, document: Span) {
    let source = reader.source;
    let contents = std::mem::take(&mut reader.references);
    let body = reader.builder.body_mut();
    if !body.request || body.stateful {
        return;
    }
    let Some(declared) = declared_tools(source, document) else { return };
    let mut unresolved = Vec::new();
    for content in contents {
        if content.of(source).starts_with('[') {
            let blocks = array_elements(source, content).into_iter();
            unresolved.extend(blocks.filter_map(|block| {
                let tool = missing_tool(source, block, &declared)?;
                let replacement = TextReplacement {
                    span: block,
                    before: "{\"type\":\"text\",\"text\":\"[the tool ",
                    kept: tool,
                    after: " is not available]\"}",
                };
                Some(UnresolvedReference { tool, more: 0, replacement })
            }));
        } else if let Some(list) = field_value(source, content, "tool_references") {
            shorten_list(source, list, &declared, &mut unresolved);
        }
    }
    body.references = Arc::new(unresolved);
}

/// Takes runs of missing tools out of the list of the provider's own search, with their commas.
fn shorten_list(
    source: &str,
    list: Span,
    declared: &HashSet<Cow<'_, str>>,
    unresolved: &mut Vec<UnresolvedReference>,
) {
    let mut last_kept = None;
    let mut run: Option<UnresolvedReference> = None;
    for element in array_elements(source, list) {
        match missing_tool(source, element, declared) {
            Some(tool) => match &mut run {
                Some(run) => {
                    run.more += 1;
                    run.replacement.span.end = element.end;
                }
                None => {
                    let replacement = TextReplacement {
                        span: element,
                        before: "",
                        kept: Span::NOWHERE,
                        after: "",
                    };
                    run = Some(UnresolvedReference { tool, more: 0, replacement });
                }
            },
            None => {
                last_kept = Some(element);
                if let Some(mut run) = run.take() {
                    run.replacement.span.end = element.start;
                    unresolved.push(run);
                }
            }
        }
    }
    if let Some(mut run) = run {
        run.replacement.span.start = last_kept.map_or(run.replacement.span.start, |it| it.end);
        unresolved.push(run);
    }
}

/// The name of the tool that a block refers to, without quotes, if it is not declared.
fn missing_tool(source: &str, block: Span, declared: &HashSet<Cow<'_, str>>) -> Option<Span> {
    field_text(source, block, "type").filter(|kind| kind == "tool_reference")?;
    field_text(source, block, "tool_name").filter(|tool| !declared.contains(tool))?;
    let name = field_value(source, block, "tool_name")?;
    Some(Span { start: name.start + 1, end: name.end - 1 })
}

/// The names of the tools that a request declares; `None` if there may be others.
fn declared_tools(source: &str, document: Span) -> Option<HashSet<Cow<'_, str>>> {
    let has = |key: &str| field_value(source, document, key).is_some();
    let text = document.of(source).as_bytes();
    let changes = [&b"tool_addition"[..], b"mcp_tool_listing", b"tool_changes"];
    if has("mcp_servers") || changes.iter().any(|name| memmem::find(text, name).is_some()) {
        return None;
    }
    let Some(tools) = field_value(source, document, "tools") else { return Some(HashSet::new()) };
    let names = array_elements(source, tools).into_iter().map(|tool| {
        let is_toolset = field_text(source, tool, "type").is_some_and(|it| it.contains("toolset"));
        field_text(source, tool, "name").filter(|_| !is_toolset)
    });
    names.collect()
}
