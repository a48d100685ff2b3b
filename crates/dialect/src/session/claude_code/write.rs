//! Spells records of Claude Code.

use foxwedge_core::{ContentShape, PartKind, PartSource, RepairedPart, Role, Span};

use crate::{
    anthropic,
    json::{field_value, quote},
    session::{
        linked_rewriter::{LinkedFileRewriter, NewLinkedRecord},
        records::SessionRecord,
    },
    splice::{BlockMessage, FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_blocks},
};

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

/// The message of a record, said anew.
pub(in crate::session) fn message_changes(
    desk: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    record: u32,
    role: Role,
    pieces: &[RepairedPart<'_>],
) -> FieldChanges<'static> {
    let Some(fragment) = desk.fragment(record) else { return Vec::new() };
    let content = if pieces.len() == 1 { fragment.content } else { ContentShape::List };
    let mut inner = out.inner();
    let spoken = BlockMessage { role, pieces, content, role_changed: false };
    write_blocks(&mut inner, desk.draft(), Some(fragment), &spoken, &anthropic::SPLICE_FORMAT);
    vec![("message", FieldChange::Chunks(inner.finish()))]
}

/// A new record, shaped like another one.
pub(in crate::session) fn write_new_record(
    desk: &LinkedFileRewriter<'_, '_>,
    out: &mut SpliceWriter<'_>,
    new: &NewLinkedRecord<'_>,
    pieces: &[RepairedPart<'_>],
) {
    let &NewLinkedRecord { template, link: fresh, role, joins } = new;
    let like: SessionRecord<'_> = desk.log.records[template as usize];
    out.text(&format!("{{\"parentUuid\":{}", fresh.parent));
    copy_common_fields(out, like.span);
    if let Some(request) = field_value(out.source, like.span, "requestId")
        && joins
        && role == Role::Assistant
    {
        out.text(",\"requestId\":");
        out.copy(request);
    }
    let kind = if role == Role::Assistant { "assistant" } else { "user" };
    out.text(&format!(",\"type\":\"{kind}\",\"message\":"));
    let message = write_new_message(desk, out, new, pieces);
    out.append(message);
    out.text(&format!(",\"uuid\":{}", quote(&fresh.id)));
    if let Some(time) = &fresh.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    if let [piece] = pieces
        && let (PartKind::Answer(answer), PartSource::Text(words)) =
            (&piece.part.kind, &piece.source)
    {
        out.text(&format!(",\"toolUseResult\":{}", quote(words)));
        if let Some(call) = answer.id.as_deref().and_then(|id| desk.call_before(id, template)) {
            out.text(&format!(",\"sourceToolAssistantUUID\":{}", quote(desk.id(call))));
        }
    }
    out.text("}");
}

/// Copies what all records of a session have in common.
pub(in crate::session) fn copy_common_fields(out: &mut SpliceWriter<'_>, like: Span) {
    for key in COMMON {
        if let Some(value) = field_value(out.source, like, key) {
            out.text(&format!(",\"{key}\":"));
            out.copy(value);
        }
    }
}

/// The message of a new record. A reply in pieces has one id for all of them.
fn write_new_message(
    desk: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    new: &NewLinkedRecord<'_>,
    pieces: &[RepairedPart<'_>],
) -> Vec<OutputChunk> {
    let &NewLinkedRecord { template, link: fresh, role, joins } = new;
    let mut inner = out.inner();
    let spoken = BlockMessage { role, pieces, content: ContentShape::List, role_changed: false };
    if role == Role::Assistant {
        let same =
            desk.log.links[template as usize].reply.filter(|_| joins).map(|(reply, _)| reply);
        let reply = same.map_or_else(|| quote(&fresh.id), |reply| format!("\"{reply}\""));
        inner.text(&format!("{{\"id\":{reply},\"type\":\"message\",\"model\":\"<synthetic>\","));
        let mut body = out.inner();
        write_blocks(&mut body, desk.draft(), None, &spoken, &anthropic::SPLICE_FORMAT);
        let mut chunks = body.finish();
        if let Some(OutputChunk::Text(first)) = chunks.first_mut() {
            // What follows goes on with the object that was begun.
            *first = first.strip_prefix('{').unwrap_or(first).to_owned();
        }
        inner.append(chunks);
    } else {
        write_blocks(&mut inner, desk.draft(), None, &spoken, &anthropic::SPLICE_FORMAT);
    }
    inner.finish()
}
