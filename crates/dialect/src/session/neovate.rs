//! Neovate Code: `projects/<folder>/<id>.jsonl`.
//!
//! Messages are linked like Claude Code's, with parts of its own: calls are `tool_use`, answers
//! `tool-result` in messages of the role `tool`, and in old files `tool_result` in the user's.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    PartKind, Role, SignatureState, Span, TextShape, chain::LoaderBehavior,
};

use super::{
    lines::RecordState,
    metadata::SessionMetadata,
    records::{HistoryControl, ParsedRecord, SessionRecords, plain_string, string_value},
};
use crate::{
    anthropic,
    json::{JsonScanner, ScanResult, field_value},
    outline::{
        OutlineReader, UniqueFields, read_non_empty, read_object_arguments, read_role, read_string,
        require_string, text_fullness,
    },
};

mod block_writer;
mod write;

pub(super) use block_writer::write_block;
pub(super) use write::{content_changes, write_new_record};

/// What Neovate does when it loads a file: it walks, and nothing else.
pub(super) const CHAIN_RULES: LoaderBehavior =
    LoaderBehavior { finds_siblings: false, skips_empty_replies: true, skips_blank_records: false };

/// Whether an object is a record and not something inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("type") && (has("uuid") || has("config") || has("messageId") || has("customTitle"))
}

/// Marks messages that begin anew although nothing was compacted: where the last line was not a
/// message, some versions forgot what the next one hangs on. They hang on nobody we know.
pub(super) fn mark_lost_parents(log: &mut SessionRecords<'_>) {
    let compacted: Vec<u32> = log.controls.iter().map(|(record, _)| *record).collect();
    let mut spoken = false;
    for at in 0..log.records.len() {
        let before = log.records.get(..at).unwrap_or(&[]).iter().rev();
        let forgot = before.take(8).find(|record| record.state != RecordState::Torn);
        let forgot =
            forgot.is_some_and(|record| matches!(record.kind, "snapshot" | "custom-title"));
        let link = &mut log.links[at];
        let own = u32::try_from(at).is_ok_and(|at| compacted.binary_search(&at).is_ok());
        if spoken && forgot && !own && link.fragment.is_some() && link.parent.is_none() {
            link.parent = Some("");
        }
        spoken |= link.fragment.is_some();
    }
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
    seen: &mut ParsedRecord<'a>,
    about: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let mut who = Role::Unknown;
    let mut content = None;
    let (mut title, mut model) = (None, None);
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"type", b"uuid", b"parentUuid", b"role", b"content"], key)?;
        match key {
            b"type" => seen.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"uuid" => seen.link.id = plain_string(scan, source)?,
            b"parentUuid" => seen.link.parent = plain_string(scan, source)?,
            b"timestamp" => seen.time = plain_string(scan, source)?,
            b"role" => who = read_role(scan, source, parse_role)?.0,
            b"content" => content = Some(anthropic::read_content(scan, reader, read_part)?),
            b"model" => model = string_value(scan, source)?,
            b"customTitle" => title = string_value(scan, source)?,
            // What a compaction leaves begins anew, and says so.
            b"uiContent" => {
                scan.skip()?;
                seen.control = Some(HistoryControl::Summary);
            }
            b"sessionId" => {
                let id = string_value(scan, source)?;
                about.id = about.id.take().or(id);
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    about.record_time(seen.time);
    about.title = title.or(about.title.take());
    if seen.kind != "message" {
        // Snapshots name messages, and titles sessions; nobody hangs on them.
        seen.link.id = None;
        return Ok(());
    }
    about.model = model.or(about.model.take());
    if who == Role::Unknown {
        return scan.fail("a message without a role that we know");
    }
    if seen.link.id.is_none() {
        return scan.fail("a message without a `uuid`");
    }
    let content = content.unwrap_or(ContentShape::Absent);
    seen.message = Some((who, span, content, MessageFlags::default()));
    Ok(())
}

fn read_part<'a>(scan: &mut JsonScanner<'a>, reader: &mut OutlineReader<'a>) -> ScanResult<()> {
    let source = reader.source;
    let mut kind = None;
    let (mut id, mut call_id, mut name) = (None, None, None);
    let mut arguments = ArgumentsShape::Missing;
    let mut result = Span::NOWHERE;
    let mut says = TextShape::Empty;
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"type", b"id", b"toolCallId", b"input", b"result"], key)?;
        match key {
            b"type" => kind = Some(require_string(scan, key)?),
            b"text" => {
                says =
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
        "text" => PartKind::Text(says),
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
        }),
        _ => PartKind::Other,
    };
    reader.builder.push_part(span, kind);
    Ok(())
}

/// What the model sees of a result.
fn output_span(source: &str, result: Span) -> Span {
    field_value(source, result, "llmContent").unwrap_or(result)
}
