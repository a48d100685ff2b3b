//! Crush: the tables `sessions` and `messages` of one database for each project.
//!
//! The payload of a message is a list of `{"type":…,"data":…}`. Calls are parts of a reply, results are
//! parts of messages with the role `tool`. The session names the summary that hides everything before
//! it.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, Draft, DraftAnswer, DraftCall, MessageFlags, Part,
    PartKind, PartPatch, Role, SignatureState, Span, TextShape,
};
use foxwedge_formats::{
    outline::{OutlineReader, is_json_object},
    splice::{ArgumentsEncoding, BlockSpliceFormat, ElementQuoting, encode_arguments},
};
use foxwedge_json::{
    FieldChange, FieldChanges, JsonScanner, ScanResult, field_text, field_value, quote,
};

use super::{
    derived_id::derive_uuid,
    message_rows::{
        self, NewRow, PartReading, RowFormat, RowRole, text_shape, write_call, write_image,
        write_result,
    },
    metadata::SessionMetadata,
    records::{HistoryControl, ParsedRecord, SessionRecords},
    row_copy::{RowCopy, new_uuid},
    row_fields::RowFields,
    rows::read_row,
};

/// How rows are read and written.
pub(super) const ROWS: RowFormat = RowFormat {
    store: "crush",
    time: "created_at",
    results_role: "tool",
    read_session: |columns, metadata| metadata.title = columns.text("title"),
    read_columns,
    read_part,
    is_sent,
    splice: BlockSpliceFormat {
        parts: "data",
        assistant: "assistant",
        text: ("{\"type\":\"text\",\"data\":{\"text\":", "}}"),
        changes,
        answer: new_result,
        repeated: None,
        extra_media: |_, _| Vec::new(),
        element: |_, _| ElementQuoting::AsJson,
    },
    new_columns,
    new_id: |seed| derive_uuid(&["row", seed], 0),
};

/// How a session is copied.
pub(super) const ROW_COPY: RowCopy = RowCopy {
    session_table: "sessions",
    references: &["session_id", "summary_message_id"],
    own_columns: &["parent_session_id"],
    new_id: new_uuid,
};

/// Reads one row.
pub(super) fn read_record<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    message_rows::read_record(&ROWS, scan, reader, record, metadata)
}

/// Hides everything before the summary that the session names. Crush sends it as a message of the
/// user.
pub(super) fn apply_summary(log: &mut SessionRecords<'_>, fragments: &mut Draft<'_>) {
    let source = log.source;
    let Some(session) = log.records.iter().find(|record| record.kind == "sessions") else { return };
    let Ok(row) = read_row(&mut JsonScanner::within(source, session.span), source) else { return };
    let Some(id) = RowFields::of(source, row.columns).text("summary_message_id") else { return };
    let Some(record) = log.links.iter().position(|link| link.id == Some(&*id)) else { return };
    let first = log.links.get(record).and_then(|link| link.fragment);
    if let Some(summary) = first.and_then(|at| fragments.messages.get_mut(at as usize)) {
        summary.role = Role::User;
        summary.flags = MessageFlags::NO_RESULTS;
        log.controls.push((u32::try_from(record).unwrap_or(u32::MAX), HistoryControl::Summary));
    }
}

fn read_columns<'a>(columns: &RowFields<'a>, metadata: &mut SessionMetadata<'a>) -> RowRole {
    match columns.text("role").as_deref() {
        Some("user") => RowRole::User,
        Some("assistant") => {
            let model = columns.text("model").filter(|model| !model.is_empty());
            metadata.model = model.or(metadata.model.take());
            RowRole::Model
        }
        Some("tool") => RowRole::Results,
        _ => RowRole::Unsent,
    }
}

