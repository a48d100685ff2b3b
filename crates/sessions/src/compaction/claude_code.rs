//! Claude Code: a `compact_boundary` starts a new root, and the remaining messages follow it as a
//! separate chain. Newer versions can also name the messages that a compaction carries over; copies
//! work in every version.

use std::collections::HashMap;

use super::{
    CompactedFile, ParsedSession,
    ids::CompactionIds,
    mark,
    record_links::{CompactedRecordSource, RecordLinks, ReplacementMessage},
    whole_span,
};
use crate::claude_code::copy_common_fields;
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched};
use foxwedge_json::{array_elements, field_text, field_value, quote};

/// Writes the boundary record. Also returns its id.
pub(super) fn write_boundary(
    session: &ParsedSession<'_>,
    compacted: &CompactedFile<'_>,
    ids: &mut CompactionIds<'_>,
    leaf: u32,
    leaf_id: Option<&str>,
) -> (String, Vec<OutputChunk>) {
    let id = ids.new_id(&["boundary"]);
    let mut out = SpliceWriter::new(session.log.source, &[]);
    let logical = leaf_id.map_or("null".to_owned(), quote);
    out.text(&format!("{{\"parentUuid\":null,\"logicalParentUuid\":{logical}"));
    copy_common_fields(&mut out, session.span(leaf));
    out.text(&format!(
        ",\"type\":\"system\",\"subtype\":\"compact_boundary\",\"content\":{},\"isMeta\":false",
        quote(compacted.marker)
    ));
    if let Some(time) = ids.next_time() {
        out.text(&format!(",\"timestamp\":{}", quote(&time)));
    }
    out.text(&format!(
        ",\"uuid\":{},\"level\":\"info\",\"compactMetadata\":{{\"trigger\":\"manual\",\"preTokens\":{}}}",
        quote(&id),
        compacted.tokens_before
    ));
    out.text(&format!(",\"{}\":{}}}", mark::MARK, mark::standing_for(&ids.compaction, leaf_id)));
    (id, out.finish())
}

/// Splits a message into role and content per record. The agent writes one record per block. Some
/// versions split records of several blocks when they load a file, and write them again.
pub(super) fn split_blocks(json: &str) -> Vec<(&'static str, String)> {
    let role = match field_text(json, whole_span(json), "role").as_deref() {
        Some("assistant") => "assistant",
        Some("system") => "system",
        _ => "user",
    };
    let content = field_value(json, whole_span(json), "content");
    let blocks = content.map(|content| array_elements(json, content)).unwrap_or_default();
    if blocks.is_empty() {
        let content = content.map_or("[]", |content| content.of(json));
        return vec![(role, content.to_owned())];
    }
    blocks.into_iter().map(|block| (role, format!("[{}]", block.of(json)))).collect()
}

/// Writes a record of the new chain.
pub(super) fn write(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    source: &CompactedRecordSource,
    links: &RecordLinks<'_>,
    ids: &mut CompactionIds<'_>,
    new_ids: &HashMap<&str, &str>,
) {
    match source {
        CompactedRecordSource::Copy(record, message) => {
            write_copy(session, out, *record, *message, links, ids, new_ids)
        }
        CompactedRecordSource::Replacement(replacement) => {
            self::write_replacement(session, out, replacement, links, ids)
        }
    }
}

/// Writes a copy of a record. The records of a reply share a message id. The copies get a new one,
/// so that the agent does not join them with the old reply.
fn write_copy(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    record: u32,
    message: usize,
    links: &RecordLinks<'_>,
    ids: &CompactionIds<'_>,
    new_ids: &HashMap<&str, &str>,
) {
    let source = session.log.source;
    let span = session.span(record);
    let mut changes = links.changes();
    let link = session.log.links.get(record as usize).copied().unwrap_or_default();
    if let Some((reply, _)) = link.reply {
        let id = reply_id(&ids.compaction, &format!("{message} {reply}"));
        changes.push(("message", FieldChange::Nested(vec![("id", FieldChange::Text(quote(&id)))])));
    }
    const CALL: &str = "sourceToolAssistantUUID";
    if field_value(source, span, CALL).is_some() {
        let new_id = link.source.and_then(|call| new_ids.get(call));
        changes.push((
            CALL,
            new_id.map_or(FieldChange::Remove, |new_id| FieldChange::Text(quote(new_id))),
        ));
    }
    write_patched(out, span, changes);
}

fn reply_id(compaction: &str, reply: &str) -> String {
    format!("msg_{}", crate::derived_id::derive_uuid(&[compaction, reply], 0).replace('-', ""))
}

/// Writes a new or changed message.
fn write_replacement(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    replacement: &ReplacementMessage,
    links: &RecordLinks<'_>,
    ids: &CompactionIds<'_>,
) {
    let source = session.log.source;
    let template = session.span(replacement.template);
    out.text(&format!("{{\"parentUuid\":{}", links.parent.map_or("null".to_owned(), quote)));
    copy_common_fields(out, template);
    let kind = if replacement.role == "assistant" { "assistant" } else { "user" };
    let old = field_value(source, template, "message").filter(|_| replacement.existed);
    if let Some(request) = field_value(source, template, "requestId")
        && kind == "assistant"
        && replacement.existed
    {
        out.text(",\"requestId\":");
        out.copy(request);
    }
    out.text(&format!(",\"type\":\"{kind}\",\"message\":"));
    let id = || quote(&reply_id(&ids.compaction, &format!("said {}", replacement.position)));
    match old {
        // The model and the usage stay.
        Some(old) if kind == "assistant" => {
            let changes: FieldChanges<'_> = vec![
                ("id", FieldChange::Text(id())),
                ("role", FieldChange::Text(quote(replacement.role))),
                ("content", FieldChange::Text(replacement.content.clone())),
            ];
            write_patched(out, old, changes);
        }
        None if kind == "assistant" => out.text(&format!(
            "{{\"id\":{},\"type\":\"message\",\"role\":\"assistant\",\"model\":\"<synthetic>\",\
             \"content\":{}}}",
            id(),
            replacement.content
        )),
        _ => out.text(&format!(
            "{{\"role\":{},\"content\":{}}}",
            quote(replacement.role),
            replacement.content
        )),
    }
    if !replacement.existed && kind == "user" {
        out.text(",\"isVisibleInTranscriptOnly\":true,\"isCompactSummary\":true");
    }
    out.text(&format!(",\"uuid\":{}", quote(links.id)));
    if let Some(time) = &links.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    out.text(&format!(",\"{}\":{}}}", mark::MARK, links.mark));
}
