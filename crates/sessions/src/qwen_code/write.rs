//! Writes records of Qwen Code.

use foxwedge_core::{ContentShape, PartKind, PartSource, RepairedPart, Role, Span};

use super::is_compression;
use crate::{link_changes::NewLinkedRecord, linked_file::LinkedFileRewriter};
use foxwedge_formats::{
    gemini,
    splice::{BlockMessage, write_block_list, write_blocks},
};
use foxwedge_json::{
    FieldChange, FieldChanges, OutputChunk, SpliceWriter, array_elements, field_value, quote,
    write_patched,
};

/// Fields that every record of a session has in common.
const COMMON: [&str; 4] = ["sessionId", "cwd", "version", "gitBranch"];

/// The changed message of a record.
pub(crate) fn content_changes(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    record: u32,
    role: Role,
    parts: &[RepairedPart<'_>],
) -> FieldChanges<'static> {
    let Some(fragment) = rewriter.fragment(record) else { return Vec::new() };
    if is_compression(out.source, fragment) {
        let list = compressed_history(rewriter, out, fragment.span, role, parts);
        let list = ("compressedHistory", FieldChange::Chunks(list));
        return vec![("systemPayload", FieldChange::Nested(vec![list]))];
    }
    let mut inner = out.inner();
    let message = block_message(role, parts);
    write_blocks(&mut inner, rewriter.draft(), Some(fragment), &message, &gemini::SPLICE_FORMAT);
    let mut changes: FieldChanges<'static> = vec![("message", FieldChange::Chunks(inner.finish()))];
    if rewriter.log().records[record as usize].kind == "tool_result" && !parts.iter().any(is_result)
    {
        changes.push(("type", FieldChange::Text("\"user\"".to_owned())));
        changes.push(("toolCallResult", FieldChange::Remove));
    }
    changes
}

fn block_message<'p, 'a>(role: Role, pieces: &'p [RepairedPart<'a>]) -> BlockMessage<'p, 'a> {
    BlockMessage { role, pieces, content: ContentShape::List, role_changed: false }
}

fn is_result(part: &RepairedPart<'_>) -> bool {
    matches!(part.part.kind, PartKind::Answer(_))
}

/// The contents of a compression. Only the last of them can change.
fn compressed_history(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    list: Span,
    role: Role,
    parts: &[RepairedPart<'_>],
) -> Vec<OutputChunk> {
    let contents = array_elements(out.source, list);
    let start = contents.last().map_or(list.end, |last| last.start);
    let own: Vec<RepairedPart<'_>> =
        parts.iter().filter(|part| part.part.span.start >= start).cloned().collect();
    let mut inner = out.inner();
    inner.text("[");
    for (at, content) in contents.iter().enumerate() {
        inner.text(if at == 0 { "" } else { "," });
        if at + 1 < contents.len() {
            inner.copy(*content);
            continue;
        }
        let mut list = out.inner();
        let message = block_message(role, &own);
        write_block_list(&mut list, rewriter.draft(), None, &message, &gemini::SPLICE_FORMAT);
        let changes = vec![("parts", FieldChange::Chunks(list.finish()))];
        write_patched(&mut inner, *content, changes);
    }
    inner.text("]");
    inner.finish()
}

/// Writes a new record. An existing record is the template.
pub(crate) fn write_new_record(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &mut SpliceWriter<'_>,
    new: &NewLinkedRecord<'_>,
    parts: &[RepairedPart<'_>],
) {
    let link = new.link;
    let (kind, provenance) = match new.role {
        Role::Assistant => ("assistant", "assistant_output"),
        _ if parts.iter().any(is_result) => ("tool_result", "tool_result"),
        _ => ("user", "real_user"),
    };
    out.text(&format!("{{\"uuid\":{},\"parentUuid\":{}", quote(&link.id), link.parent));
    let template = rewriter.log().records[new.template as usize].span;
    for key in COMMON {
        if let Some(value) = field_value(out.source, template, key) {
            out.text(&format!(",\"{key}\":"));
            out.copy(value);
        }
    }
    if let Some(time) = &link.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    out.text(&format!(",\"type\":\"{kind}\",\"provenance\":\"{provenance}\",\"message\":"));
    let mut inner = out.inner();
    let message = block_message(new.role, parts);
    write_blocks(&mut inner, rewriter.draft(), None, &message, &gemini::SPLICE_FORMAT);
    out.append(inner.finish());
    if let [repaired] = parts
        && let (PartKind::Answer(answer), PartSource::Text(_)) =
            (&repaired.part.kind, repaired.source())
    {
        let id = quote(answer.id.as_deref().unwrap_or_default());
        out.text(&format!(",\"toolCallResult\":{{\"callId\":{id},\"status\":\"error\"}}"));
    }
    out.text("}");
}
