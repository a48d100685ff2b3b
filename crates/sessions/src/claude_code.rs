//! Claude Code: `projects/<folder>/<session>.jsonl`, and the files of its sub-agents.

mod write;

pub(super) use write::{copy_common_fields, message_changes, write_new_record};

use crate::chain::{CarriedRecords, LoaderBehavior};
use foxwedge_core::{ContentShape, MessageFlags, Role, Span, binds_thinking};

use super::{
    effect::AgentVersion,
    metadata::SessionMetadata,
    records::{ParsedRecord, is_true, plain_string, string_value},
};
use foxwedge_formats::{
    anthropic,
    outline::{OutlineReader, UniqueFields, read_role, read_unknown_field},
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, array_elements, field_text, field_value};

/// How Claude Code loads a file. Versions before 2.1 send blank records (observed with 1.0.128 and
/// 2.0.77); 2.1.112 and 2.1.325 skip them.
pub(super) fn chain_rules(version: Option<&str>) -> LoaderBehavior {
    let skips_blank_records = AgentVersion::parse(version) >= AgentVersion::new(2, 1, 0);
    LoaderBehavior {
        finds_siblings: true,
        skips_empty_replies: true,
        skips_blank_records,
        starts_at_notes: false,
        keeps_summaries_apart: false,
    }
}

/// Whether an object is a record, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("type") && has("sessionId") && (has("uuid") || has("message") || !has("role"))
}

