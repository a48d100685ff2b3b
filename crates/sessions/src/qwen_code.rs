//! Qwen Code: `projects/<folder>/chats/<session>.jsonl`.
//!
//! Records are linked as those of Claude Code, and hold contents of the Gemini API. Records that are
//! not messages are links of the path, too. Qwen Code starts at the last record of the file and
//! follows the parents. A compression replaces everything before it by contents of its own.

use crate::chain::LoaderBehavior;
use foxwedge_core::{ContentShape, Message, MessageFlags, Part, PartKind, Role, Span, TextShape};
use foxwedge_formats::{
    gemini,
    outline::{OutlineReader, UniqueFields, read_unknown_field},
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, array_elements, field_text, field_value};

use super::{
    gemini_cli,
    metadata::SessionMetadata,
    records::{ParsedRecord, plain_string, string_value},
};

mod write;

pub(super) use write::{content_changes, write_new_record};

/// How Qwen Code loads a file: it follows the links from the last record and corrects nothing.
pub(super) const CHAIN_RULES: LoaderBehavior = LoaderBehavior {
    finds_siblings: false,
    skips_empty_replies: false,
    skips_blank_records: false,
    starts_at_notes: true,
    keeps_summaries_apart: true,
};

/// Records that Qwen Code keeps in the file, but not on the path.
const ASIDE: [&str; 6] = [
    "session_artifact_event",
    "session_artifact_snapshot",
    "session_sources_snapshot",
    "managed_session_header_v1",
    "managed_session_event_v1",
    "managed_session_commit_v1",
];

/// Whether an object is a record, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("type") && has("uuid") && has("parentUuid") && has("sessionId")
}

/// Reads one record.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let (mut subtype, mut session, mut model) = ("", None, None);
    let (mut message, mut parsed, mut payload) = (None, None, None);
    let mut has_parent = false;
    let mut once = UniqueFields::default();
    scan.object(|scan, key, _| {
        const KNOWN: [&[u8]; 7] = [
            b"type",
            b"subtype",
            b"uuid",
            b"parentUuid",
            b"sessionId",
            b"message",
            b"systemPayload",
        ];
        once.check_known(scan, &KNOWN, key)?;
        match key {
            b"type" => record.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"subtype" => subtype = plain_string(scan, source)?.unwrap_or_default(),
            b"uuid" => record.link.id = plain_string(scan, source)?.filter(|id| !id.is_empty()),
            b"parentUuid" => {
                has_parent = matches!(scan.shape()?, JsonShape::String | JsonShape::Null);
                record.link.parent = plain_string(scan, source)?.filter(|id| !id.is_empty());
            }
            b"sessionId" => session = string_value(scan, source)?,
            b"timestamp" => record.time = plain_string(scan, source)?,
            b"message" if is_message(record.kind) && scan.shape()? == JsonShape::Object => {
                parsed = Some(read_message(scan, reader)?);
            }
            b"message" => message = Some(scan.skip()?),
            b"systemPayload" => payload = Some(scan.skip()?),
            b"model" => model = string_value(scan, source)?,
            b"cwd" => {
                let folder = string_value(scan, source)?;
                metadata.folder = metadata.folder.take().or(folder);
            }
            b"version" => {
                metadata.version = string_value(scan, source)?.or(metadata.version.take());
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    metadata.record_time(record.time);
    if !is_message(record.kind) && record.kind != "system" {
        // Qwen Code skips records of other kinds.
        (record.link.id, record.link.parent) = (None, None);
        return Ok(());
    }
    let Some(session) = session.filter(|_| has_parent && record.link.id.is_some()) else {
        return scan.fail(format!(
            "a `{}` record without a `uuid`, a `parentUuid` or a `sessionId`",
            record.kind
        ));
    };
    if metadata.id.as_ref().is_some_and(|id| *id != session) {
        return scan.fail("a record of another session");
    }
    metadata.id = Some(session);
    if record.kind == "system" {
        return read_system_record(scan, reader, record, subtype, payload, metadata);
    }
    if let (None, Some(late)) = (&parsed, message) {
        let mut inner = JsonScanner::within(source, late);
        if inner.shape()? != JsonShape::Object {
            return scan.fail("`message` is not an object");
        }
        parsed = Some(read_message(&mut inner, reader)?);
    }
    record.link.is_hidden = subtype == "realtime_message";
    metadata.model = model.or(metadata.model.take());
    record.message = parsed;
    Ok(())
}

fn is_message(kind: &str) -> bool {
    matches!(kind, "user" | "assistant" | "tool_result")
}

/// Role, span, content shape and flags of a message.
type ReadMessage = (Role, Span, ContentShape, MessageFlags);

/// Reads a content of the Gemini API.
fn read_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<ReadMessage> {
    let source = reader.source;
    let (mut role, mut content) = (Role::Unknown, ContentShape::Absent);
    let mut flags = MessageFlags::default();
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"role", b"parts"], key)?;
        match key {
            b"role" => role = role_of(plain_string(scan, source)?),
            b"parts" if scan.shape()? == JsonShape::Array => {
                scan.array(|scan, _| match scan.shape()? {
                    JsonShape::Object => gemini::read_part(scan, reader),
                    _ => scan.fail("a part is not an object"),
                })?;
                content = ContentShape::List;
            }
            b"parts" => return scan.fail("`parts` is not a list"),
            _ => read_unknown_field(scan, key, &mut flags)?,
        }
        Ok(())
    })?;
    // Unknown fields matter only where `parts` are missing.
    if content != ContentShape::Absent {
        flags = MessageFlags::default();
    }
    match role {
        Role::Unknown => scan.fail("a message without a known role"),
        role => Ok((role, span, content, flags)),
    }
}

