//! Changes single fields of an object and keeps every other byte of it.

use foxwedge_core::Span;

use super::{Chunk, Writer};
use crate::json::fields;

/// What happens to a field.
pub(crate) enum Change<'c> {
    /// It gets this value (JSON); it is added if it was not there.
    Text(String),
    /// It gets this value, made of pieces.
    Chunks(Vec<Chunk>),
    /// It gets the value that this writes.
    Written(Box<dyn FnOnce(&mut Writer<'_>) + 'c>),
    /// It goes.
    Remove,
    /// Its own fields change.
    Inside(Changes<'c>),
}

/// Changes by field name.
pub(crate) type Changes<'c> = Vec<(&'c str, Change<'c>)>;

/// Writes an object with some of its fields changed.
pub(crate) fn patch(out: &mut Writer<'_>, object: Span, mut changes: Changes<'_>) {
    let fields = fields(out.source, object);
    if !object.of(out.source).starts_with('{') {
        return fresh(out, changes);
    }
    // Where the gap before a field starts: at the brace, or behind the field before it.
    let mut gap = object.start;
    let mut kept = false;
    for field in &fields {
        let at = changes.iter().position(|(key, _)| *key == field.key);
        let change = at.map(|at| changes.swap_remove(at).1);
        if let Some(Change::Remove) = change {
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
            Some(Change::Text(text)) => out.text(&text),
            Some(Change::Chunks(chunks)) => out.append(chunks),
            Some(Change::Written(write)) => write(out),
            Some(Change::Inside(changes)) => patch(out, field.value, changes),
            Some(Change::Remove) | None => out.copy(field.value),
        }
        gap = field.value.end;
    }
    if !kept {
        out.text("{");
    }
    add(out, changes, kept);
    // The white space in front of the brace stays where the last field stayed.
    let last = fields.last().map_or(object.end - 1, |last| last.value.end);
    out.copy(Span { start: last, end: object.end });
}

/// An object with some of its fields changed, as text.
pub(crate) fn patched(source: &str, object: Span, changes: Changes<'_>) -> String {
    let mut out = Writer::new(source, &[]);
    patch(&mut out, object, changes);
    let chunks = out.finish();
    chunks.iter().flat_map(|chunk| chunk.pieces(source)).collect()
}

/// Writes an object of nothing but changes.
fn fresh(out: &mut Writer<'_>, changes: Changes<'_>) {
    out.text("{");
    add(out, changes, false);
    out.text("}");
}

/// Adds the fields that were not there.
fn add(out: &mut Writer<'_>, changes: Changes<'_>, mut behind: bool) {
    for (key, change) in changes {
        if let Change::Remove = change {
            continue;
        }
        out.text(if behind { ",\"" } else { "\"" });
        out.text(key);
        out.text("\":");
        behind = true;
        match change {
            Change::Text(text) => out.text(&text),
            Change::Chunks(chunks) => out.append(chunks),
            Change::Written(write) => write(out),
            Change::Inside(changes) => fresh(out, changes),
            Change::Remove => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_replaced_removed_and_added() {
        let two = || Change::Text("2".to_owned());
        let table = [
            (r#"{ "a" : 1, "b":3 }"#, vec![("a", two())], r#"{ "a" : 2, "b":3 }"#),
            (r#"{ "a" : 1, "b":3 }"#, vec![("a", Change::Remove)], r#"{"b":3 }"#),
            (r#"{ "a" : 1, "b":3 }"#, vec![("b", Change::Remove)], r#"{ "a" : 1 }"#),
            (
                r#"{"a":1,"b":3,"c":4}"#,
                vec![("a", Change::Remove), ("b", Change::Remove)],
                r#"{"c":4}"#,
            ),
            (
                r#"{"a":1,"b":3,"c":4}"#,
                vec![("b", Change::Remove), ("c", Change::Remove)],
                r#"{"a":1}"#,
            ),
            (r#"{"a":1}"#, vec![("a", Change::Remove), ("z", two())], r#"{"z":2}"#),
            (r#"{"a":1}"#, vec![("a", Change::Remove)], "{}"),
            ("{ }", vec![("z", two())], r#"{"z":2}"#),
            (
                r#"{"a":{"b":1}}"#,
                vec![("a", Change::Inside(vec![("b", two())]))],
                r#"{"a":{"b":2}}"#,
            ),
        ];
        for (source, changes, expected) in table {
            let whole = Span::new(0, source.len());
            assert_eq!(patched(source, whole, changes), expected, "{source}");
        }
    }
}
