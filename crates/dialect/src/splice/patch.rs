//! Changes single fields of an object and keeps every other byte of it.

use foxwedge_core::Span;

use super::{OutputChunk, SpliceWriter};
use crate::json::object_fields;

/// What happens to a field.
pub(crate) enum FieldChange<'c> {
    /// It gets this value (JSON); it is added if it was not there.
    Text(String),
    /// It gets this value, made of pieces.
    Chunks(Vec<OutputChunk>),
    /// It gets the value that this writes.
    WriteWith(Box<dyn FnOnce(&mut SpliceWriter<'_>) + 'c>),
    /// It goes.
    Remove,
    /// Its own fields change.
    Nested(FieldChanges<'c>),
}

/// Changes by field name.
pub(crate) type FieldChanges<'c> = Vec<(&'c str, FieldChange<'c>)>;

/// Writes an object with some of its fields changed.
pub(crate) fn write_patched(
    out: &mut SpliceWriter<'_>,
    object: Span,
    mut changes: FieldChanges<'_>,
) {
    let fields = object_fields(out.source, object);
    if !object.of(out.source).starts_with('{') {
        return write_new_object(out, changes);
    }
    // Where the gap before a field starts: at the brace, or behind the field before it.
    let mut gap = object.start;
    let mut kept = false;
    for field in &fields {
        let at = changes.iter().position(|(key, _)| *key == field.key);
        let change = at.map(|at| changes.swap_remove(at).1);
        if let Some(FieldChange::Remove) = change {
            gap = field.value.end;
            continue;
        }
        if kept || gap == object.start {
            out.copy(Span { start: gap, end: field.name.start });
        } else {
            // What stood before it is gone, and so is the comma.
            out.text("{");
        }
        kept = true;
        out.copy(Span { start: field.name.start, end: field.value.start });
        match change {
            Some(FieldChange::Text(text)) => out.text(&text),
            Some(FieldChange::Chunks(chunks)) => out.append(chunks),
            Some(FieldChange::WriteWith(write)) => write(out),
            Some(FieldChange::Nested(changes)) => write_patched(out, field.value, changes),
            Some(FieldChange::Remove) | None => out.copy(field.value),
        }
        gap = field.value.end;
    }
    if !kept {
        out.text("{");
    }
    write_added_fields(out, changes, kept);
    // The white space in front of the brace stays where the last field stayed.
    let last = fields.last().map_or(object.end - 1, |last| last.value.end);
    out.copy(Span { start: last, end: object.end });
}

/// An object with some of its fields changed, as text.
pub(crate) fn patched_text(source: &str, object: Span, changes: FieldChanges<'_>) -> String {
    let mut out = SpliceWriter::new(source, &[]);
    write_patched(&mut out, object, changes);
    let chunks = out.finish();
    chunks.iter().flat_map(|chunk| chunk.pieces(source)).collect()
}

/// Writes an object of nothing but changes.
fn write_new_object(out: &mut SpliceWriter<'_>, changes: FieldChanges<'_>) {
    out.text("{");
    write_added_fields(out, changes, false);
    out.text("}");
}

/// Adds the fields that were not there.
fn write_added_fields(out: &mut SpliceWriter<'_>, changes: FieldChanges<'_>, mut behind: bool) {
    for (key, change) in changes {
        if let FieldChange::Remove = change {
            continue;
        }
        out.text(if behind { ",\"" } else { "\"" });
        out.text(key);
        out.text("\":");
        behind = true;
        match change {
            FieldChange::Text(text) => out.text(&text),
            FieldChange::Chunks(chunks) => out.append(chunks),
            FieldChange::WriteWith(write) => write(out),
            FieldChange::Nested(changes) => write_new_object(out, changes),
            FieldChange::Remove => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_replaced_removed_and_added() {
        let two = || FieldChange::Text("2".to_owned());
        let table = [
            (r#"{ "a" : 1, "b":3 }"#, vec![("a", two())], r#"{ "a" : 2, "b":3 }"#),
            (r#"{ "a" : 1, "b":3 }"#, vec![("a", FieldChange::Remove)], r#"{"b":3 }"#),
            (r#"{ "a" : 1, "b":3 }"#, vec![("b", FieldChange::Remove)], r#"{ "a" : 1 }"#),
            (
                r#"{"a":1,"b":3,"c":4}"#,
                vec![("a", FieldChange::Remove), ("b", FieldChange::Remove)],
                r#"{"c":4}"#,
            ),
            (
                r#"{"a":1,"b":3,"c":4}"#,
                vec![("b", FieldChange::Remove), ("c", FieldChange::Remove)],
                r#"{"a":1}"#,
            ),
            (r#"{"a":1}"#, vec![("a", FieldChange::Remove), ("z", two())], r#"{"z":2}"#),
            (r#"{"a":1}"#, vec![("a", FieldChange::Remove)], "{}"),
            ("{ }", vec![("z", two())], r#"{"z":2}"#),
            (
                r#"{"a":{"b":1}}"#,
                vec![("a", FieldChange::Nested(vec![("b", two())]))],
                r#"{"a":{"b":2}}"#,
            ),
        ];
        for (source, changes, expected) in table {
            let whole = Span::new(0, source.len());
            assert_eq!(patched_text(source, whole, changes), expected, "{source}");
        }
    }
}
