//! Values of fields, as the readers of records take them.

use std::borrow::Cow;

use crate::json::{JsonScanner, ScanResult};

/// A string as spelled, without its quotes; `None` for anything else.
pub(super) fn plain_string<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<Option<&'a str>> {
    let text = crate::outline::read_string(scan)?;
    if text.is_some_and(|text| text.escaped) {
        // Agents do not do that, and a name that has two spellings is two names to some readers.
        return scan.fail("a name or an id that is spelled with escapes");
    }
    Ok(text.map(|text| text.span.of(source)))
}

/// What a string says; `None` for anything else.
pub(super) fn string_value<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<Option<Cow<'a, str>>> {
    Ok(crate::outline::read_string(scan)?.and_then(|text| text.non_empty_text(source)))
}

/// Whether a value is `true`.
pub(super) fn is_true(scan: &mut JsonScanner<'_>, source: &str) -> ScanResult<bool> {
    Ok(scan.skip()?.of(source) == "true")
}
