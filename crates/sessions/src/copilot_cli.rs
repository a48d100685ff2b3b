//! Copilot CLI: `session-state/<session>/events.jsonl`.
//!
//! A line is an event: `{type, data, id, timestamp, parentId}`. Copilot reads the events in the order
//! of the file and does not follow the parents. A reply requests its tools in one event; each result
//! is an event of its own. A compaction and a cleared context replace everything before them.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, Fix,
    MessageFlags, PartKind, Role, SignatureState, Span, Strategy,
};

use super::{
    metadata::SessionMetadata,
    records::{
        HistoryControl, INCOMPLETE_EVENT, ParsedRecord, RowDefect, is_true, plain_string,
        string_value,
    },
};
use foxwedge_formats::outline::{
    OutlineReader, UniqueFields, read_non_empty, read_string, text_fullness,
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, field_value};

mod write;

pub(super) use write::{event_ids, write_changed, write_new};

/// Events without a message, each with a field of its data without which Copilot refuses the file.
/// Observed with 1.0.102.
const REQUIRED_FIELDS: [(&str, &str); 3] = [
    ("assistant.turn_end", "turnId"),
    ("session.usage_record", "usage"),
    ("session.shutdown", "modelMetrics"),
];

/// Whether an object is a record, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    ["type", "data", "id", "parentId"].iter().all(|key| field_value(source, object, key).is_some())
}

/// Reads one record.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let (mut data, mut is_subagent) = (None, false);
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"type", b"data", b"agentId"], key)?;
        match key {
            b"type" => record.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"timestamp" => record.time = plain_string(scan, source)?,
            b"agentId" => is_subagent = plain_string(scan, source)?.is_some(),
            b"data" => data = Some(scan.skip()?),
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    metadata.record_time(record.time);
    let data = data.filter(|data| data.of(source).starts_with('{'));
    let is_message = matches!(
        record.kind,
        "user.message" | "assistant.message" | "tool.execution_complete" | "system.notification"
    );
    let Some(data) = data else {
        return if is_message { scan.fail("an event without its data") } else { Ok(()) };
    };
    let required = REQUIRED_FIELDS.iter().find(|(kind, _)| *kind == record.kind);
    if let Some((kind, field)) = required
        && field_value(source, data, field).is_none()
    {
        record.defects.push(RowDefect {
            code: INCOMPLETE_EVENT,
            span,
            problem: format!("event `{kind}` lacks `{field}`"),
            repair: format!("event `{kind}` without `{field}` is removed"),
            fix: Fix::safe(Strategy::Drop),
        });
    }
    let mut inner = JsonScanner::within(source, data);
    match record.kind {
        "session.start" => read_start(&mut inner, source, metadata)?,
        "session.compaction_complete" => {
            let text = |key: &str| field_value(source, data, key).map(|at| at.of(source));
            if text("success") == Some("true") {
                record.control = Some(HistoryControl::Summary);
                read_text(&mut inner, reader, record, b"summaryContent")?;
            }
        }
        "session.context_cleared" => record.control = Some(HistoryControl::Summary),
        "user.message" | "system.notification" => {
            read_text(&mut inner, reader, record, b"content")?;
        }
        "assistant.message" => is_subagent |= read_reply(&mut inner, reader, record, metadata)?,
        "tool.execution_complete" => is_subagent |= read_result(&mut inner, reader, record)?,
        _ => {}
    }
    record.link.is_hidden = is_subagent;
    Ok(())
}

/// Reads the first event.
fn read_start<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    scan.object(|scan, key, _| {
        match key {
            b"sessionId" => {
                metadata.id = metadata.id.take().or(string_value(scan, source)?);
            }
            b"copilotVersion" => metadata.version = string_value(scan, source)?,
            b"selectedModel" => metadata.model = string_value(scan, source)?,
            b"context" if scan.shape()? == JsonShape::Object => {
                scan.object(|scan, key, _| {
                    match key {
                        b"cwd" => metadata.folder = string_value(scan, source)?,
                        _ => drop(scan.skip()?),
                    }
                    Ok(())
                })?;
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })
    .map(drop)
}

/// Reads an event that is a text of the user, or stands for one.
fn read_text<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    field: &[u8],
) -> ScanResult<()> {
    let source = reader.source;
    let mut once = UniqueFields::default();
    let mut text = None;
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[field], key)?;
        if key == field {
            let start = scan.position();
            let content = read_string(scan)?;
            text = content.map(|text| (Span::new(start, scan.position()), text));
        } else {
            scan.skip()?;
        }
        Ok(())
    })?;
    if let Some((span, text)) = text {
        reader.builder.push_part(span, PartKind::Text(text_fullness(source, text)));
    }
    record.message = Some((Role::User, span, ContentShape::Text, MessageFlags::default()));
    Ok(())
}

