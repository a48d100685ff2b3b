//! Field values and parts, for the readers and writers of records.

use std::borrow::Cow;

use foxwedge_core::{Draft, Part, PartKind};
use foxwedge_json::{JsonScanner, ScanResult};

/// A string as written, without its quotes; `None` for anything else.
pub(super) fn plain_string<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<Option<&'a str>> {
    let text = foxwedge_formats::outline::read_string(scan)?;
    if text.is_some_and(|text| text.escaped) {
        // Agents do not write escapes here. Some readers would treat two encodings of a name as two
        // names.
        return scan.fail("a name or an id with JSON escapes");
    }
    Ok(text.map(|text| text.span.of(source)))
}

/// The text of a string; `None` for anything else.
pub(super) fn string_value<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<Option<Cow<'a, str>>> {
    Ok(foxwedge_formats::outline::read_string(scan)?.and_then(|text| text.non_empty_text(source)))
}

/// Whether a value is `true`.
pub(super) fn is_true(scan: &mut JsonScanner<'_>, source: &str) -> ScanResult<bool> {
    Ok(scan.skip()?.of(source) == "true")
}

/// The last call with an id. A new record copies fields of its call from there.
pub(super) fn last_call<'d, 'a>(draft: &'d Draft<'a>, id: &str) -> Option<&'d Part<'a>> {
    let is_call = |kind: &PartKind<'_>| matches!(kind, PartKind::Call(call) if call.id.as_deref() == Some(id));
    draft.parts.iter().rev().find(|part| is_call(&part.kind))
}
