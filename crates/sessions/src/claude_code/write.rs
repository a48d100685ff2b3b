//! Writes records of Claude Code.

use foxwedge_core::{ContentShape, PartKind, PartSource, RepairedPart, Role, Span};

use crate::{
    link_changes::NewLinkedRecord, linked_file::LinkedFileRewriter, records::SessionRecord,
};
use foxwedge_formats::{
    anthropic,
    splice::{BlockMessage, write_blocks},
};
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter};
use foxwedge_json::{field_value, quote};

/// Fields that every record of a session has in common.
const COMMON: [&str; 10] = [
    "isSidechain",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "slug",
    "agentId",
    "teamName",
];

/// The changed message of a record.
pub(crate) fn message_changes(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    record: u32,
    role: Role,
    parts: &[RepairedPart<'_>],
) -> FieldChanges<'static> {
    let Some(fragment) = rewriter.fragment(record) else { return Vec::new() };
    let content = if parts.len() == 1 { fragment.content } else { ContentShape::List };
    let mut inner = out.inner();
    let message = BlockMessage { role, pieces: parts, content, role_changed: false };
    write_blocks(&mut inner, rewriter.draft(), Some(fragment), &message, &anthropic::SPLICE_FORMAT);
    vec![("message", FieldChange::Chunks(inner.finish()))]
}

/// Writes a new record. An existing record is the template.
pub(crate) fn write_new_record(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &mut SpliceWriter<'_>,
    new: &NewLinkedRecord<'_>,
    parts: &[RepairedPart<'_>],
) {
    let &NewLinkedRecord { template, link, role, joins } = new;
    let template_record: SessionRecord<'_> = rewriter.log.records[template as usize];
    out.text(&format!("{{\"parentUuid\":{}", link.parent));
    copy_common_fields(out, template_record.span);
    if let Some(request) = field_value(out.source, template_record.span, "requestId")
        && joins
        && role == Role::Assistant
    {
        out.text(",\"requestId\":");
        out.copy(request);
    }
    let kind = if role == Role::Assistant { "assistant" } else { "user" };
    out.text(&format!(",\"type\":\"{kind}\",\"message\":"));
    let message = write_new_message(rewriter, out, new, parts);
    out.append(message);
    out.text(&format!(",\"uuid\":{}", quote(&link.id)));
    if let Some(time) = &link.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    if let [repaired] = parts
        && let (PartKind::Answer(answer), PartSource::Text(text)) =
            (&repaired.part.kind, repaired.source())
    {
        out.text(&format!(",\"toolUseResult\":{}", quote(text)));
        if let Some(call) = answer.id.as_deref().and_then(|id| rewriter.call_before(id, template)) {
            out.text(&format!(",\"sourceToolAssistantUUID\":{}", quote(rewriter.id(call))));
        }
    }
    out.text("}");
}

/// Copies the fields that all records of a session have in common.
pub(crate) fn copy_common_fields(out: &mut SpliceWriter<'_>, template: Span) {
    for key in COMMON {
        if let Some(value) = field_value(out.source, template, key) {
            out.text(&format!(",\"{key}\":"));
            out.copy(value);
        }
    }
}

/// Writes the message of a new record. All records of a reply share one message id.
fn write_new_message(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    new: &NewLinkedRecord<'_>,
    parts: &[RepairedPart<'_>],
) -> Vec<OutputChunk> {
    let &NewLinkedRecord { template, link, role, joins } = new;
    let mut inner = out.inner();
    let message =
        BlockMessage { role, pieces: parts, content: ContentShape::List, role_changed: false };
    if role == Role::Assistant {
        let same =
            rewriter.log.links[template as usize].reply.filter(|_| joins).map(|(reply, _)| reply);
        let reply = same.map_or_else(|| quote(&link.id), |reply| format!("\"{reply}\""));
        inner.text(&format!("{{\"id\":{reply},\"type\":\"message\",\"model\":\"<synthetic>\","));
        let mut body = out.inner();
        write_blocks(&mut body, rewriter.draft(), None, &message, &anthropic::SPLICE_FORMAT);
        let mut chunks = body.finish();
        if let Some(OutputChunk::Text(first)) = chunks.first_mut() {
            // The object was already opened above.
            *first = first.strip_prefix('{').unwrap_or(first).to_owned();
        }
        inner.append(chunks);
    } else {
        write_blocks(&mut inner, rewriter.draft(), None, &message, &anthropic::SPLICE_FORMAT);
    }
    inner.finish()
}