/// Reads one record.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let before = reader.builder.message_count();
    let mut parsed: Option<ScanResult<ClaudeMessage<'a>>> = None;
    let mut request = "";
    let (mut is_boundary, mut compaction) = (false, None);
    let mut title = None;
    let mut deferred = false;
    let mut once = UniqueFields::default();
    scan.object(|scan, key, _| {
        // Duplicates of fields that affect the conversation are rejected: which one counts would
        // depend on the parser.
        match key {
            b"type" => {
                once.check(scan, 0, key)?;
                record.kind = plain_string(scan, source)?.unwrap_or_default();
            }
            b"uuid" => {
                once.check(scan, 1, key)?;
                record.link.id = plain_string(scan, source)?;
            }
            b"parentUuid" => {
                once.check(scan, 2, key)?;
                record.link.parent = plain_string(scan, source)?;
            }
            b"sourceToolAssistantUUID" => {
                once.check(scan, 3, key)?;
                record.link.source = plain_string(scan, source)?;
            }
            b"isSidechain" => {
                once.check(scan, 4, key)?;
                record.link.is_subagent = is_true(scan, source)?;
            }
            b"isApiErrorMessage" => record.link.is_hidden = is_true(scan, source)?,
            b"requestId" => {
                once.check(scan, 5, key)?;
                request = plain_string(scan, source)?.unwrap_or_default();
            }
            b"timestamp" => record.time = plain_string(scan, source)?,
            b"message" if scan.shape()? == JsonShape::Object => {
                once.check(scan, 6, key)?;
                let mark = scan.checkpoint();
                let message = read_message(scan, reader);
                if message.is_err() {
                    // Whether this is an error depends on the record type.
                    scan.reset(mark);
                    reader.builder.truncate(before);
                    scan.skip()?;
                }
                parsed = Some(message);
            }
            b"attachment" => deferred |= is_deferral(source, scan.skip()?),
            b"subtype" => is_boundary = plain_string(scan, source)? == Some("compact_boundary"),
            b"compactMetadata" => compaction = Some(scan.skip()?),
            b"sessionId" => {
                let id = string_value(scan, source)?;
                metadata.id = metadata.id.take().or(id);
            }
            b"cwd" => {
                let folder = string_value(scan, source)?;
                metadata.folder = metadata.folder.take().or(folder);
            }
            b"version" => {
                metadata.version = string_value(scan, source)?.or(metadata.version.take())
            }
            b"summary" | b"customTitle" | b"aiTitle" => title = string_value(scan, source)?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    metadata.record_time(record.time);
    metadata.waits_for_tools |= deferred && record.kind == "attachment";
    match record.kind {
        "user" | "assistant" => {
            metadata.waits_for_tools &= record.link.is_subagent;
            let Some(message) = parsed.transpose()? else {
                return scan.fail(format!("a `{}` record without a message", record.kind));
            };
            if record.link.id.is_none() {
                return scan.fail(format!("a `{}` record without a `uuid`", record.kind));
            }
            let mut flags = message.flags;
            if message.role.is_assistant() {
                record.link.reply = message.id.map(|id| (id, request));
                let model = message.model.filter(|model| model != "<synthetic>");
                if model.as_deref().is_some_and(|model| !binds_thinking(Some(model))) {
                    flags = flags.with(MessageFlags::UNBOUND);
                }
                metadata.model = model.or(metadata.model.take());
            }
            record.message = Some((message.role, message.span, message.content, flags));
        }
        "summary" | "custom-title" | "ai-title" => metadata.title = title.or(metadata.title.take()),
        "system" if is_boundary => {
            record.carried = compaction.and_then(|value| carried_messages(source, value));
        }
        _ => {}
    }
    Ok(())
}

/// Whether an attachment says that a hook put off a call: the call stays open until the session is
/// resumed (since 2.1.89).
fn is_deferral(source: &str, attachment: Span) -> bool {
    const KIND: &str = "hook_deferred_tool";
    let raw = attachment.of(source).as_bytes();
    let start = raw.get(..raw.len().min(64)).unwrap_or(raw);
    start.windows(KIND.len()).any(|it| it == KIND.as_bytes())
        && field_text(source, attachment, "type").as_deref() == Some(KIND)
}

/// A message in the API format.
struct ClaudeMessage<'a> {
    role: Role,
    span: Span,
    content: ContentShape,
    flags: MessageFlags,
    id: Option<&'a str>,
    model: Option<std::borrow::Cow<'a, str>>,
}

fn read_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<ClaudeMessage<'a>> {
    let source = reader.source;
    let mut message = ClaudeMessage {
        role: Role::Unknown,
        span: Span::NOWHERE,
        content: ContentShape::Absent,
        flags: MessageFlags::default(),
        id: None,
        model: None,
    };
    let mut once = UniqueFields::default();
    message.span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"role", b"content", b"id"], key)?;
        match key {
            b"role" => message.role = read_role(scan, source, anthropic::known_role)?.0,
            b"content" => {
                message.content = anthropic::read_content(scan, reader, anthropic::read_block)?
            }
            b"id" => message.id = plain_string(scan, source)?.filter(|id| !id.is_empty()),
            b"model" => message.model = string_value(scan, source)?,
            _ => read_unknown_field(scan, key, &mut message.flags)?,
        }
        Ok(())
    })?;
    // Every message has this field. Unknown fields matter only where it is missing.
    if message.content != ContentShape::Absent {
        message.flags = MessageFlags::default();
    }
    if message.role == Role::Unknown {
        return scan.fail("a message without a known role");
    }
    Ok(message)
}

/// The messages that a compaction carried over.
fn carried_messages<'a>(source: &'a str, metadata: Span) -> Option<CarriedRecords<'a>> {
    let text = |span: Span| span.of(source).trim_matches('"');
    if let Some(preserved) = field_value(source, metadata, "preservedMessages") {
        let anchor = text(field_value(source, preserved, "anchorUuid")?);
        let ids = field_value(source, preserved, "allUuids")
            .or_else(|| field_value(source, preserved, "uuids"))?;
        let ids = array_elements(source, ids).into_iter().map(text).collect();
        return Some(CarriedRecords { compaction: 0, anchor, ids, segment: None });
    }
    let preserved = field_value(source, metadata, "preservedSegment")?;
    let part = |key| field_value(source, preserved, key).map(text);
    let segment = Some((part("tailUuid")?, part("headUuid")?));
    Some(CarriedRecords { compaction: 0, anchor: part("anchorUuid")?, ids: Vec::new(), segment })
}
