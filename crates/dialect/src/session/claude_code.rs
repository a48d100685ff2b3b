//! Claude Code: `projects/<folder>/<session>.jsonl`, and the files of its sub-agents.

mod write;

pub(super) use write::{changed, common, new};

use foxwedge_core::{
    Content, Marks, Role, Span, binds_thinking,
    chain::{Carried, Manner},
};

use super::{
    about::About,
    effect::AgentVersion,
    log::{Seen, is_true, said, spelled},
};
use crate::{
    anthropic,
    json::{Scan, Scanner, Shape, elements, field},
    outline::{Once, Reader, role},
};

/// What Claude Code does when it loads a file. Versions before 2.1 send white space as they find
/// it: 1.0.128 and 2.0.77 were seen to, 2.1.112 and 2.1.325 leave such records out.
pub(super) fn manner(version: Option<&str>) -> Manner {
    let leaves_blank = AgentVersion::parse(version) >= AgentVersion::new(2, 1, 0);
    Manner { finds_siblings: true, leaves_hollow: true, leaves_blank }
}

/// Whether an object is a record and not something inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field(source, object, key).is_some();
    has("type") && has("sessionId") && (has("uuid") || has("message") || !has("role"))
}

/// Reads one record.
pub(super) fn record<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    seen: &mut Seen<'a>,
    about: &mut About<'a>,
) -> Scan<()> {
    let source = reader.source;
    let before = reader.builder.messages();
    let mut found: Option<Scan<Spoken<'a>>> = None;
    let mut request = "";
    let mut compaction = None;
    let mut title = None;
    let mut once = Once::default();
    scan.object(|scan, key, _| {
        // Of fields that decide about the conversation a second one is refused: which of them
        // counts would depend on the reader.
        match key {
            b"type" => {
                once.field(scan, 0, key)?;
                seen.kind = spelled(scan, source)?.unwrap_or_default();
            }
            b"uuid" => {
                once.field(scan, 1, key)?;
                seen.link.id = spelled(scan, source)?;
            }
            b"parentUuid" => {
                once.field(scan, 2, key)?;
                seen.link.parent = spelled(scan, source)?;
            }
            b"sourceToolAssistantUUID" => {
                once.field(scan, 3, key)?;
                seen.link.source = spelled(scan, source)?;
            }
            b"isSidechain" => {
                once.field(scan, 4, key)?;
                seen.link.side = is_true(scan, source)?;
            }
            b"isApiErrorMessage" => seen.link.hidden = is_true(scan, source)?,
            b"requestId" => {
                once.field(scan, 5, key)?;
                request = spelled(scan, source)?.unwrap_or_default();
            }
            b"timestamp" => seen.time = spelled(scan, source)?,
            b"message" if scan.shape()? == Shape::Object => {
                once.field(scan, 6, key)?;
                let mark = scan.mark();
                let spoken = message(scan, reader);
                if spoken.is_err() {
                    // Whether that matters depends on what kind of record it is.
                    scan.reset(mark);
                    reader.builder.abandon(before);
                    scan.skip()?;
                }
                found = Some(spoken);
            }
            b"compactMetadata" => compaction = Some(scan.skip()?),
            b"sessionId" => {
                let id = said(scan, source)?;
                about.id = about.id.take().or(id);
            }
            b"cwd" => {
                let folder = said(scan, source)?;
                about.folder = about.folder.take().or(folder);
            }
            b"version" => about.version = said(scan, source)?.or(about.version.take()),
            b"summary" | b"customTitle" | b"aiTitle" => title = said(scan, source)?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    about.written(seen.time);
    match seen.kind {
        "user" | "assistant" => {
            let Some(spoken) = found.transpose()? else {
                return scan.trouble(format!("a `{}` record without a message", seen.kind));
            };
            if seen.link.id.is_none() {
                return scan.trouble(format!("a `{}` record without a `uuid`", seen.kind));
            }
            let mut marks = Marks::default();
            if spoken.role.is_assistant() {
                seen.link.reply = spoken.id.map(|id| (id, request));
                let model = spoken.model.filter(|model| model != "<synthetic>");
                if model.as_deref().is_some_and(|model| !binds_thinking(Some(model))) {
                    marks = Marks::UNBOUND;
                }
                about.model = model.or(about.model.take());
            }
            seen.message = Some((spoken.role, spoken.span, spoken.content, marks));
        }
        "summary" | "custom-title" | "ai-title" => about.title = title.or(about.title.take()),
        "system" => seen.carried = compaction.and_then(|value| carried(source, value)),
        _ => {}
    }
    Ok(())
}

/// A message as the API knows it.
struct Spoken<'a> {
    role: Role,
    span: Span,
    content: Content,
    id: Option<&'a str>,
    model: Option<std::borrow::Cow<'a, str>>,
}

fn message<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<Spoken<'a>> {
    let source = reader.source;
    let mut spoken = Spoken {
        role: Role::Unknown,
        span: Span::NOWHERE,
        content: Content::Absent,
        id: None,
        model: None,
    };
    let mut once = Once::default();
    spoken.span = scan.object(|scan, key, _| {
        once.one_of(scan, &[b"role", b"content", b"id"], key)?;
        match key {
            b"role" => spoken.role = role(scan, source, anthropic::known)?.0,
            b"content" => spoken.content = anthropic::body(scan, reader, anthropic::block)?,
            b"id" => spoken.id = spelled(scan, source)?.filter(|id| !id.is_empty()),
            b"model" => spoken.model = said(scan, source)?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    if spoken.role == Role::Unknown {
        return scan.trouble("a message without a role that we know");
    }
    Ok(spoken)
}

/// The messages that a compaction carried over.
fn carried<'a>(source: &'a str, metadata: Span) -> Option<Carried<'a>> {
    let text = |span: Span| span.of(source).trim_matches('"');
    if let Some(kept) = field(source, metadata, "preservedMessages") {
        let anchor = text(field(source, kept, "anchorUuid")?);
        let ids = field(source, kept, "allUuids").or_else(|| field(source, kept, "uuids"))?;
        let ids = elements(source, ids).into_iter().map(text).collect();
        return Some(Carried { anchor, ids, segment: None });
    }
    let kept = field(source, metadata, "preservedSegment")?;
    let part = |key| field(source, kept, key).map(text);
    let segment = Some((part("tailUuid")?, part("headUuid")?));
    Some(Carried { anchor: part("anchorUuid")?, ids: Vec::new(), segment })
}
