//! Changes single fields of an object and copies the rest of it.

use crate::Span;

use super::{OutputChunk, SpliceWriter};
use crate::object_fields;

/// A change of one field of an object.
pub enum FieldChange<'c> {
    /// Sets the value to this JSON text. Adds the field if the object does not have it.
    Text(String),
    /// Sets the value to these chunks. Adds the field if the object does not have it.
    Chunks(Vec<OutputChunk>),
    /// Sets the value to the JSON that the closure writes. Adds the field if the object does not
    /// have it.
    WriteWith(Box<dyn FnOnce(&mut SpliceWriter<'_>) + 'c>),
    /// Removes the field.
    Remove,
    /// Changes fields of the value. A value that is missing or not an object becomes a new object.
    Nested(FieldChanges<'c>),
}

/// Changes by key. Keys are written as they are, so they must not need escapes.
pub type FieldChanges<'c> = Vec<(&'c str, FieldChange<'c>)>;

/// Writes an object with some of its fields changed.
///
/// A changed field stays in its place. New fields go to the end, in no particular order. If several
/// fields have the same key, only the first changes. A value that is not an object is replaced by a
/// new object.
pub fn write_patched(out: &mut SpliceWriter<'_>, object: Span, mut changes: FieldChanges<'_>) {
    let fields = object_fields(out.source, object);
    if !object.of(out.source).starts_with('{') {
        return write_new_object(out, changes);
    }
    // Start of the gap before a field: the brace, or the end of the field before it.
    let mut gap = object.start;
    let mut has_field = false;
    for field in &fields {
        let at = changes.iter().position(|(key, _)| *key == field.key);
        let change = at.map(|at| changes.swap_remove(at).1);
        if let Some(FieldChange::Remove) = change {
            gap = field.value.end;
            continue;
        }
        if has_field || gap == object.start {
            out.copy(Span { start: gap, end: field.name.start });
        } else {
            // All fields before this one were removed, so the comma goes too.
            out.text("{");
        }
        has_field = true;
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
    if !has_field {
        out.text("{");
    }
    write_added_fields(out, changes, has_field);
    // Copies the closing brace with the white space in front of it.
    let last = fields.last().map_or(object.end - 1, |last| last.value.end);
    out.copy(Span { start: last, end: object.end });
}

/// An object with some of its fields changed, as text: see [`write_patched`]. Lone surrogates are
/// copied unchanged.
pub fn patched_text(source: &str, object: Span, changes: FieldChanges<'_>) -> String {
    let mut out = SpliceWriter::new(source, &[]);
    write_patched(&mut out, object, changes);
    let chunks = out.finish();
    chunks.iter().flat_map(|chunk| chunk.pieces(source)).collect()
}

/// Writes a new object that has only the changed fields.
fn write_new_object(out: &mut SpliceWriter<'_>, changes: FieldChanges<'_>) {
    out.text("{");
    write_added_fields(out, changes, false);
    out.text("}");
}

/// Writes the fields that the object did not have.
fn write_added_fields(
    out: &mut SpliceWriter<'_>,
    changes: FieldChanges<'_>,
    mut needs_comma: bool,
) {
    for (key, change) in changes {
        if let FieldChange::Remove = change {
            continue;
        }
        out.text(if needs_comma { ",\"" } else { "\"" });
        out.text(key);
        out.text("\":");
        needs_comma = true;
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
