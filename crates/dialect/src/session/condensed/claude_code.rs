//! Claude Code: a `compact_boundary` begins anew, and what is left follows it as a chain of its
//! own. Newer versions can also name the messages that a compaction carries over; copies work in
//! every version.

use std::collections::HashMap;

use super::{
    Condensed, Session, all,
    fresh::Fresh,
    linked::{Links, Made, Said},
    mark,
};
use crate::{
    json::{elements, field, quote, says},
    session::claude_code::common,
    splice::{Change, Changes, Chunk, Writer, patch},
};

/// The record that begins anew, and its id.
pub(super) fn boundary(
    session: &Session<'_>,
    condensed: &Condensed<'_>,
    fresh: &mut Fresh<'_>,
    tip: u32,
    end: Option<&str>,
) -> (String, Vec<Chunk>) {
    let id = fresh.id(&["boundary"]);
    let mut out = Writer::new(session.log.source, &[]);
    let logical = end.map_or("null".to_owned(), quote);
    out.text(&format!("{{\"parentUuid\":null,\"logicalParentUuid\":{logical}"));
    common(&mut out, session.span(tip));
    out.text(&format!(
        ",\"type\":\"system\",\"subtype\":\"compact_boundary\",\"content\":{},\"isMeta\":false",
        quote(condensed.marker)
    ));
    if let Some(time) = fresh.time() {
        out.text(&format!(",\"timestamp\":{}", quote(&time)));
    }
    out.text(&format!(
        ",\"uuid\":{},\"level\":\"info\",\"compactMetadata\":{{\"trigger\":\"manual\",\"preTokens\":{}}}",
        quote(&id),
        condensed.tokens_before
    ));
    out.text(&format!(",\"{}\":{}}}", mark::MARK, mark::standing(&fresh.compaction, end)));
    (id, out.finish())
}

/// Who speaks, and what: a record for each block, as the agent writes it. Some versions part records
/// of several blocks when they load a file, and write them once more.
pub(super) fn pieces(json: &str) -> Vec<(&'static str, String)> {
    let role = match says(json, all(json), "role").as_deref() {
        Some("assistant") => "assistant",
        Some("system") => "system",
        _ => "user",
    };
    let content = field(json, all(json), "content");
    let blocks = content.map(|content| elements(json, content)).unwrap_or_default();
    if blocks.is_empty() {
        let content = content.map_or("[]", |content| content.of(json));
        return vec![(role, content.to_owned())];
    }
    blocks.into_iter().map(|block| (role, format!("[{}]", block.of(json)))).collect()
}

/// Writes a record of the new chain.
pub(super) fn write(
    session: &Session<'_>,
    out: &mut Writer<'_>,
    made: &Made,
    links: &Links<'_>,
    fresh: &mut Fresh<'_>,
    twins: &HashMap<&str, &str>,
) {
    match made {
        Made::Copy(record, message) => copy(session, out, *record, *message, links, fresh, twins),
        Made::Said(said) => self::said(session, out, said, links, fresh),
    }
}

/// A copy. Pieces of a reply belong together by the id of its message: the copies get one of their
/// own, so that nobody takes them for pieces of the old reply.
fn copy(
    session: &Session<'_>,
    out: &mut Writer<'_>,
    record: u32,
    message: usize,
    links: &Links<'_>,
    fresh: &Fresh<'_>,
    twins: &HashMap<&str, &str>,
) {
    let source = session.log.source;
    let span = session.span(record);
    let mut changes = links.changes();
    let link = session.log.links.get(record as usize).copied().unwrap_or_default();
    if let Some((reply, _)) = link.reply {
        let id = reply_id(&fresh.compaction, &format!("{message} {reply}"));
        changes.push(("message", Change::Inside(vec![("id", Change::Text(quote(&id)))])));
    }
    const CALL: &str = "sourceToolAssistantUUID";
    if field(source, span, CALL).is_some() {
        let twin = link.source.and_then(|call| twins.get(call));
        changes.push((CALL, twin.map_or(Change::Remove, |twin| Change::Text(quote(twin)))));
    }
    patch(out, span, changes);
}

fn reply_id(compaction: &str, reply: &str) -> String {
    format!("msg_{}", crate::session::desk::uuid(&[compaction, reply], 0).replace('-', ""))
}

/// A message that is not as it was.
fn said(
    session: &Session<'_>,
    out: &mut Writer<'_>,
    said: &Said,
    links: &Links<'_>,
    fresh: &Fresh<'_>,
) {
    let source = session.log.source;
    let like = session.span(said.template);
    out.text(&format!("{{\"parentUuid\":{}", links.parent.map_or("null".to_owned(), quote)));
    common(out, like);
    let kind = if said.role == "assistant" { "assistant" } else { "user" };
    let old = field(source, like, "message").filter(|_| said.known);
    if let Some(request) = field(source, like, "requestId")
        && kind == "assistant"
        && said.known
    {
        out.text(",\"requestId\":");
        out.copy(request);
    }
    out.text(&format!(",\"type\":\"{kind}\",\"message\":"));
    let id = || quote(&reply_id(&fresh.compaction, &format!("said {}", said.place)));
    match old {
        // The model and what it took stay.
        Some(old) if kind == "assistant" => {
            let changes: Changes<'_> = vec![
                ("id", Change::Text(id())),
                ("role", Change::Text(quote(said.role))),
                ("content", Change::Text(said.content.clone())),
            ];
            patch(out, old, changes);
        }
        None if kind == "assistant" => out.text(&format!(
            "{{\"id\":{},\"type\":\"message\",\"role\":\"assistant\",\"model\":\"<synthetic>\",\
             \"content\":{}}}",
            id(),
            said.content
        )),
        _ => out.text(&format!("{{\"role\":{},\"content\":{}}}", quote(said.role), said.content)),
    }
    if !said.known && kind == "user" {
        out.text(",\"isVisibleInTranscriptOnly\":true,\"isCompactSummary\":true");
    }
    out.text(&format!(",\"uuid\":{}", quote(links.id)));
    if let Some(time) = &links.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    out.text(&format!(",\"{}\":{}}}", mark::MARK, links.mark));
}