/// Reads a reply. Returns whether it is a sub-agent's.
fn read_reply<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<bool> {
    let source = reader.source;
    let (mut is_subagent, mut model) = (false, None);
    let (mut text, mut reasoning, mut calls) = (None, None, Vec::new());
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"content", b"toolRequests", b"reasoningText"], key)?;
        match key {
            b"content" => {
                let start = scan.position();
                let content = read_string(scan)?;
                text = content.map(|text| (Span::new(start, scan.position()), text));
            }
            b"reasoningText" => {
                let value = scan.skip()?;
                reasoning = Some(value).filter(|value| value.of(source).starts_with('"'));
            }
            b"toolRequests" if scan.shape()? == JsonShape::Array => {
                scan.array(|scan, _| {
                    calls.push(read_call(scan, source)?);
                    Ok(())
                })?;
            }
            b"parentToolCallId" => is_subagent = plain_string(scan, source)?.is_some(),
            b"model" => model = string_value(scan, source)?,
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    if let Some(reasoning) = reasoning {
        reader.builder.push_part(reasoning, PartKind::Reasoning(SignatureState::Plain));
    }
    if let Some((span, text)) = text.filter(|(span, _)| span.of(source) != "\"\"") {
        reader.builder.push_part(span, PartKind::Text(text_fullness(source, text)));
    }
    for (span, call) in calls {
        reader.builder.push_part(span, PartKind::call(call));
    }
    if !is_subagent {
        metadata.model = model.or(metadata.model.take());
    }
    record.message = Some((Role::Assistant, span, ContentShape::Text, MessageFlags::default()));
    Ok(is_subagent)
}

fn read_call<'a>(scan: &mut JsonScanner<'a>, source: &'a str) -> ScanResult<(Span, DraftCall<'a>)> {
    let (mut id, mut name) = (None, None);
    let mut arguments = ArgumentsShape::Missing;
    let mut once = UniqueFields::default();
    if scan.shape()? != JsonShape::Object {
        return scan.fail("a tool request is not an object");
    }
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"toolCallId", b"name", b"arguments"], key)?;
        match key {
            b"toolCallId" => id = read_non_empty(scan, source)?,
            b"name" => name = read_non_empty(scan, source)?,
            // Their form depends on the tool.
            b"arguments" => {
                scan.skip()?;
                arguments = ArgumentsShape::Valid;
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let (id, name) = (id.into(), name.into());
    let family = CallFamily::Function;
    Ok((span, DraftCall { id, name, family, arguments, signed: false, typed: true }))
}

/// Reads a result. Returns whether it is a sub-agent's, or of a command that the user ran.
fn read_result<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
) -> ScanResult<bool> {
    let source = reader.source;
    let (mut id, mut aside) = (None, false);
    let (mut result, mut error) = (None, None);
    let mut once = UniqueFields::default();
    let span = scan.object(|scan, key, _| {
        once.check_known(scan, &[b"toolCallId", b"result", b"error"], key)?;
        match key {
            b"toolCallId" => id = read_non_empty(scan, source)?,
            b"result" => result = Some(scan.skip()?),
            b"error" => error = Some(scan.skip()?),
            b"parentToolCallId" => aside |= plain_string(scan, source)?.is_some(),
            b"isUserRequested" => aside |= is_true(scan, source)?,
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let inside = |value: Option<Span>, key| field_value(source, value?, key);
    let content = inside(result, "content").or_else(|| inside(error, "message"));
    let answer = DraftAnswer {
        id: id.into(),
        name: None,
        family: CallFamily::Function,
        output: AnswerShape::Full,
        content: content.unwrap_or(Span::NOWHERE),
        media: false,
        foreign: false,
    };
    reader.builder.push_part(span, PartKind::answer(answer));
    record.message = Some((Role::Answer, span, ContentShape::Text, MessageFlags::default()));
    Ok(aside)
}
