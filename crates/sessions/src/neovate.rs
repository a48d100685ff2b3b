//! Neovate Code: `projects/<folder>/<id>.jsonl`.
//!
//! Messages are linked like Claude Code's, but have their own parts: calls are `tool_use`, results
//! are `tool-result` in messages of the role `tool`, and in old files `tool_result` in user
//! messages.

use crate::chain::LoaderBehavior;
use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    PartKind, Role, SignatureState, Span, TextShape,
};

use super::{
    lines::RecordState,
    metadata::SessionMetadata,
    records::{HistoryControl, ParsedRecord, SessionRecords, plain_string, string_value},
};
use foxwedge_formats::{
    anthropic,
    outline::{
        OutlineReader, UniqueFields, read_non_empty, read_object_arguments, read_role, read_string,
        read_unknown_field, require_string, text_fullness,
    },
};
use foxwedge_json::{JsonScanner, ScanResult, field_value};

mod block_writer;
mod write;

pub(super) use block_writer::write_block;
pub(super) use write::{content_changes, write_new_record};

/// How Neovate loads a file: it follows the links and corrects nothing.
pub(super) const CHAIN_RULES: LoaderBehavior = LoaderBehavior {
    finds_siblings: false,
    skips_empty_replies: true,
    skips_blank_records: false,
    starts_at_notes: false,
    keeps_summaries_apart: false,
};

/// Whether an object is a record, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("type") && (has("uuid") || has("config") || has("messageId") || has("customTitle"))
}

/// Marks messages that lost their parent although nothing was compacted: if the last line was not a
/// message, some versions did not write the parent of the next one. The empty parent id marks
/// these.
pub(super) fn mark_lost_parents(log: &mut SessionRecords<'_>) {
    let compacted: Vec<u32> = log.controls.iter().map(|(record, _)| *record).collect();
    let mut has_message = false;
    for at in 0..log.records.len() {
        let loses_parent = follows_other_line(log, at);
        let link = &mut log.links[at];
        let own = u32::try_from(at).is_ok_and(|at| compacted.binary_search(&at).is_ok());
        if has_message && loses_parent && !own && link.fragment.is_some() && link.parent.is_none() {
            link.parent = Some("");
        }
        has_message |= link.fragment.is_some();
    }
}

/// Whether the last line before a record is not a message.
pub(super) fn follows_other_line(log: &SessionRecords<'_>, at: usize) -> bool {
    let before = log.records.get(..at).unwrap_or(&[]).iter().rev();
    let last = before.take(8).find(|record| record.state != RecordState::Torn);
    last.is_some_and(|record| matches!(record.kind, "snapshot" | "custom-title"))
}

fn parse_role(role: &str) -> Option<Role> {
    Some(match role {
        "user" | "tool" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return None,
    })
}

/// Reads one record.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut role = Role::Unknown;
    let mut content = None;
    let (mut title, mut model) = (None, None);
    let mut other = MessageFlags::default();
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"type", b"uuid", b"parentUuid", b"role", b"content"], key)?;
        match key {
            b"type" => record.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"uuid" => record.link.id = plain_string(scan, source)?,
            b"parentUuid" => record.link.parent = plain_string(scan, source)?,
            b"timestamp" => record.time = plain_string(scan, source)?,
            b"role" => role = read_role(scan, source, parse_role)?.0,
            b"content" => content = Some(anthropic::read_content(scan, reader, read_part)?),
            b"model" => model = string_value(scan, source)?,
            b"customTitle" => title = string_value(scan, source)?,
            // The first message after a compaction has this field and restarts the history.
            b"uiContent" => {
                scan.skip()?;
                record.control = Some(HistoryControl::Summary);
            }
            b"sessionId" => {
                let id = string_value(scan, source)?;
                metadata.id = metadata.id.take().or(id);
            }
            _ => read_unknown_field(scan, key, &mut other)?,
        }
        Ok(())
    })?;
    metadata.record_time(record.time);
    metadata.title = title.or(metadata.title.take());
    if record.kind != "message" {
        // Snapshots refer to messages and titles to sessions; no record is attached to them.
        record.link.id = None;
        return Ok(());
    }
    metadata.model = model.or(metadata.model.take());
    if role == Role::Unknown {
        return scan.fail("a message without a known role");
    }
    if record.link.id.is_none() {
        return scan.fail("a message without a `uuid`");
    }
    // A record without content may hold it in an unknown field.
    let flags = if content.is_none() { other } else { MessageFlags::default() };
    let content = content.unwrap_or(ContentShape::Absent);
    record.message = Some((role, span, content, flags));
    Ok(())
}

fn read_part<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let source = reader.source;
    let mut kind = None;
    let (mut id, mut call_id, mut name) = (None, None, None);
    let mut arguments = ArgumentsShape::Missing;
    let mut result = Span::NOWHERE;
    let mut text_shape = TextShape::Empty;
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"type", b"id", b"toolCallId", b"input", b"result"], key)?;
        match key {
            b"type" => kind = Some(require_string(scan, key)?),
            b"text" => {
                text_shape =
                    read_string(scan)?.map_or(TextShape::Empty, |text| text_fullness(source, text))
            }
            b"id" => id = read_non_empty(scan, source)?,
            b"toolCallId" => call_id = read_non_empty(scan, source)?,
            b"name" | b"toolName" => name = read_non_empty(scan, source)?,
            b"input" => arguments = read_object_arguments(scan)?,
            b"result" => result = scan.skip()?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return scan.fail("a part has no `type`") };
    let kind = match &*kind.text(source) {
        "text" => PartKind::Text(text_shape),
        "image" => PartKind::Media,
        "reasoning" => PartKind::Reasoning(SignatureState::Plain),
        "tool_use" => PartKind::call(DraftCall {
            id: id.into(),
            name: name.into(),
            family: CallFamily::Function,
            arguments,
            signed: false,
            typed: true,
        }),
        "tool-result" | "tool_result" => PartKind::answer(DraftAnswer {
            id: call_id.or(id).into(),
            name: name.map(Box::new),
            family: CallFamily::Function,
            output: AnswerShape::Full,
            content: output_span(source, result),
            media: false,
            foreign: false,
        }),
        other if anthropic::is_known_type(other) => PartKind::Other,
        _ => PartKind::Unknown,
    };
    reader.builder.push_part(span, kind);
    Ok(())
}

/// The part of a result that the model sees.
fn output_span(source: &str, result: Span) -> Span {
    field_value(source, result, "llmContent").unwrap_or(result)
}
