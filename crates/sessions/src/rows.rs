//! Sessions that an agent keeps in a database, as text with one line for each row.
//!
//! Readers and repairs work on the bytes of a session. A session in a database has none of its own,
//! so its rows are written as lines: the row of the session first, then one line for each message,
//! with the rows that belong to the message inside. The text is exact: reading it gives the rows
//! again, and the difference of two texts is a list of row changes.
//!
//! ```text
//! {"store":"opencode","table":"session","id":"ses_1","columns":{"directory":"/srv", … }}
//! {"store":"opencode","table":"message","id":"msg_1","columns":{ … },"data":{ … },"rows":[ … ]}
//! ```

use std::collections::HashMap;

use foxwedge_core::Span;
use foxwedge_formats::ReadError;
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, field_text, quote};

use super::values::plain_string;

/// One row of a database, with the rows that belong to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseRow {
    /// The table.
    pub table: String,
    /// The value of its key, as text.
    pub id: String,
    /// The other columns as a JSON object, without the payload.
    pub columns: String,
    /// The column that holds the content.
    pub payload: RowPayload,
    /// The rows that belong to this one.
    pub rows: Vec<DatabaseRow>,
}

/// The content of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowPayload {
    /// The table has no such column.
    None,
    /// A text, JSON or not.
    Text(String),
    /// A text that is not UTF-8.
    Bytes(Vec<u8>),
}

/// A change to a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowChange {
    /// A new row. Rows that others belong to come first.
    Insert(DatabaseRow),
    /// A row with other columns or another payload.
    Update {
        /// The row as it was read.
        before: DatabaseRow,
        /// The row as it is to be.
        after: DatabaseRow,
    },
    /// A row that is removed. Rows that belong to others come first.
    Delete(DatabaseRow),
}

/// The text of a session: its rows, one line each. `store` is the name of the agent.
pub fn write_rows(store: &str, rows: &[DatabaseRow]) -> String {
    let mut out = String::new();
    for row in rows {
        out.push_str("{\"store\":");
        out.push_str(&quote(store));
        out.push(',');
        write_fields(&mut out, row);
        out.push_str("}\n");
    }
    out
}

fn write_fields(out: &mut String, row: &DatabaseRow) {
    let DatabaseRow { table, id, columns, payload, rows } = row;
    out.push_str(&format!("\"table\":{},\"id\":{},\"columns\":{columns}", quote(table), quote(id)));
    match payload {
        RowPayload::None => {}
        RowPayload::Text(text) if is_plain_json(text) => {
            out.push_str(",\"data\":");
            out.push_str(text);
        }
        RowPayload::Text(text) => {
            out.push_str(&format!(",\"data\":{BROKEN_TEXT}{}}}", quote(text)));
        }
        RowPayload::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            out.push_str(&format!(",\"data\":{BROKEN_BYTES}\"{hex}\"}}"));
        }
    }
    if !rows.is_empty() {
        for (at, row) in rows.iter().enumerate() {
            out.push_str(if at == 0 { ",\"rows\":[{" } else { ",{" });
            write_fields(out, row);
            out.push('}');
        }
        out.push(']');
    }
}

/// How a payload begins that is not JSON, or not JSON on one line.
const BROKEN_TEXT: &str = "{\"$text\":";
/// How a payload begins that is not UTF-8.
const BROKEN_BYTES: &str = "{\"$bytes\":";

/// Whether a text can be written into a line as it is.
fn is_plain_json(text: &str) -> bool {
    if text.starts_with(BROKEN_TEXT) || text.starts_with(BROKEN_BYTES) {
        return false;
    }
    let is_bare = |edge: Option<char>| edge.is_some_and(|edge| !edge.is_whitespace());
    let mut scan = JsonScanner::new(text);
    !text.contains(['\n', '\r'])
        && is_bare(text.chars().next())
        && is_bare(text.chars().next_back())
        && scan.skip().and_then(|_| scan.end()).is_ok()
}

