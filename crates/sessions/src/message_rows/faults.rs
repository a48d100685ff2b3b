//! Rows that the agent cannot decode: payloads that are not lists, and parts that lack fields.

use foxwedge_core::{ArgumentsFix, Fix, Span, Strategy};
use foxwedge_formats::splice::{ArgumentsEncoding, encode_arguments};
use foxwedge_json::{array_elements, field_value};

use super::{PartReading, RowFormat, elements, read_part};
use crate::{records::RowDefect, rows::RowRecord};

/// What of a message the agent cannot decode.
pub(super) fn find(row_format: &RowFormat, source: &str, row: &RowRecord<'_>) -> Vec<RowDefect> {
    let name = format!("row `{}` of `{}`", row.id, row.table);
    let (problem, repair, strategy) = match row.list(source) {
        Some(_) => match (broken_parts(row_format, source, row), elements(source, row).len()) {
            (0, _) => return Vec::new(),
            (broken, all) if broken < all => (
                "holds a part that cannot be decoded",
                "loses that part; its other parts stay",
                Strategy::Drop,
            ),
            _ => (
                "holds no part that can be decoded",
                "is removed: it holds no content that can be read",
                Strategy::Drop,
            ),
        },
        None if readable_list(row_format, source, row).is_some() => {
            ("is not a JSON list", "is closed where it was cut off", Strategy::Recover)
        }
        None => (
            "is not a JSON list",
            "is removed: it holds no content that can be read",
            Strategy::Drop,
        ),
    };
    vec![RowDefect {
        code: 801,
        span: row.data.unwrap_or(row.span),
        problem: format!("{name} {problem}"),
        repair: format!("{name} {repair}"),
        fix: Fix::safe(strategy),
    }]
}

/// The number of parts that cannot be decoded.
pub(super) fn broken_parts(row_format: &RowFormat, source: &str, row: &RowRecord<'_>) -> usize {
    let is_broken =
        |part: &Span| matches!(read_part(row_format, source, *part), PartReading::Broken);
    elements(source, row).iter().filter(|part| is_broken(part)).count()
}

/// The parts of a row that can be decoded, as a list. A list that was cut off is closed first. `None`
/// if there is no such part.
pub(super) fn readable_list(
    row_format: &RowFormat,
    source: &str,
    row: &RowRecord<'_>,
) -> Option<String> {
    let text = row.text(source)?;
    if !text.trim_start().starts_with('[') {
        return None;
    }
    // Closed like arguments that were cut off: the list in an object.
    let open = format!("{{\"parts\":{}", text.trim_start());
    let whole = Span::new(0, open.len());
    let fix = ArgumentsFix::CompleteObject;
    let object = encode_arguments(&open, Some(whole), fix, ArgumentsEncoding::Object);
    let list = field_value(&object, Span::new(0, object.len()), "parts")?;
    let parts = array_elements(&object, list).into_iter();
    let is_known =
        |part: &Span| matches!(read_part(row_format, &object, *part), PartReading::Known(_));
    let known: Vec<&str> = parts.filter(is_known).map(|part| part.of(&object)).collect();
    let list = format!("[{}]", known.join(","));
    // The line of a row has no line breaks.
    (!known.is_empty() && !list.contains(['\n', '\r'])).then_some(list)
}