/// Crush leaves out replies without content, and messages without parts.
fn is_sent(role: RowRole, parts: &[PartKind<'_>]) -> bool {
    match role {
        RowRole::Model => parts.iter().any(|part| match part {
            PartKind::Text(shape) => *shape != TextShape::Empty,
            PartKind::Call(_) | PartKind::ServerCall(_) | PartKind::Reasoning(_) => true,
            _ => false,
        }),
        RowRole::Results => parts.iter().any(|part| matches!(part, PartKind::Answer(_))),
        RowRole::User | RowRole::Unsent => !parts.is_empty(),
    }
}

fn read_part<'a>(part: &RowFields<'a>) -> PartReading<'a> {
    let source = part.source;
    let Some(kind) = part.text("type") else { return PartReading::Broken };
    let is_object = part.get("data").is_some_and(|data| data.of(source).starts_with('{'));
    let data = part.inner("data");
    // A field may be missing, but not have another type.
    let is_text = |key: &str| data.get(key).is_none_or(|it| it.of(source).starts_with(['"', 'n']));
    let texts: &[&str] = match &*kind {
        "text" => &["text"],
        "reasoning" => &["thinking", "signature"],
        "tool_call" => &["id", "name", "input"],
        "tool_result" => &["tool_call_id", "name", "content", "data", "mime_type", "metadata"],
        "image_url" | "binary" | "finish" | "shell_command" => &[],
        _ => return PartReading::Unknown,
    };
    if !is_object || !texts.iter().all(|key| is_text(key)) {
        return PartReading::Broken;
    }
    let text = |key: &str| data.text(key).filter(|text| !text.is_empty());
    PartReading::Known(match &*kind {
        "text" => PartKind::Text(text_shape(&data, "text").unwrap_or(TextShape::Empty)),
        "shell_command" => PartKind::Text(TextShape::Full),
        "reasoning" => PartKind::Reasoning(SignatureState::Plain),
        "image_url" | "binary" => PartKind::Media,
        "tool_call" if data.is_true("provider_executed") => {
            PartKind::ServerCall(text("id").map(Box::new))
        }
        "tool_call" => PartKind::call(DraftCall {
            id: text("id").into(),
            name: text("name").into(),
            family: CallFamily::Function,
            arguments: match data.text("input") {
                Some(input) if is_json_object(&input) => ArgumentsShape::Valid,
                Some(input) if !input.trim().is_empty() => ArgumentsShape::RawString,
                _ => ArgumentsShape::Missing,
            },
            signed: false,
            typed: true,
        }),
        "tool_result" => PartKind::answer(DraftAnswer {
            id: text("tool_call_id").into(),
            name: text("name").map(Box::new),
            family: CallFamily::Function,
            output: AnswerShape::Full,
            content: data.get("content").unwrap_or(Span::NOWHERE),
            media: false,
            foreign: false,
        }),
        _ => PartKind::Other,
    })
}

fn changes(
    source: &str,
    part: Span,
    patch: &PartPatch<'_>,
    kind: &PartKind<'_>,
) -> FieldChanges<'static> {
    let mut inner: FieldChanges<'static> = Vec::new();
    if let Some(id) = patch.new_id(kind) {
        let key = if matches!(kind, PartKind::Answer(_)) { "tool_call_id" } else { "id" };
        inner.push((key, FieldChange::Text(quote(id))));
    }
    if let Some(fix) = patch.arguments {
        let data = field_value(source, part, "data");
        let input = data.and_then(|data| field_value(source, data, "input"));
        let input = encode_arguments(source, input, fix, ArgumentsEncoding::Text);
        inner.push(("input", FieldChange::Text(input)));
    }
    match inner.is_empty() {
        true => Vec::new(),
        false => vec![("data", FieldChange::Nested(inner))],
    }
}

fn new_result(answer: &DraftAnswer<'_>, words: &str) -> String {
    format!(
        "{{\"type\":\"tool_result\",\"data\":{{\"tool_call_id\":{},\"name\":{},\"content\":{},\
         \"data\":\"\",\"mime_type\":\"\",\"metadata\":\"\",\"is_error\":true}}}}",
        quote(answer.id.as_deref().unwrap_or_default()),
        quote(answer.tool().unwrap_or_default()),
        quote(words)
    )
}

fn new_columns(row: &NewRow<'_>) -> String {
    let NewRow { session, role, time, .. } = row;
    format!(
        "{{\"created_at\":{time},\"finished_at\":null,\"is_summary_message\":0,\"model\":\"\",\
         \"provider\":null,\"role\":\"{role}\",\"session_id\":{session},\"updated_at\":{time}}}"
    )
}

/// Appends a part to a list of blocks. Returns `false` for a part that has no equivalent.
pub(super) fn write_block(out: &mut String, source: &str, part: &Part<'_>) -> bool {
    let Some(data) = field_value(source, part.span, "data") else { return false };
    let raw = |key: &str| field_value(source, data, key).map_or("\"\"", |value| value.of(source));
    let text = |key: &str| field_text(source, data, key).unwrap_or_default();
    match &part.kind {
        PartKind::Text(_) if raw("command") != "\"\"" => {
            let shown = format!(
                "$ {}\n{}\n(exit code {})",
                text("command"),
                text("output"),
                raw("exit_code")
            );
            out.push_str(&format!("{{\"type\":\"text\",\"text\":{}}}", quote(&shown)));
        }
        PartKind::Text(_) => {
            // A text that is null is empty.
            let text = Some(raw("text")).filter(|text| text.starts_with('"')).unwrap_or("\"\"");
            out.push_str(&format!("{{\"type\":\"text\",\"text\":{text}}}"));
        }
        PartKind::Media if raw("Data") != "\"\"" => {
            write_image(out, raw("MIMEType"), raw("Data"));
        }
        PartKind::Reasoning(_) if raw("signature") != "\"\"" => out.push_str(&format!(
            "{{\"type\":\"thinking\",\"thinking\":{},\"signature\":{}}}",
            raw("thinking"),
            raw("signature")
        )),
        PartKind::Call(_) => {
            let input = text("input");
            write_call(out, part, if is_json_object(&input) { &input } else { "{}" });
        }
        PartKind::Answer(_) => {
            write_result(out, part, raw("content"), raw("is_error") == "true");
        }
        _ => return false,
    }
    true
}