fn role_of(name: Option<&str>) -> Role {
    match name {
        Some("user") => Role::User,
        Some("model") => Role::Assistant,
        _ => Role::Unknown,
    }
}

fn read_system_record<'a>(
    scan: &JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    subtype: &str,
    payload: Option<Span>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    if ASIDE.contains(&subtype) {
        (record.link.id, record.link.parent) = (None, None);
        return Ok(());
    }
    let value = |key: &str| field_value(source, payload?, key);
    match subtype {
        "custom_title" => {
            let title = payload.and_then(|payload| field_text(source, payload, "customTitle"));
            metadata.title = title.or(metadata.title.take());
        }
        "chat_compression" => {
            let contents = value("compressedHistory").filter(|at| at.of(source) != "null");
            let Some(contents) = contents else { return Ok(()) };
            if !contents.of(source).starts_with('[') {
                return scan.fail("`compressedHistory` is not a list");
            }
            record.link.cut_parent = record.link.parent.take();
            record.message = read_compression(contents, reader)?;
        }
        _ => {}
    }
    Ok(())
}

/// Reads the contents that replace everything before a compression, as one message. Calls in them
/// have their results there, except those of the last content.
fn read_compression(list: Span, reader: &mut OutlineReader<'_>) -> ScanResult<Option<ReadMessage>> {
    let source = reader.source;
    let contents = array_elements(source, list);
    let mut role = Role::User;
    for (at, content) in contents.iter().enumerate() {
        let parts =
            field_value(source, *content, "parts").filter(|at| at.of(source).starts_with('['));
        let is_reply = field_text(source, *content, "role").as_deref() == Some("model");
        for part in parts.map(|parts| array_elements(source, parts)).unwrap_or_default() {
            let is_call = field_value(source, part, "functionCall").is_some();
            if is_call && is_reply && at + 1 == contents.len() {
                role = Role::Assistant;
                gemini::read_part(&mut JsonScanner::within(source, part), reader)?;
            } else if field_text(source, part, "text").is_some_and(|text| !text.is_empty()) {
                reader.builder.push_part(part, PartKind::Text(TextShape::Full));
            }
        }
    }
    let message = (role, list, ContentShape::List, MessageFlags::default());
    Ok((!contents.is_empty()).then_some(message))
}

/// Whether a message holds the contents of a compression.
pub(super) fn is_compression(source: &str, message: &Message) -> bool {
    message.span.of(source).starts_with('[')
}

/// Appends a message to a list of contents.
pub(super) fn write_content(out: &mut String, source: &str, message: &Message, parts: &[Part<'_>]) {
    if is_compression(source, message) {
        let contents = array_elements(source, message.span);
        let contents: Vec<&str> = contents.iter().map(|content| content.of(source)).collect();
        out.push_str(&contents.join(",\n"));
    } else {
        gemini_cli::write_content(out, source, message, parts);
    }
}