/// A row in the text of a session.
pub(super) struct RowRecord<'a> {
    pub(super) table: &'a str,
    pub(super) id: &'a str,
    pub(super) columns: Span,
    /// The payload.
    pub(super) data: Option<Span>,
    pub(super) rows: Vec<RowRecord<'a>>,
    pub(super) span: Span,
}

impl RowRecord<'_> {
    /// The payload, if it is a JSON object.
    pub(super) fn object(&self, source: &str) -> Option<Span> {
        self.data.filter(|data| data.of(source).starts_with('{') && !is_broken(source, *data))
    }

    /// The payload, if it is a JSON list.
    pub(super) fn list(&self, source: &str) -> Option<Span> {
        self.data.filter(|data| data.of(source).starts_with('['))
    }

    /// A payload that is not a JSON object, as text.
    pub(super) fn broken_text(&self, source: &str) -> Option<String> {
        self.data.filter(|_| self.object(source).is_none())?;
        self.text(source)
    }

    /// The payload as text.
    pub(super) fn text(&self, source: &str) -> Option<String> {
        let data = self.data?;
        Some(match read_payload(source, data) {
            RowPayload::None => String::new(),
            RowPayload::Text(text) => text,
            RowPayload::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        })
    }
}

/// Whether a text is a JSON object that can be the payload of a row.
pub(super) fn is_object(text: &str) -> bool {
    text.starts_with('{') && is_plain_json(text)
}

fn is_broken(source: &str, data: Span) -> bool {
    let text = data.of(source);
    text.starts_with(BROKEN_TEXT) || text.starts_with(BROKEN_BYTES)
}

fn read_payload(source: &str, data: Span) -> RowPayload {
    let text = data.of(source);
    if text.starts_with(BROKEN_TEXT) {
        let text = field_text(source, data, "$text").unwrap_or_default();
        return RowPayload::Text(text.into_owned());
    }
    match text.strip_prefix(BROKEN_BYTES) {
        Some(hex) => RowPayload::Bytes(read_hex(hex)),
        None => RowPayload::Text(text.to_owned()),
    }
}

/// Whether an object is a row, not an object inside one.
pub(super) fn is_row(source: &str, object: Span) -> bool {
    field_text(source, object, "store").is_some() && field_text(source, object, "table").is_some()
}

