//! Claude Code: a `compact_boundary` begins anew, and what is left follows it as a chain of its
//! own. Newer versions can also name the messages that a compaction carries over; copies work in
//! every version.

use std::collections::HashMap;

use super::{
    CompactedFile, ParsedSession,
    ids::CompactionIds,
    linked::{CompactedRecordSource, RecordLinks, ReplacementMessage},
    mark, whole_span,
};
use crate::{
    json::{array_elements, field_text, field_value, quote},
    session::claude_code::copy_common_fields,
    splice::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched},
};

/// The record that begins anew, and its id.
pub(super) fn write_boundary(
    session: &ParsedSession<'_>,
    condensed: &CompactedFile<'_>,
    fresh: &mut CompactionIds<'_>,
    tip: u32,
    end: Option<&str>,
) -> (String, Vec<OutputChunk>) {
    let id = fresh.new_id(&["boundary"]);
    let mut out = SpliceWriter::new(session.log.source, &[]);
    let logical = end.map_or("null".to_owned(), quote);
    out.text(&format!("{{\"parentUuid\":null,\"logicalParentUuid\":{logical}"));
    copy_common_fields(&mut out, session.span(tip));
    out.text(&format!(
        ",\"type\":\"system\",\"subtype\":\"compact_boundary\",\"content\":{},\"isMeta\":false",
        quote(condensed.marker)
    ));
    if let Some(time) = fresh.next_time() {
        out.text(&format!(",\"timestamp\":{}", quote(&time)));
    }
    out.text(&format!(
        ",\"uuid\":{},\"level\":\"info\",\"compactMetadata\":{{\"trigger\":\"manual\",\"preTokens\":{}}}",
        quote(&id),
        condensed.tokens_before
    ));
    out.text(&format!(",\"{}\":{}}}", mark::MARK, mark::standing_for(&fresh.compaction, end)));
    (id, out.finish())
}

/// Who speaks, and what: a record for each block, as the agent writes it. Some versions part records
/// of several blocks when they load a file, and write them once more.
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
    made: &CompactedRecordSource,
    links: &RecordLinks<'_>,
    fresh: &mut CompactionIds<'_>,
    twins: &HashMap<&str, &str>,
) {
    match made {
        CompactedRecordSource::Copy(record, message) => {
            write_copy(session, out, *record, *message, links, fresh, twins)
        }
        CompactedRecordSource::Replacement(said) => {
            self::write_replacement(session, out, said, links, fresh)
        }
    }
}

/// A copy. Pieces of a reply belong together by the id of its message: the copies get one of their
/// own, so that nobody takes them for pieces of the old reply.
fn write_copy(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    record: u32,
    message: usize,
    links: &RecordLinks<'_>,
    fresh: &CompactionIds<'_>,
    twins: &HashMap<&str, &str>,
) {
    let source = session.log.source;
    let span = session.span(record);
    let mut changes = links.changes();
    let link = session.log.links.get(record as usize).copied().unwrap_or_default();
    if let Some((reply, _)) = link.reply {
        let id = reply_id(&fresh.compaction, &format!("{message} {reply}"));
        changes.push(("message", FieldChange::Nested(vec![("id", FieldChange::Text(quote(&id)))])));
    }
    const CALL: &str = "sourceToolAssistantUUID";
    if field_value(source, span, CALL).is_some() {
        let twin = link.source.and_then(|call| twins.get(call));
        changes
            .push((CALL, twin.map_or(FieldChange::Remove, |twin| FieldChange::Text(quote(twin)))));
    }
    write_patched(out, span, changes);
}

fn reply_id(compaction: &str, reply: &str) -> String {
    format!(
        "msg_{}",
        crate::session::linked_rewriter::derive_uuid(&[compaction, reply], 0).replace('-', "")
    )
}

/// A message that is not as it was.
fn write_replacement(
    session: &ParsedSession<'_>,
    out: &mut SpliceWriter<'_>,
    said: &ReplacementMessage,
    links: &RecordLinks<'_>,
    fresh: &CompactionIds<'_>,
) {
    let source = session.log.source;
    let like = session.span(said.template);
    out.text(&format!("{{\"parentUuid\":{}", links.parent.map_or("null".to_owned(), quote)));
    copy_common_fields(out, like);
    let kind = if said.role == "assistant" { "assistant" } else { "user" };
    let old = field_value(source, like, "message").filter(|_| said.existed);
    if let Some(request) = field_value(source, like, "requestId")
        && kind == "assistant"
        && said.existed
    {
        out.text(",\"requestId\":");
        out.copy(request);
    }
    out.text(&format!(",\"type\":\"{kind}\",\"message\":"));
    let id = || quote(&reply_id(&fresh.compaction, &format!("said {}", said.position)));
    match old {
        // The model and what it took stay.
        Some(old) if kind == "assistant" => {
            let changes: FieldChanges<'_> = vec![
                ("id", FieldChange::Text(id())),
                ("role", FieldChange::Text(quote(said.role))),
                ("content", FieldChange::Text(said.content.clone())),
            ];
            write_patched(out, old, changes);
        }
        None if kind == "assistant" => out.text(&format!(
            "{{\"id\":{},\"type\":\"message\",\"role\":\"assistant\",\"model\":\"<synthetic>\",\
             \"content\":{}}}",
            id(),
            said.content
        )),
        _ => out.text(&format!("{{\"role\":{},\"content\":{}}}", quote(said.role), said.content)),
    }
    if !said.existed && kind == "user" {
        out.text(",\"isVisibleInTranscriptOnly\":true,\"isCompactSummary\":true");
    }
    out.text(&format!(",\"uuid\":{}", quote(links.id)));
    if let Some(time) = &links.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    out.text(&format!(",\"{}\":{}}}", mark::MARK, links.mark));
}
