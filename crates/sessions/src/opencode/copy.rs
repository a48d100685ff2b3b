//! Copies a session under another id. All rows of a copy get ids of their own.

use std::collections::HashMap;

use foxwedge_json::{JsonScanner, OutputChunk, quote};

use crate::{
    ParsedSession,
    derived_id::derive_uuid,
    rewritten_file::{FilePiece, RewrittenFile},
    rows::{RowRecord, read_row},
};

/// How many characters of an id are its kind and its time. They give the order of rows.
const ID_HEAD: usize = "msg_0123456789ab".len();

/// Copies every row. Ids of rows, and values that are such ids, get new ones.
pub(crate) fn fork<'a>(session: &ParsedSession<'a>, id: &str) -> RewrittenFile<'a> {
    let source = session.log.source;
    let rows = session.log.records.iter().filter_map(|record| {
        let mut scan = JsonScanner::within(source, record.span);
        read_row(&mut scan, source).ok()
    });
    let rows: Vec<RowRecord<'_>> = rows.collect();
    let mut ids: HashMap<&str, String> = HashMap::new();
    for row in rows.iter().flat_map(|row| std::iter::once(row).chain(&row.rows)) {
        let new = match row.table {
            "session" => id.to_owned(),
            _ => new_id(id, row.id),
        };
        ids.insert(row.id, new);
    }
    let mut text = String::with_capacity(source.len());
    for record in &session.log.records {
        let mut scan = JsonScanner::within(source, record.span);
        let Ok(row) = read_row(&mut scan, source) else { continue };
        let copied = copy_with_ids(record.span.of(source), &ids);
        // A copy was never taken back, shared or started by another session.
        match row.table {
            "session" => text.push_str(&fresh_session(&copied)),
            _ => text.push_str(&copied),
        }
        text.push('\n');
    }
    RewrittenFile {
        bytes: session.log.bytes,
        source,
        pieces: vec![FilePiece::from(OutputChunk::Text(text))],
    }
}

/// The id of a copied row. It begins like the old one, so that copies keep the order of the rows.
fn new_id(session: &str, old: &str) -> String {
    let hash = derive_uuid(&["copy", session, old], 0).replace('-', "");
    let head = old.get(..ID_HEAD).unwrap_or(old);
    format!("{head}{}", hash.get(..14).unwrap_or(&hash))
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
fn fresh_session(record: &str) -> String {
    use foxwedge_core::Span;
    use foxwedge_json::{FieldChange, SpliceWriter, field_value, write_patched};
    let whole = Span::new(0, record.len());
    let Some(columns) = field_value(record, whole, "columns") else { return record.to_owned() };
    let own = ["revert", "share_url", "parent_id", "workspace_id"];
    let known = own.into_iter().filter(|key| field_value(record, columns, key).is_some());
    let changes = known.map(|key| (key, FieldChange::Text("null".to_owned()))).collect();
    let mut out = SpliceWriter::new(record, &[]);
    write_patched(&mut out, whole, vec![("columns", FieldChange::Nested(changes))]);
    out.finish().iter().flat_map(|chunk| chunk.pieces(record)).collect()
}
