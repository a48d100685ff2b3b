//! A JSON scanner that knows where everything lies.
//!
//! `serde_json` yields values; we need byte spans, and we skip nearly everything. So this scanner
//! walks the text once, checks the grammar, and hands out spans without building anything. It is
//! held against `serde_json` on generated documents (see the tests): both accept the same texts.

use std::borrow::Cow;

use foxwedge_core::Span;

mod string_ends;
mod number;
mod scanner;
mod strings;
mod tape;
mod write;

pub(crate) use scanner::{JsonScanner, JsonShape};
pub(crate) use string_ends::StringEnds;
pub(crate) use strings::{StringSpan, is_blank, unescape, unescape_into};
pub(crate) use tape::{JsonObject, JsonTape, JsonValue};
pub(crate) use write::{compact, escape_into, quote};

/// Why a text is not JSON, or not the JSON we expect, and where. On the heap, since there is next to
/// never any: what a scan yields fits into registers then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ScanError(Box<ScanErrorDetail>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct ScanErrorDetail {
    at: usize,
    message: Cow<'static, str>,
}

impl ScanError {
    #[cold]
    pub(crate) fn new(at: usize, what: impl Into<Cow<'static, str>>) -> ScanError {
        ScanError(Box::new(ScanErrorDetail { at, message: what.into() }))
    }

    /// The byte.
    pub(crate) fn at(&self) -> usize {
        self.0.at
    }

    /// What is wrong there.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The text may be JSON, but is nested too deeply to be read.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.0.message.starts_with("nested deeper")
    }
}

pub(crate) type ScanResult<T> = Result<T, ScanError>;

/// A key of an object and where its value lies.
#[derive(Clone, Debug)]
pub(crate) struct JsonField<'a> {
    pub(crate) key: Cow<'a, str>,
    /// The key with its quotes.
    pub(crate) name: Span,
    pub(crate) value: Span,
}

/// The fields of an object that was scanned before; empty for anything else.
pub(crate) fn object_fields(source: &str, object: Span) -> Vec<JsonField<'_>> {
    let mut found = Vec::new();
    let mut scanner = JsonScanner::within(source, object);
    // The text was accepted once, so there is nothing to report.
    let _ = scanner.object(|scan, key, name| {
        // A key without escapes is the text between its quotes.
        let inside = source.get(name.start as usize + 1..name.end as usize - 1).unwrap_or("");
        let key = if inside.as_bytes() == key {
            Cow::Borrowed(inside)
        } else {
            Cow::Owned(String::from_utf8_lossy(key).into_owned())
        };
        let value = scan.skip()?;
        found.push(JsonField { key, name, value });
        Ok(())
    });
    found
}

/// The value of one field of an object that was scanned before.
pub(crate) fn field_value(source: &str, object: Span, wanted: &str) -> Option<Span> {
    object_fields(source, object)
        .into_iter()
        .find(|field| field.key == wanted)
        .map(|field| field.value)
}

/// What the string under a key of an object says, for an object that was scanned before.
pub(crate) fn field_text<'a>(source: &'a str, object: Span, key: &str) -> Option<Cow<'a, str>> {
    let value = field_value(source, object, key)?;
    let mut scanner = JsonScanner::within(source, value);
    (scanner.shape() == Ok(JsonShape::String))
        .then(|| scanner.string().ok())?
        .map(|text| text.text(source))
}

/// The elements of an array that was scanned before; empty for anything else.
pub(crate) fn array_elements(source: &str, array: Span) -> Vec<Span> {
    let mut found = Vec::new();
    let mut scanner = JsonScanner::within(source, array);
    let _ = scanner.array(|scan, _| {
        found.push(scan.skip()?);
        Ok(())
    });
    found
}

#[cfg(test)]
mod tests;
