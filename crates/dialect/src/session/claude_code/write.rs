//! Spells records of Claude Code.

use foxwedge_core::{Content, Kind, Piece, Role, Source, Span};

use crate::{
    anthropic,
    json::{field, quote},
    session::{
        desk::{Desk, New},
        log::Record,
    },
    splice::{Change, Changes, Chunk, Spoken, Writer, write_blocks},
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
pub(in crate::session) fn changed(
    desk: &Desk<'_, '_>,
    out: &Writer<'_>,
    record: u32,
    role: Role,
    pieces: &[Piece<'_>],
) -> Changes<'static> {
    let Some(fragment) = desk.fragment(record) else { return Vec::new() };
    let content = if pieces.len() == 1 { fragment.content } else { Content::List };
    let mut inner = out.inner();
    let spoken = Spoken { role, pieces, content, recast: false };
    write_blocks(&mut inner, desk.draft(), Some(fragment), &spoken, &anthropic::SPELLING);
    vec![("message", Change::Chunks(inner.finish()))]
}

/// A new record, shaped like another one.
pub(in crate::session) fn new(
    desk: &Desk<'_, '_>,
    out: &mut Writer<'_>,
    new: &New<'_>,
    pieces: &[Piece<'_>],
) {
    let &New { template, fresh, role, joins } = new;
    let like: Record<'_> = desk.log.records[template as usize];
    out.text(&format!("{{\"parentUuid\":{}", fresh.parent));
    common(out, like.span);
    if let Some(request) = field(out.source, like.span, "requestId")
        && joins
        && role == Role::Assistant
    {
        out.text(",\"requestId\":");
        out.copy(request);
    }
    let kind = if role == Role::Assistant { "assistant" } else { "user" };
    out.text(&format!(",\"type\":\"{kind}\",\"message\":"));
    let message = message(desk, out, new, pieces);
    out.append(message);
    out.text(&format!(",\"uuid\":{}", quote(&fresh.id)));
    if let Some(time) = &fresh.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    if let [piece] = pieces
        && let (Kind::Answer(answer), Source::Words(words)) = (&piece.part.kind, &piece.source)
    {
        out.text(&format!(",\"toolUseResult\":{}", quote(words)));
        if let Some(call) = answer.id.as_deref().and_then(|id| desk.call_before(id, template)) {
            out.text(&format!(",\"sourceToolAssistantUUID\":{}", quote(desk.id(call))));
        }
    }
    out.text("}");
}

/// Copies what all records of a session have in common.
pub(in crate::session) fn common(out: &mut Writer<'_>, like: Span) {
    for key in COMMON {
        if let Some(value) = field(out.source, like, key) {
            out.text(&format!(",\"{key}\":"));
            out.copy(value);
        }
    }
}

/// The message of a new record. A reply in pieces has one id for all of them.
fn message(
    desk: &Desk<'_, '_>,
    out: &Writer<'_>,
    new: &New<'_>,
    pieces: &[Piece<'_>],
) -> Vec<Chunk> {
    let &New { template, fresh, role, joins } = new;
    let mut inner = out.inner();
    let spoken = Spoken { role, pieces, content: Content::List, recast: false };
    if role == Role::Assistant {
        let same =
            desk.log.links[template as usize].reply.filter(|_| joins).map(|(reply, _)| reply);
        let reply = same.map_or_else(|| quote(&fresh.id), |reply| format!("\"{reply}\""));
        inner.text(&format!("{{\"id\":{reply},\"type\":\"message\",\"model\":\"<synthetic>\","));
        let mut body = out.inner();
        write_blocks(&mut body, desk.draft(), None, &spoken, &anthropic::SPELLING);
        let mut chunks = body.finish();
        if let Some(Chunk::Text(first)) = chunks.first_mut() {
            // What follows goes on with the object that was begun.
            *first = first.strip_prefix('{').unwrap_or(first).to_owned();
        }
        inner.append(chunks);
    } else {
        write_blocks(&mut inner, desk.draft(), None, &spoken, &anthropic::SPELLING);
    }
    inner.finish()
}
