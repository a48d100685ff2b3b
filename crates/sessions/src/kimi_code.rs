//! Kimi Code: `sessions/<folder>/<session>/agents/<agent>/wire.jsonl`.
//!
//! Kimi reads the records in the order of the file. Messages of the user are
//! `context.append_message` records. A reply is a sequence of `context.append_loop_event` records: one
//! for each text, each call and each result. Everything else is about the session, not part of it.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftCall, MessageFlags,
    PartKind, Role, SignatureState, Span,
};

use super::{
    metadata::SessionMetadata,
    records::{HistoryControl, ParsedRecord, plain_string},
};
use foxwedge_formats::outline::{OutlineReader, UniqueFields, read_string, text_fullness};
use foxwedge_json::{JsonScanner, ScanResult, array_elements, field_text, field_value};

mod write;

pub(super) use write::{write_changed, write_new};

/// Whether an object is a record, not an object inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field_value(source, object, key).is_some();
    has("type") && (has("time") || has("protocol_version"))
}

/// Reads one record.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    _: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let (mut message, mut event, mut count) = (None, None, None);
    let (mut summary, mut keeps_users) = (None, false);
    let mut once = UniqueFields::default();
    scan.object(|scan, key, _| {
        once.check_known(scan, &[b"type", b"message", b"event", b"count", b"summary"], key)?;
        match key {
            b"type" => record.kind = plain_string(scan, source)?.unwrap_or_default(),
            b"message" => message = Some(scan.skip()?),
            b"event" => event = Some(scan.skip()?),
            b"count" => count = Some(scan.skip()?),
            b"summary" => summary = Some(scan.skip()?),
            b"keptUserMessageCount" => {
                scan.skip()?;
                keeps_users = true;
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    let object = |span: Option<Span>| span.filter(|span| span.of(source).starts_with('{'));
    match record.kind {
        "context.append_message" => match object(message) {
            Some(message) => read_message(message, scan, reader, record)?,
            None => return scan.fail("a `context.append_message` without a message"),
        },
        "context.append_loop_event" => match object(event) {
            Some(event) => read_event(event, scan, reader, record)?,
            None => return scan.fail("a `context.append_loop_event` without an event"),
        },
        // Older compactions keep a part of the history that the record does not name.
        "context.apply_compaction" if keeps_users => {
            record.control = Some(HistoryControl::Compacted);
            if let Some(text) = summary.filter(|text| text.of(source).starts_with('"')) {
                push_text(text, reader)?;
                record.message =
                    Some((Role::User, text, ContentShape::Text, MessageFlags::default()));
            }
        }
        "context.undo" => {
            let turns = count.and_then(|count| count.of(source).parse().ok()).unwrap_or(0);
            record.control = Some(HistoryControl::RolledBack(turns));
        }
        "context.clear" => record.control = Some(HistoryControl::Summary),
        _ => {}
    }
    Ok(())
}

/// Reads a whole message.
fn read_message<'a>(
    span: Span,
    scan: &JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let role = match field_text(source, span, "role").as_deref() {
        Some("user" | "system") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Answer,
        _ => return scan.fail("a message without a known role"),
    };
    let content = field_value(source, span, "content");
    if role == Role::Answer {
        push_result(span, field_text(source, span, "toolCallId"), content, reader);
    } else {
        let list = content.filter(|content| content.of(source).starts_with('['));
        for part in list.map(|list| array_elements(source, list)).unwrap_or_default() {
            read_part(part, reader)?;
        }
        if let Some(text) = content.filter(|content| content.of(source).starts_with('"')) {
            push_text(text, reader)?;
        }
        let calls = field_value(source, span, "toolCalls").filter(|_| role == Role::Assistant);
        for call in calls.map(|calls| array_elements(source, calls)).unwrap_or_default() {
            push_call(call, "id", reader);
        }
    }
    // What the agent adds to the words of the user.
    let origin = field_value(source, span, "origin");
    let kind = origin.and_then(|origin| field_text(source, origin, "kind"));
    record.link.is_hidden = kind.as_deref() == Some("injection");
    record.message = Some((role, span, ContentShape::List, MessageFlags::default()));
    Ok(())
}

/// Reads a piece of a reply, or a result.
fn read_event<'a>(
    span: Span,
    scan: &JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let role = match field_text(source, span, "type").as_deref() {
        Some("content.part") => {
            let Some(part) = field_value(source, span, "part") else {
                return scan.fail("a `content.part` without its part");
            };
            read_part(part, reader)?;
            Role::Assistant
        }
        Some("tool.call") => {
            push_call(span, "toolCallId", reader);
            Role::Assistant
        }
        Some("tool.result") => {
            let result = field_value(source, span, "result");
            let output = result.and_then(|result| field_value(source, result, "output"));
            push_result(span, field_text(source, span, "toolCallId"), output, reader);
            Role::Answer
        }
        _ => return Ok(()),
    };
    record.message = Some((role, span, ContentShape::List, MessageFlags::default()));
    Ok(())
}

fn read_part(part: Span, reader: &mut OutlineReader<'_>) -> ScanResult<()> {
    let source = reader.source;
    let field = |key| field_value(source, part, key);
    match field_text(source, part, "type").as_deref() {
        Some("text") => match field("text").filter(|text| text.of(source).starts_with('"')) {
            Some(text) => push_text(text, reader)?,
            None => reader.builder.push_part(part, PartKind::Unknown),
        },
        Some("think") => {
            reader.builder.push_part(part, PartKind::Reasoning(SignatureState::Plain));
        }
        _ => reader.builder.push_part(part, PartKind::Unknown),
    }
    Ok(())
}

fn push_text(text: Span, reader: &mut OutlineReader<'_>) -> ScanResult<()> {
    let source = reader.source;
    let content = read_string(&mut JsonScanner::within(source, text))?;
    if let Some(content) = content {
        reader.builder.push_part(text, PartKind::Text(text_fullness(source, content)));
    }
    Ok(())
}

fn push_call(span: Span, id: &str, reader: &mut OutlineReader<'_>) {
    let source = reader.source;
    let text = |key: &str| field_text(source, span, key).filter(|text| !text.is_empty());
    let call = DraftCall {
        id: text(id).into(),
        name: text("name").into(),
        family: CallFamily::Function,
        arguments: ArgumentsShape::Valid,
        signed: false,
        typed: true,
    };
    reader.builder.push_part(span, PartKind::call(call));
}

fn push_result<'a>(
    span: Span,
    id: Option<std::borrow::Cow<'a, str>>,
    content: Option<Span>,
    reader: &mut OutlineReader<'a>,
) {
    let answer = DraftAnswer {
        id: id.filter(|id| !id.is_empty()).into(),
        name: None,
        family: CallFamily::Function,
        output: AnswerShape::Full,
        content: content.unwrap_or(Span::NOWHERE),
        media: false,
        foreign: false,
    };
    reader.builder.push_part(span, PartKind::answer(answer));
}
