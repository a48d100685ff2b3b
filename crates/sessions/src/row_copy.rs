//! Copies a session under another id. All rows of a copy get ids of their own.

use std::collections::HashMap;

use foxwedge_core::Span;
use foxwedge_json::{
    FieldChange, JsonScanner, OutputChunk, SpliceWriter, field_value, quote, write_patched,
};

use super::{
    ParsedSession,
    derived_id::derive_uuid,
    rewritten_file::{FilePiece, RewrittenFile},
    row_fields::RowFields,
    rows::{RowRecord, read_row},
};

/// What differs between the agents.
pub(super) struct RowCopy {
    /// The table with one row for each session.
    pub(super) session_table: &'static str,
    /// The columns that name a row of the session. If empty, any value that is an id names its row.
    pub(super) references: &'static [&'static str],
    /// Columns of the row of the session that belong to the original only.
    pub(super) own_columns: &'static [&'static str],
    /// The id of a copied row, from the id of the session and the old id.
    pub(super) new_id: fn(&str, &str) -> String,
}

/// A new id that is a UUID.
pub(super) fn new_uuid(session: &str, old: &str) -> String {
    derive_uuid(&["copy", session, old], 0)
}

/// Copies every row. Ids of rows, and values that are such ids, get new ones.
pub(super) fn fork<'a>(
    session: &ParsedSession<'a>,
    id: &str,
    agent: &RowCopy,
) -> RewrittenFile<'a> {
    let source = session.log.source;
    let rows = session.log.records.iter().filter_map(|record| {
        let mut scan = JsonScanner::within(source, record.span);
        read_row(&mut scan, source).ok()
    });
    let rows: Vec<RowRecord<'_>> = rows.collect();
    let mut ids: HashMap<&str, String> = HashMap::new();
    for row in rows.iter().flat_map(|row| std::iter::once(row).chain(&row.rows)) {
        let is_session = row.table == agent.session_table;
        let new = if is_session { id.to_owned() } else { (agent.new_id)(id, row.id) };
        ids.insert(row.id, new);
    }
    let mut text = String::with_capacity(source.len());
    for record in &session.log.records {
        let mut scan = JsonScanner::within(source, record.span);
        let Ok(row) = read_row(&mut scan, source) else { continue };
        let copied = match agent.references.is_empty() {
            true => copy_with_ids(record.span.of(source), &ids),
            false => copy_row(source, &row, agent.references, &ids),
        };
        // A copy was never taken back, shared or started by another session.
        match row.table == agent.session_table {
            true => text.push_str(&fresh_session(&copied, agent.own_columns)),
            false => text.push_str(&copied),
        }
        text.push('\n');
    }
    RewrittenFile {
        bytes: session.log.bytes,
        source,
        pieces: vec![FilePiece::from(OutputChunk::Text(text))],
    }
}

/// A row with new ids: its own, and those in some columns.
fn copy_row(
    source: &str,
    row: &RowRecord<'_>,
    references: &[&'static str],
    ids: &HashMap<&str, String>,
) -> String {
    let columns = RowFields::of(source, row.columns);
    let new_id = |id: &str| Some(FieldChange::Text(quote(ids.get(id)?)));
    let own = new_id(row.id).map(|id| ("id", id));
    let named = references.iter().filter_map(|key| Some((*key, new_id(&columns.text(key)?)?)));
    let nested = ("columns", FieldChange::Nested(named.collect()));
    let mut out = SpliceWriter::new(source, &[]);
    write_patched(&mut out, row.span, own.into_iter().chain([nested]).collect());
    out.finish().iter().flat_map(|chunk| chunk.pieces(source)).collect()
}

/// A record with new ids: strings that are an id of the session, as a whole.
fn copy_with_ids(record: &str, ids: &HashMap<&str, String>) -> String {
    let mut out = String::with_capacity(record.len());
    let mut rest = record;
    while let Some(at) = rest.find('"') {
        let (before, string) = rest.split_at(at);
        out.push_str(before);
        let inside = string.get(1..).unwrap_or("");
        let end = string_end(inside);
        let text = inside.get(..end).unwrap_or(inside);
        match ids.get(text) {
            Some(id) => out.push_str(&quote(id)),
            None => out.push_str(string.get(..end + 2).unwrap_or(string)),
        }
        rest = string.get(end + 2..).unwrap_or("");
    }
    out.push_str(rest);
    out
}

/// Where a string ends that begins before this text.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.unwrap_or(text.len())
}

/// The row of the session without what belongs to the original only.
fn fresh_session(record: &str, own: &[&'static str]) -> String {
    let whole = Span::new(0, record.len());
    let Some(columns) = field_value(record, whole, "columns") else { return record.to_owned() };
    let known = own.iter().filter(|key| field_value(record, columns, key).is_some());
    let changes = known.map(|key| (*key, FieldChange::Text("null".to_owned()))).collect();
    let mut out = SpliceWriter::new(record, &[]);
    write_patched(&mut out, whole, vec![("columns", FieldChange::Nested(changes))]);
    out.finish().iter().flat_map(|chunk| chunk.pieces(record)).collect()
}
