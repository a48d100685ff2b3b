//! pi: `sessions/<folder>/<time>_<id>.jsonl`.
//!
//! The first line is a header; every other record has an `id` and a `parentId`. A tool result is a
//! message of its own. pi starts at the last record of the file and follows the parents. A compaction
//! cuts the path: its summary comes first, then the records from `firstKeptEntryId` on.

use std::collections::{HashMap, HashSet};

use crate::chain::{CarriedRecords, LoaderBehavior};
use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    PartKind, Role, SignatureState, Span, TextShape,
};

use super::{
    metadata::SessionMetadata,
    records::{ParsedRecord, SessionRecords, is_true, plain_string, string_value},
};
use foxwedge_formats::{
    anthropic,
    outline::{
        OutlineReader, UniqueFields, read_non_empty, read_object_arguments, read_string,
        read_unknown_field, require_string, text_fullness,
    },
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, field_text, field_value};

mod block_writer;
mod write;

pub(super) use block_writer::write_block;
pub(super) use write::{content_changes, cut_changes, write_new_record};

/// How pi loads a file: it follows the links from the last record and corrects nothing.
pub(super) const CHAIN_RULES: LoaderBehavior = LoaderBehavior {
    finds_siblings: false,
    skips_empty_replies: false,
    skips_blank_records: false,
    starts_at_notes: true,
    keeps_summaries_apart: false,
};

/// Whether an object is a record, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("type") && has("id") && (has("parentId") || has("cwd"))
}

/// Reads one record.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let (mut message, mut content, mut summary) = (None, None, None);
    let (mut folder, mut name, mut first_kept) = (None, None, None);
    let mut parsed = None;
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        const KNOWN: [&[u8]; 7] =
            [b"type", b"id", b"parentId", b"message", b"content", b"summary", b"firstKeptEntryId"];
        once.check_known(scan, &KNOWN, key)?;
        match key {
            b"type" => record.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"id" => record.link.id = plain_string(scan, source)?,
            b"parentId" => {
                record.link.parent = plain_string(scan, source)?.filter(|id| !id.is_empty())
            }
            b"timestamp" => record.time = plain_string(scan, source)?,
            b"message" if record.kind == "message" && scan.shape()? == JsonShape::Object => {
                parsed = read_message(scan, reader)?;
                message = Some(Span::NOWHERE);
            }
            b"message" => message = Some(scan.skip()?),
            b"content" => content = Some(scan.skip()?),
            b"summary" => summary = Some(scan.skip()?),
            b"cwd" => folder = string_value(scan, source)?,
            b"name" => name = string_value(scan, source)?,
            b"firstKeptEntryId" => first_kept = plain_string(scan, source)?,
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    metadata.record_time(record.time);
    match record.kind {
        "session" => {
            let id = record.link.id.take();
            record.link.parent = None;
            metadata.id = metadata.id.take().or(id.map(Into::into));
            metadata.folder = metadata.folder.take().or(folder);
            return Ok(());
        }
        "message" => {
            let Some(message) = message else {
                return scan.fail("a `message` record without a message");
            };
            if message != Span::NOWHERE {
                let mut inner = JsonScanner::within(source, message);
                if inner.shape()? != JsonShape::Object {
                    return scan.fail("a `message` record without a message");
                }
                parsed = read_message(&mut inner, reader)?;
            }
        }
        "custom_message" => {
            let content = content.map_or(Ok(ContentShape::Absent), |at| read_late(at, reader))?;
            parsed = Some(PiMessage { span, content, ..PiMessage::new(Role::User) });
        }
        "branch_summary" | "compaction" => {
            if let Some(summary) = summary.filter(|at| at.of(source).starts_with('"')) {
                reader.builder.push_part(summary, PartKind::Text(TextShape::Full));
                let content = ContentShape::Text;
                parsed = Some(PiMessage { span, content, ..PiMessage::new(Role::User) });
            }
        }
        "session_info" => metadata.title = name.or(metadata.title.take()),
        _ => {}
    }
    if record.link.id.is_none() && parsed.is_some() {
        return scan.fail(format!("a `{}` record without an `id`", record.kind));
    }
    if record.kind == "compaction" {
        cut_path(record, first_kept);
    }
    if let Some(message) = parsed {
        metadata.model = message.model.or(metadata.model.take());
        record.link.is_hidden = message.is_hidden;
        record.message = Some((message.role, message.span, message.content, message.flags));
    }
    Ok(())
}

/// Makes a compaction the root of the path, and carries over the records that it kept.
fn cut_path<'a>(record: &mut ParsedRecord<'a>, first_kept: Option<&'a str>) {
    let (Some(id), parent) = (record.link.id, record.link.parent.take()) else { return };
    record.link.cut_parent = parent;
    if let (Some(tail), Some(head)) = (parent, first_kept.filter(|head| *head != id)) {
        let segment = Some((tail, head));
        record.carried =
            Some(CarriedRecords { compaction: 0, anchor: id, ids: Vec::new(), segment });
    }
}