/// Reads a row and the rows that belong to it.
pub(super) fn read_row<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<RowRecord<'a>> {
    let mut row = RowRecord {
        table: "",
        id: "",
        columns: Span::NOWHERE,
        data: None,
        rows: Vec::new(),
        span: Span::NOWHERE,
    };
    row.span = scan.object(|scan, key, _| {
        match key {
            b"table" => row.table = plain_string(scan, source)?.unwrap_or_default(),
            b"id" => row.id = plain_string(scan, source)?.unwrap_or_default(),
            b"columns" if scan.shape()? == JsonShape::Object => row.columns = scan.skip()?,
            b"data" => row.data = Some(scan.skip()?),
            b"rows" if scan.shape()? == JsonShape::Array => {
                scan.array(|scan, _| {
                    row.rows.push(read_row(scan, source)?);
                    Ok(())
                })?;
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    if row.table.is_empty() || row.id.is_empty() || row.columns == Span::NOWHERE {
        return scan.fail("a row without `table`, `id` or `columns`");
    }
    Ok(row)
}

/// Reads the rows in the text of a session.
///
/// # Errors
/// Fails if a line is not a row.
pub fn read_rows(text: &str) -> Result<Vec<DatabaseRow>, ReadError> {
    let mut rows = Vec::new();
    for raw in super::lines::lines(text) {
        let mut scan = JsonScanner::within(text, raw.span);
        let row = read_row(&mut scan, text).map_err(|error| ReadError::Malformed {
            at: error.at(),
            place: Some(format!("line {}", raw.line + 1)),
            what: error.message().to_owned(),
        })?;
        rows.push(owned_row(text, row));
    }
    Ok(rows)
}

fn owned_row(text: &str, row: RowRecord<'_>) -> DatabaseRow {
    let payload = row.data.map_or(RowPayload::None, |data| read_payload(text, data));
    DatabaseRow {
        table: row.table.to_owned(),
        id: row.id.to_owned(),
        columns: row.columns.of(text).to_owned(),
        payload,
        rows: row.rows.into_iter().map(|row| owned_row(text, row)).collect(),
    }
}

fn read_hex(quoted: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        quoted.chars().filter_map(|c| u8::try_from(c.to_digit(16)?).ok()).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}

/// The changes that lead from one text of a session to another. The row of the session itself is
/// only ever added.
///
/// # Errors
/// Fails if a line is not a row.
pub fn row_changes(before: &str, after: &str) -> Result<Vec<RowChange>, ReadError> {
    let (before, after) = (flat_rows(read_rows(before)?), flat_rows(read_rows(after)?));
    let header = after.first().or(before.first()).map(|row| row.table.clone());
    let is_header = |row: &DatabaseRow| Some(&row.table) == header.as_ref();
    let key = |row: &DatabaseRow| (row.table.clone(), row.id.clone());
    let mut old: HashMap<(String, String), &DatabaseRow> =
        before.iter().map(|row| (key(row), row)).collect();
    let mut changes = Vec::new();
    let mut inserted = Vec::new();
    for row in &after {
        match old.remove(&key(row)) {
            None => inserted.push(RowChange::Insert(row.clone())),
            Some(known) if known == row || is_header(row) => {}
            Some(known) => {
                changes.push(RowChange::Update { before: known.clone(), after: row.clone() });
            }
        }
    }
    let gone = before.iter().rev().filter(|row| old.contains_key(&key(row)) && !is_header(row));
    changes.extend(gone.map(|row| RowChange::Delete(row.clone())));
    changes.append(&mut inserted);
    Ok(changes)
}

/// All rows on one level, each before the rows that belong to it.
fn flat_rows(rows: Vec<DatabaseRow>) -> Vec<DatabaseRow> {
    let mut flat = Vec::new();
    for mut row in rows {
        let inner = std::mem::take(&mut row.rows);
        flat.push(row);
        flat.append(&mut flat_rows(inner));
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(table: &str, id: &str, payload: RowPayload, rows: Vec<DatabaseRow>) -> DatabaseRow {
        let columns = "{\"time\":1}".to_owned();
        DatabaseRow { table: table.to_owned(), id: id.to_owned(), columns, payload, rows }
    }

    fn text(text: &str) -> RowPayload {
        RowPayload::Text(text.to_owned())
    }

    #[test]
    fn rows_are_read_back_exactly() {
        let payloads = [
            "{}",
            "{\"a\":1} ",
            "{\n}",
            "{\"a\":",
            "",
            "null",
            "\"x\"",
            "{\"$text\":1}",
            "{\"é\":\"\\ud83d\"}",
        ];
        let parts = payloads.iter().enumerate();
        let mut parts: Vec<DatabaseRow> =
            parts.map(|(at, raw)| row("part", &format!("p{at}"), text(raw), Vec::new())).collect();
        parts.push(row("part", "p9", RowPayload::Bytes(vec![0, 255, 16]), Vec::new()));
        let rows = vec![
            row("session", "s", RowPayload::None, Vec::new()),
            row("message", "m", text("{\"role\":\"user\"}"), parts),
        ];
        let written = write_rows("opencode", &rows);
        assert_eq!(written.lines().count(), 2);
        assert_eq!(read_rows(&written), Ok(rows));
    }

    #[test]
    fn changes_name_rows_with_the_content_that_was_read() {
        let part = |id: &str, raw: &str| row("part", id, text(raw), Vec::new());
        let session = || row("session", "s", RowPayload::None, Vec::new());
        let message = |parts| row("message", "m", text("{}"), parts);
        let before = [session(), message(vec![part("a", "1"), part("b", "2")])];
        let after = [session(), message(vec![part("a", "3"), part("c", "4")])];
        let changes =
            row_changes(&write_rows("opencode", &before), &write_rows("opencode", &after));
        let expected = vec![
            RowChange::Update { before: part("a", "1"), after: part("a", "3") },
            RowChange::Delete(part("b", "2")),
            RowChange::Insert(part("c", "4")),
        ];
        assert_eq!(changes, Ok(expected));
    }
}
