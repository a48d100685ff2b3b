//! Values of fields, as the readers of records take them.

use std::borrow::Cow;

use crate::json::{Scan, Scanner};

/// A string as spelled, without its quotes; `None` for anything else.
pub(super) fn spelled<'a>(scan: &mut Scanner<'a>, source: &'a str) -> Scan<Option<&'a str>> {
    let text = crate::outline::string(scan)?;
    if text.is_some_and(|text| text.escaped) {
        // Agents do not do that, and a name that has two spellings is two names to some readers.
        return scan.trouble("a name or an id that is spelled with escapes");
    }
    Ok(text.map(|text| text.span.of(source)))
}

/// What a string says; `None` for anything else.
pub(super) fn said<'a>(scan: &mut Scanner<'a>, source: &'a str) -> Scan<Option<Cow<'a, str>>> {
    Ok(crate::outline::string(scan)?.and_then(|text| text.some(source)))
}

/// Whether a value is `true`.
pub(super) fn is_true(scan: &mut Scanner<'_>, source: &str) -> Scan<bool> {
    Ok(scan.skip()?.of(source) == "true")
}
