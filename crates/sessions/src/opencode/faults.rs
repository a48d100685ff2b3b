//! Rows that the agent cannot decode: payloads that are not JSON objects, and payloads that lack
//! fields.

use foxwedge_core::{ArgumentsFix, Fix, Role, Span, Strategy};
use foxwedge_formats::splice::{ArgumentsEncoding, encode_arguments};
use foxwedge_json::{FieldChange, FieldChanges, SpliceWriter, quote, write_patched};

use super::{
    RowFields,
    required::{RequiredField, missing_in_message, missing_in_part},
};
use crate::{
    records::RowDefect,
    rows::{RowRecord, is_object},
};

/// The rows of a message that the agent cannot decode.
pub(super) fn find(source: &str, row: &RowRecord<'_>, role: Role) -> Vec<RowDefect> {
    let mut found = Vec::new();
    let parts = || row.rows.iter().filter(|part| part.table == "part");
    match row.object(source) {
        Some(data) => {
            let missing = missing_in_message(&RowFields::of(source, data), role);
            found.extend(incomplete_row(row, data, &missing));
        }
        None => {
            let is_needed = parts().any(|part| part.object(source).is_some());
            let repair = match is_needed {
                true => "is written anew; the rows that belong to it stay",
                false => "is removed: nothing that belongs to it can be read",
            };
            let strategy = if is_needed { Strategy::Recover } else { Strategy::Drop };
            found.push(broken_row(row, repair, strategy));
        }
    }
    for part in parts() {
        match part.object(source) {
            Some(data) => {
                let missing = missing_in_part(&RowFields::of(source, data));
                found.extend(incomplete_row(part, data, &missing));
            }
            None if completed_part(source, part).is_some() => {
                let repair = "is closed where it was cut off";
                found.push(broken_row(part, repair, Strategy::Recover));
            }
            None => {
                let repair = "is removed: it holds no content that can be read";
                found.push(broken_row(part, repair, Strategy::Drop));
            }
        }
    }
    found
}

fn broken_row(row: &RowRecord<'_>, repair: &str, strategy: Strategy) -> RowDefect {
    let name = format!("row `{}` of `{}`", row.id, row.table);
    RowDefect {
        code: 801,
        span: row.data.unwrap_or(row.span),
        problem: format!("{name} is not a JSON object"),
        repair: format!("{name} {repair}"),
        fix: Fix::safe(strategy),
    }
}

fn incomplete_row(
    row: &RowRecord<'_>,
    data: Span,
    missing: &[&'static RequiredField],
) -> Option<RowDefect> {
    if missing.is_empty() {
        return None;
    }
    let names: Vec<String> = missing.iter().map(|field| format!("`{}`", field.name())).collect();
    let (names, name) = (names.join(", "), format!("row `{}` of `{}`", row.id, row.table));
    Some(RowDefect {
        code: 805,
        span: data,
        problem: format!("{name} lacks {names}"),
        repair: format!("{names} added to {name}"),
        fix: Fix::safe(Strategy::Insert),
    })
}

/// A part that was cut off, closed: an object of a kind that holds content. `None` if nothing of it
/// can be read.
pub(super) fn completed_part(source: &str, part: &RowRecord<'_>) -> Option<String> {
    let text = part.broken_text(source)?;
    let whole = Span::new(0, text.len());
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let fix = ArgumentsFix::CompleteObject;
    let object = encode_arguments(&text, Some(whole), fix, ArgumentsEncoding::Object);
    let object = named_part(object);
    let fields = RowFields::of(&object, Span::new(0, object.len()));
    let has_content = match fields.text("type").as_deref() {
        Some("tool") => fields.text("callID").is_some(),
        Some("text" | "reasoning") => fields.text("text").is_some_and(|text| !text.is_empty()),
        _ => false,
    };
    // The line of a row has no line breaks.
    (has_content && is_object(&object) && !object.contains(['\n', '\r'])).then_some(object)
}

/// A closed part with the fields that show what it is, as far as the rest of it shows them.
fn named_part(object: String) -> String {
    let whole = Span::new(0, object.len());
    let fields = RowFields::of(&object, whole);
    let state = fields.inner("state");
    let kind = match fields.text("type") {
        Some(kind) => kind.into_owned(),
        None if fields.text("callID").is_some() => "tool".to_owned(),
        None if fields.text("text").is_some() => "text".to_owned(),
        None => return object,
    };
    let mut changes: FieldChanges<'_> = Vec::new();
    if fields.get("type").is_none() {
        changes.push(("type", FieldChange::Text(quote(&kind))));
    }
    if kind == "tool" && fields.text("tool").is_none() {
        changes.push(("tool", FieldChange::Text(quote("unknown"))));
    }
    // An output shows that the tool ran.
    let is_known = |status: &str| matches!(status, "pending" | "running" | "completed" | "error");
    let has_status = state.text("status").is_some_and(|status| is_known(&status));
    if kind == "tool" && !has_status && state.text("output").is_some_and(|out| !out.is_empty()) {
        let status = vec![("status", FieldChange::Text(quote("completed")))];
        changes.push(("state", FieldChange::Nested(status)));
    }
    let mut out = SpliceWriter::new(&object, &[]);
    write_patched(&mut out, whole, changes);
    out.finish().iter().flat_map(|chunk| chunk.pieces(&object)).collect()
}