/// Hides the messages that an edit on the path leaves out (`context_edit` without a replacement).
pub(super) fn apply_edits(log: &mut SessionRecords<'_>) {
    if !log.records.iter().any(|record| record.kind == "context_edit") {
        return;
    }
    let mut ids = HashMap::new();
    for (at, link) in log.links.iter().enumerate() {
        link.id.map(|id| ids.insert(id, at));
    }
    let last = log.links.iter().rposition(|link| link.id.is_some());
    let up = |at: &usize| ids.get(log.links.get(*at)?.parent?).copied();
    let path: HashSet<usize> = std::iter::successors(last, up).take(log.links.len()).collect();
    let mut hidden: HashMap<usize, bool> = HashMap::new();
    for (at, record) in log.records.iter().enumerate() {
        if record.kind == "context_edit" && path.contains(&at) {
            let target = field_text(log.source, record.span, "targetId");
            let replacement = field_value(log.source, record.span, "replacement");
            let omits = replacement.is_none_or(|value| value.of(log.source) == "null");
            if let Some(target) = target.and_then(|id| ids.get(&*id).copied()) {
                hidden.insert(target, omits);
            }
        }
    }
    for (target, omits) in hidden {
        if let Some(link) = log.links.get_mut(target) {
            link.is_hidden |= omits && link.cut_parent.is_none();
        }
    }
}

/// A message that pi sends.
struct PiMessage<'a> {
    role: Role,
    span: Span,
    content: ContentShape,
    flags: MessageFlags,
    model: Option<std::borrow::Cow<'a, str>>,
    /// pi leaves out replies that failed or were aborted.
    is_hidden: bool,
}

impl PiMessage<'_> {
    fn new(role: Role) -> Self {
        let (span, content) = (Span::NOWHERE, ContentShape::Absent);
        let flags = MessageFlags::default();
        PiMessage { role, span, content, flags, model: None, is_hidden: false }
    }
}

/// Reads a message; `None` for one that is not part of the conversation.
fn read_message<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<Option<PiMessage<'a>>> {
    let source = reader.source;
    let mut role = "";
    let (mut content, mut late) = (ContentShape::Absent, None);
    let (mut call_id, mut tool, mut model) = (None, None, None);
    let (mut failed, mut excluded) = (false, false);
    // Whether another field may hold the content of a message without any.
    let mut unknown = MessageFlags::default();
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"role", b"content", b"toolCallId", b"stopReason"], key)?;
        match key {
            b"role" => role = plain_string(scan, source)?.unwrap_or_default(),
            b"content" if matches!(role, "user" | "assistant" | "custom" | "hookMessage") => {
                content = read_content(scan, reader)?
            }
            b"content" => late = Some(scan.skip()?),
            b"toolCallId" => call_id = read_non_empty(scan, source)?,
            b"toolName" => tool = read_non_empty(scan, source)?,
            b"model" => model = string_value(scan, source)?,
            b"stopReason" => {
                failed = matches!(plain_string(scan, source)?, Some("error" | "aborted"))
            }
            b"excludeFromContext" => excluded = is_true(scan, source)?,
            _ => read_unknown_field(scan, key, &mut unknown)?,
        }
        Ok(())
    })?;
    let mut message = PiMessage { span, content, ..PiMessage::new(Role::User) };
    match role {
        "toolResult" => {
            let answer = DraftAnswer {
                id: call_id.into(),
                name: tool.map(Box::new),
                family: CallFamily::Function,
                output: AnswerShape::Full,
                content: late.unwrap_or(Span::NOWHERE),
                media: false,
                foreign: false,
            };
            reader.builder.push_part(span, PartKind::answer(answer));
            message.content = ContentShape::List;
            return Ok(Some(message));
        }
        "bashExecution" => {
            reader.builder.push_part(span, PartKind::Text(TextShape::Full));
            return Ok(Some(PiMessage {
                content: ContentShape::List,
                is_hidden: excluded,
                ..message
            }));
        }
        "user" | "custom" | "hookMessage" => {
            if content == ContentShape::Absent && late.is_none() {
                message.flags = unknown;
            }
        }
        "assistant" => {
            message = PiMessage { role: Role::Assistant, model, is_hidden: failed, ..message };
        }
        "" => return scan.fail("a message without a `role`"),
        // The prompt, and roles that pi does not send.
        _ => return Ok(None),
    }
    if let Some(late) = late {
        message.content = read_late(late, reader)?;
    }
    Ok(Some(message))
}

/// Reads content that stands before the field that tells what it is.
fn read_late(content: Span, reader: &mut OutlineReader<'_>) -> ScanResult<ContentShape> {
    read_content(&mut JsonScanner::within(reader.source, content), reader)
}

fn read_content<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
) -> ScanResult<ContentShape> {
    if scan.shape()? == JsonShape::Null {
        scan.skip()?;
        return Ok(ContentShape::Absent);
    }
    anthropic::read_content(scan, reader, read_part)
}

fn read_part<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let source = reader.source;
    let (mut kind, mut id, mut name) = (None, None, None);
    let mut arguments = ArgumentsShape::Missing;
    let mut text_shape = TextShape::Empty;
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"type", b"id", b"arguments"], key)?;
        match key {
            b"type" => kind = Some(require_string(scan, key)?),
            b"text" => {
                text_shape =
                    read_string(scan)?.map_or(TextShape::Empty, |text| text_fullness(source, text))
            }
            b"id" => id = read_non_empty(scan, source)?,
            b"name" => name = read_non_empty(scan, source)?,
            b"arguments" => arguments = read_object_arguments(scan)?,
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return scan.fail("a part has no `type`") };
    let kind = match &*kind.text(source) {
        "text" => PartKind::Text(text_shape),
        "image" => PartKind::Media,
        "thinking" => PartKind::Reasoning(SignatureState::Plain),
        "toolCall" => PartKind::call(DraftCall {
            id: id.into(),
            name: name.into(),
            family: CallFamily::Function,
            arguments,
            signed: false,
            typed: true,
        }),
        _ => PartKind::Unknown,
    };
    reader.builder.push_part(span, kind);
    Ok(())
}
