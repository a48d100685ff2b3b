//! Claude Code: `projects/<folder>/<session>.jsonl`, and the files of its sub-agents.

mod write;

pub(super) use write::{copy_common_fields, message_changes, write_new_record};

use foxwedge_core::{
    ContentShape, MessageFlags, Role, Span, binds_thinking,
    chain::{CarriedRecords, LoaderBehavior},
};

use super::{
    effect::AgentVersion,
    metadata::SessionMetadata,
    records::{ParsedRecord, is_true, plain_string, string_value},
};
use crate::{
    anthropic,
    json::{JsonScanner, JsonShape, ScanResult, array_elements, field_value},
    outline::{OutlineReader, UniqueFields, read_role},
};

/// What Claude Code does when it loads a file. Versions before 2.1 send white space as they find
/// it: 1.0.128 and 2.0.77 were seen to, 2.1.112 and 2.1.325 leave such records out.
pub(super) fn chain_rules(version: Option<&str>) -> LoaderBehavior {
    let leaves_blank = AgentVersion::parse(version) >= AgentVersion::new(2, 1, 0);
    LoaderBehavior {
        finds_siblings: true,
        skips_empty_replies: true,
        skips_blank_records: leaves_blank,
    }
}

/// Whether an object is a record and not something inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("type") && has("sessionId") && (has("uuid") || has("message") || !has("role"))
}

/// Reads one record.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    seen: &mut ParsedRecord<'a>,
    about: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let before = reader.builder.message_count();
    let mut found: Option<ScanResult<ClaudeMessage<'a>>> = None;
    let mut request = "";
    let mut compaction = None;
    let mut title = None;
    let mut once = UniqueFields::default();
    scan.object(|scan, key, _| {
        // Of fields that decide about the conversation a second one is refused: which of them
        // counts would depend on the reader.
        match key {
            b"type" => {
                once.check(scan, 0, key)?;
                seen.kind = plain_string(scan, source)?.unwrap_or_default();
            }
            b"uuid" => {
                once.check(scan, 1, key)?;
                seen.link.id = plain_string(scan, source)?;
            }
            b"parentUuid" => {
                once.check(scan, 2, key)?;
                seen.link.parent = plain_string(scan, source)?;
            }
            b"sourceToolAssistantUUID" => {
                once.check(scan, 3, key)?;
                seen.link.source = plain_string(scan, source)?;
            }
            b"isSidechain" => {
                once.check(scan, 4, key)?;
                seen.link.is_subagent = is_true(scan, source)?;
            }
            b"isApiErrorMessage" => seen.link.is_hidden = is_true(scan, source)?,
            b"requestId" => {
                once.check(scan, 5, key)?;
                request = plain_string(scan, source)?.unwrap_or_default();
            }
            b"timestamp" => seen.time = plain_string(scan, source)?,
            b"message" if scan.shape()? == JsonShape::Object => {
                once.check(scan, 6, key)?;
                let mark = scan.checkpoint();
                let spoken = read_message(scan, reader);
                if spoken.is_err() {
                    // Whether that matters depends on what kind of record it is.
                    scan.reset(mark);
                    reader.builder.truncate(before);
                    scan.skip()?;
                }
                found = Some(spoken);
            }
            b"compactMetadata" => compaction = Some(scan.skip()?),
            b"sessionId" => {
                let id = string_value(scan, source)?;
                about.id = about.id.take().or(id);
            }
            b"cwd" => {
                let folder = string_value(scan, source)?;
                about.folder = about.folder.take().or(folder);
            }
            b"version" => about.version = string_value(scan, source)?.or(about.version.take()),
            b"summary" | b"customTitle" | b"aiTitle" => title = string_value(scan, source)?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    about.record_time(seen.time);
    match seen.kind {
        "user" | "assistant" => {
            let Some(spoken) = found.transpose()? else {
                return scan.fail(format!("a `{}` record without a message", seen.kind));
            };
            if seen.link.id.is_none() {
                return scan.fail(format!("a `{}` record without a `uuid`", seen.kind));
            }
            let mut marks = MessageFlags::default();
            if spoken.role.is_assistant() {
                seen.link.reply = spoken.id.map(|id| (id, request));
                let model = spoken.model.filter(|model| model != "<synthetic>");
                if model.as_deref().is_some_and(|model| !binds_thinking(Some(model))) {
                    marks = MessageFlags::UNBOUND;
                }
                about.model = model.or(about.model.take());
            }
            seen.message = Some((spoken.role, spoken.span, spoken.content, marks));
        }
        "summary" | "custom-title" | "ai-title" => about.title = title.or(about.title.take()),
        "system" => seen.carried = compaction.and_then(|value| carried_messages(source, value)),
        _ => {}
    }
    Ok(())
}

/// A message as the API knows it.
struct ClaudeMessage<'a> {
    role: Role,
    span: Span,
    content: ContentShape,
    id: Option<&'a str>,
    model: Option<std::borrow::Cow<'a, str>>,
}

fn read_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<ClaudeMessage<'a>> {
    let source = reader.source;
    let mut spoken = ClaudeMessage {
        role: Role::Unknown,
        span: Span::NOWHERE,
        content: ContentShape::Absent,
        id: None,
        model: None,
    };
    let mut once = UniqueFields::default();
    spoken.span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"role", b"content", b"id"], key)?;
        match key {
            b"role" => spoken.role = read_role(scan, source, anthropic::known_role)?.0,
            b"content" => {
                spoken.content = anthropic::read_content(scan, reader, anthropic::read_block)?
            }
            b"id" => spoken.id = plain_string(scan, source)?.filter(|id| !id.is_empty()),
            b"model" => spoken.model = string_value(scan, source)?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    if spoken.role == Role::Unknown {
        return scan.fail("a message without a role that we know");
    }
    Ok(spoken)
}

/// The messages that a compaction carried over.
fn carried_messages<'a>(source: &'a str, metadata: Span) -> Option<CarriedRecords<'a>> {
    let text = |span: Span| span.of(source).trim_matches('"');
    if let Some(kept) = field_value(source, metadata, "preservedMessages") {
        let anchor = text(field_value(source, kept, "anchorUuid")?);
        let ids =
            field_value(source, kept, "allUuids").or_else(|| field_value(source, kept, "uuids"))?;
        let ids = array_elements(source, ids).into_iter().map(text).collect();
        return Some(CarriedRecords { anchor, ids, segment: None });
    }
    let kept = field_value(source, metadata, "preservedSegment")?;
    let part = |key| field_value(source, kept, key).map(text);
    let segment = Some((part("tailUuid")?, part("headUuid")?));
    Some(CarriedRecords { anchor: part("anchorUuid")?, ids: Vec::new(), segment })
}
