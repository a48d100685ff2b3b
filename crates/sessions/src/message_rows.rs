//! Agents that store each message as one row of a database, with a list of parts as its payload.
//!
//! The order of the rows is the order of the conversation: by a time in seconds, and within a second
//! by the order in which they were written.

use std::borrow::Cow;

use foxwedge_core::{ContentShape, MessageFlags, Part, PartKind, Role, Span, TextShape};
use foxwedge_formats::{
    outline::{OutlineReader, text_fullness},
    splice::BlockSpliceFormat,
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, array_elements};

use super::{
    metadata::SessionMetadata,
    records::ParsedRecord,
    row_fields::RowFields,
    rows::{RowRecord, read_row},
};

mod faults;
mod writer;

pub(super) use writer::{
    first_round, lost_parts, repair_rows, split_messages, write_changed, write_new,
};

/// What differs between the agents.
pub(super) struct RowFormat {
    /// The name of the agent in the text of its sessions.
    pub(super) store: &'static str,
    /// The column with the time of a message.
    pub(super) time: &'static str,
    /// The value of the column `role` for a message with results.
    pub(super) results_role: &'static str,
    /// Reads the columns of the session.
    pub(super) read_session: for<'a> fn(&RowFields<'a>, &mut SessionMetadata<'a>),
    /// Reads the columns of a message.
    pub(super) read_columns: for<'a> fn(&RowFields<'a>, &mut SessionMetadata<'a>) -> RowRole,
    /// Reads a part.
    pub(super) read_part: for<'a> fn(&RowFields<'a>) -> PartReading<'a>,
    /// Whether the agent sends a message with these parts.
    pub(super) is_sent: fn(RowRole, &[PartKind<'_>]) -> bool,
    /// How parts are written.
    pub(super) splice: BlockSpliceFormat,
    /// The columns of a new row, as a JSON object.
    pub(super) new_columns: fn(&NewRow<'_>) -> String,
    /// The id of a new row. It is derived from this text.
    pub(super) new_id: fn(&str) -> String,
}

/// Whose message a row is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RowRole {
    /// The user's.
    User,
    /// The model's.
    Model,
    /// Results of tools.
    Results,
    /// The agent does not send it.
    Unsent,
}

/// A part as the agent reads it.
pub(super) enum PartReading<'a> {
    Known(PartKind<'a>),
    /// A field is missing or has a wrong type. The agent opens no session with such a part.
    Broken,
    /// Not a kind of part that is known.
    Unknown,
}

/// A row that is added.
pub(super) struct NewRow<'n> {
    /// The session, as JSON.
    pub(super) session: String,
    pub(super) role: &'static str,
    /// The value of the time column.
    pub(super) time: &'n str,
    /// What its id is derived from.
    pub(super) seed: &'n str,
    /// The columns of the row before it.
    pub(super) before: &'n RowFields<'n>,
}

/// Reads one row.
pub(super) fn read_record<'a>(
    row_format: &RowFormat,
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    metadata: &mut SessionMetadata<'a>,
) -> ScanResult<()> {
    let source = reader.source;
    let row = read_row(scan, source)?;
    record.kind = row.table;
    record.link.id = Some(row.id);
    let columns = RowFields::of(source, row.columns);
    match row.table {
        "sessions" => {
            metadata.id = Some(Cow::Borrowed(row.id));
            (row_format.read_session)(&columns, metadata);
        }
        "messages" => {
            record.time = columns.get(row_format.time).map(|time| time.of(source));
            metadata.record_time(record.time);
            let role = (row_format.read_columns)(&columns, metadata);
            read_message(row_format, scan, reader, record, &row, role)?;
        }
        _ => {}
    }
    Ok(())
}

fn read_message<'a>(
    row_format: &RowFormat,
    scan: &JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    record: &mut ParsedRecord<'a>,
    row: &RowRecord<'a>,
    role: RowRole,
) -> ScanResult<()> {
    let source = reader.source;
    let mut kinds = Vec::new();
    for part in elements(source, row) {
        match read_part(row_format, source, part) {
            PartReading::Known(kind) => {
                kinds.push(kind.clone());
                reader.builder.push_part(part, kind);
            }
            PartReading::Broken => {}
            PartReading::Unknown => {
                return scan.fail("a part of a kind that is not known");
            }
        }
    }
    record.defects = faults::find(row_format, source, row);
    let has_result = kinds.iter().any(|kind| matches!(kind, PartKind::Answer(_)));
    let (role_in_draft, flags) = match role {
        RowRole::Model => (Role::Assistant, MessageFlags::default()),
        RowRole::Results => (Role::User, MessageFlags::ONLY_RESULTS),
        RowRole::User if has_result => (Role::User, MessageFlags::default()),
        RowRole::User | RowRole::Unsent => (Role::User, MessageFlags::NO_RESULTS),
    };
    record.link.is_hidden = role == RowRole::Unsent || !(row_format.is_sent)(role, &kinds);
    record.message = Some((role_in_draft, row.span, ContentShape::List, flags));
    Ok(())
}

/// The elements of the payload; none if it is not a list.
fn elements(source: &str, row: &RowRecord<'_>) -> Vec<Span> {
    row.list(source).map(|list| array_elements(source, list)).unwrap_or_default()
}

fn read_part<'a>(row_format: &RowFormat, source: &'a str, part: Span) -> PartReading<'a> {
    match part.of(source).starts_with('{') {
        true => (row_format.read_part)(&RowFields::of(source, part)),
        false => PartReading::Broken,
    }
}

/// The shape of a text in a field; `None` if it is not a string.
pub(super) fn text_shape(fields: &RowFields<'_>, key: &str) -> Option<TextShape> {
    let mut scan = JsonScanner::within(fields.source, fields.get(key)?);
    (scan.shape() == Ok(JsonShape::String)).then_some(())?;
    Some(text_fullness(fields.source, scan.string().ok()?))
}

/// Writes a part in the Anthropic format; see `history`.
pub(super) fn write_image(out: &mut String, mime: &str, data: &str) {
    out.push_str(&format!(
        "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":{mime},\"data\":{data}}}}}"
    ));
}

/// Writes a result in the Anthropic format. `content` is JSON.
pub(super) fn write_result(out: &mut String, part: &Part<'_>, content: &str, is_error: bool) {
    let id = foxwedge_json::quote(part.kind.id().unwrap_or_default());
    let error = if is_error { ",\"is_error\":true" } else { "" };
    out.push_str(&format!(
        "{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":{content}{error}}}"
    ));
}

/// Writes a call in the Anthropic format. `input` is JSON.
pub(super) fn write_call(out: &mut String, part: &Part<'_>, input: &str) {
    let id = foxwedge_json::quote(part.kind.id().unwrap_or_default());
    let name = foxwedge_json::quote(part.kind.tool().unwrap_or_default());
    out.push_str(&format!(
        "{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}"
    ));
}
