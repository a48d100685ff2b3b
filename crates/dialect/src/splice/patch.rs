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
    // Up to where the input has been copied.
    let mut done = object.start;
    let mut kept = false;
    for field in &fields {
        let at = changes.iter().position(|(key, _)| *key == field.key);
        let change = at.map(|at| changes.swap_remove(at).1);
        if let Some(Change::Remove) = change {
            // The comma before it goes too; a removed first field takes the one behind it.
            if kept {
                out.copy(Span { start: done, end: done });
            } else {
                out.copy(Span { start: done, end: (done + 1).min(field.name.start) });
            }
            done = field.value.end;
            continue;
        }
        // Behind a removed first field a comma is left over.
        if !kept && done > object.start {
            out.copy(Span { start: field.name.start, end: field.value.start });
        } else {
            out.copy(Span { start: done, end: field.value.start });
        }
        kept = true;
        match change {
            Some(Change::Text(text)) => out.text(&text),
            Some(Change::Chunks(chunks)) => out.append(chunks),
            Some(Change::Inside(changes)) => patch(out, field.value, changes),
            Some(Change::Remove) | None => out.copy(field.value),
        }
        done = field.value.end;
    }
    if done == object.start {
        out.text("{");
        done += 1;
    }
    for (key, change) in changes {
        let mut value = out.inner();
        match change {
            Change::Remove | Change::Inside(_) => continue,
            Change::Text(text) => value.text(&text),
            Change::Chunks(chunks) => value.append(chunks),
        }
        out.text(if kept { ",\"" } else { "\"" });
        out.text(key);
        out.text("\":");
        out.append(value.finish());
        kept = true;
    }
    // White space of an empty object, and the brace.
    let end = Span { start: done.min(object.end - 1), end: object.end };
    if fields.is_empty() {
        out.text("}");
    } else {
        out.copy(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(source: &str, changes: Changes<'_>) -> String {
        let mut out = Writer::new(source, &[]);
        patch(&mut out, Span::new(0, source.len()), changes);
        let text = |chunk: &Chunk| match chunk {
            Chunk::Copy(span) => span.of(source).to_owned(),
            Chunk::Text(text) => text.clone(),
        };
        out.finish().iter().map(text).collect()
    }

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
            assert_eq!(patched(source, changes), expected, "{source}");
        }
    }
}
