//! Neovate: the remaining messages start a new root and form a separate chain. `uiContent` of the
//! first record holds the text that the agent shows instead, as in the agent's own compaction.

use foxwedge_core::Span;

use super::{
    ParsedSession,
    call_index::AnswerCallIndex,
    mark,
    record_links::{CompactedRecordSource, RecordLinks, ReplacementMessage},
    whole_span,
};
use foxwedge_json::{FieldChange, SpliceWriter, write_patched};
use foxwedge_json::{array_elements, field_text, field_value, quote};

/// Splits a message into records: tool results form a message of their own, directly after their
/// calls.
pub(super) fn split_roles(
    json: &str,
    message: usize,
    call_index: &AnswerCallIndex<'_>,
) -> Vec<(&'static str, String)> {
    let own_role = match field_text(json, whole_span(json), "role").as_deref() {
        Some("assistant") => "assistant",
        Some("system") => "system",
        _ => "user",
    };
    let Some(content) = field_value(json, whole_span(json), "content") else { return Vec::new() };
    if !content.of(json).starts_with('[') {
        return vec![(own_role, content.of(json).to_owned())];
    }
    let (mut answers, mut rest) = (Vec::new(), Vec::new());
    for (at, block) in array_elements(json, content).into_iter().enumerate() {
        let answer =
            own_role == "user" && field_text(json, block, "type").as_deref() == Some("tool_result");
        let part = convert_block(json, block, call_index.tool_of(message, at).unwrap_or(""));
        if answer { answers.push(part) } else { rest.push(part) }
    }
    let mut records = Vec::new();
    if !answers.is_empty() {
        records.push(("tool", format!("[{}]", answers.join(","))));
    }
    if !rest.is_empty() || records.is_empty() {
        records.push((own_role, format!("[{}]", rest.join(","))));
    }
    records
}

/// Converts a block to Neovate's format. `tool` is the tool name for a tool result.
fn convert_block(json: &str, block: Span, tool: &str) -> String {
    let field = |key: &str| field_text(json, block, key);
    match field("type").as_deref() {
        Some("tool_result") => {
            let id = field("tool_use_id").unwrap_or_default();
            let failed = field_value(json, block, "is_error").map(|error| error.of(json));
            let error = if failed == Some("true") { ",\"isError\":true" } else { "" };
            format!(
                "{{\"type\":\"tool-result\",\"toolCallId\":{},\"toolName\":{},\"input\":{{}},\
                 \"result\":{{\"llmContent\":{}{error}}}}}",
                quote(&id),
                quote(tool),
                convert_output(json, field_value(json, block, "content"))
            )
        }
        Some("image") => convert_image(json, block),
        _ => block.of(json).to_owned(),
    }
}

/// Converts the content of a tool result.
fn convert_output(json: &str, content: Option<Span>) -> String {
    let Some(content) = content else { return "\"\"".to_owned() };
    if !content.of(json).starts_with('[') {
        return content.of(json).to_owned();
    }
    let parts = array_elements(json, content).into_iter().map(|one| {
        match field_text(json, one, "type").as_deref() {
            Some("image") => convert_image(json, one),
            _ => one.of(json).to_owned(),
        }
    });
    format!("[{}]", parts.collect::<Vec<_>>().join(","))
}

fn convert_image(json: &str, image: Span) -> String {
    let source = field_value(json, image, "source");
    let text = |key: &str| source.and_then(|source| field_value(json, source, key));
    match (text("data"), text("media_type")) {
        (Some(data), Some(kind)) => format!(
            "{{\"type\":\"image\",\"data\":{},\"mimeType\":{}}}",
            data.of(json),
            kind.of(json)
        ),
        _ => image.of(json).to_owned(),
    }
}

/// Writes a record of the new chain.
pub(super) fn write(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    source: &CompactedRecordSource,
    links: &RecordLinks<'_>,
) {
    match source {
        CompactedRecordSource::Copy(record, _) => {
            let mut changes = links.changes();
            changes
                .extend(links.marker.map(|marker| ("uiContent", FieldChange::Text(quote(marker)))));
            write_patched(out, session.span(*record), changes);
        }
        CompactedRecordSource::Replacement(replacement)
            if replacement.role == "assistant" && replacement.existed =>
        {
            let mut changes = links.changes();
            changes.push(("content", FieldChange::Text(replacement.content.clone())));
            let template = session.span(replacement.template);
            if field_value(out.source, template, "text").is_some() {
                changes
                    .push(("text", FieldChange::Text(quote(&joined_text(&replacement.content)))));
            }
            changes
                .extend(links.marker.map(|marker| ("uiContent", FieldChange::Text(quote(marker)))));
            write_patched(out, template, changes);
        }
        CompactedRecordSource::Replacement(replacement) => {
            write_new_record(session, out, replacement, links)
        }
    }
}

/// All texts of a content, joined.
fn joined_text(content: &str) -> String {
    let texts = array_elements(content, whole_span(content)).into_iter();
    texts.filter_map(|part| field_text(content, part, "text")).collect()
}

fn write_new_record(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    replacement: &ReplacementMessage,
    links: &RecordLinks<'_>,
) {
    let parent = links.parent.map_or("null".to_owned(), quote);
    out.text(&format!(
        "{{\"type\":\"message\",\"uuid\":{},\"parentUuid\":{parent}",
        quote(links.id)
    ));
    if let Some(time) = &links.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    if let Some(id) = field_value(out.source, session.span(replacement.template), "sessionId") {
        out.text(",\"sessionId\":");
        out.copy(id);
    }
    out.text(&format!(",\"role\":{},\"content\":{}", quote(replacement.role), replacement.content));
    if let Some(marker) = links.marker {
        out.text(&format!(",\"uiContent\":{}", quote(marker)));
    }
    out.text(&format!(",\"{}\":{}}}", mark::MARK, links.mark));
}

#[cfg(test)]
mod tests {
    use foxwedge_core::Format;

    use super::*;
    use crate::compaction::CompactedFileMessage;

    #[test]
    fn messages_become_records_in_the_format_of_the_agent() {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"grep","input":{}}]}"#;
        let answer = r#"{"type":"tool_result","tool_use_id":"x","content":"so"}"#;
        let spelled = r#"{"type":"tool-result","toolCallId":"x","toolName":"grep","input":{},"result":{"llmContent":"so"}}"#;
        let text = r#"{"type":"text","text":"hm"}"#;
        let image =
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#;
        let kept = r#"{"type":"image","data":"aGk=","mimeType":"image/png"}"#;
        let table: [(String, Vec<(&str, String)>); 5] = [
            (r#"{"role":"user","content":"hi"}"#.to_owned(), vec![("user", "\"hi\"".to_owned())]),
            (
                format!("{{\"role\":\"user\",\"content\":[{text},{answer}]}}"),
                vec![("tool", format!("[{spelled}]")), ("user", format!("[{text}]"))],
            ),
            (
                format!("{{\"role\":\"user\",\"content\":[{image}]}}"),
                vec![("user", format!("[{kept}]"))],
            ),
            (
                format!("{{\"role\":\"assistant\",\"content\":[{text}]}}"),
                vec![("assistant", format!("[{text}]"))],
            ),
            (
                r#"{"role":"assistant","content":[]}"#.to_owned(),
                vec![("assistant", "[]".to_owned())],
            ),
        ];
        for (json, expected) in table {
            let messages =
                [call, &*json].map(|json| CompactedFileMessage { origin: None, kept: false, json });
            let call_index = AnswerCallIndex::of(&messages, Format::Anthropic);
            assert_eq!(split_roles(&json, 1, &call_index), expected, "{json}");
        }
    }
}
