//! JSON with byte spans: reads where each value is, and changes a document without rewriting it.
//!
//! `serde_json` returns values and forgets where they were. A document that is parsed and written
//! again loses its white space, its escapes, its duplicate keys and the spelling of its numbers.
//! Foxwedge must forward every byte that it does not repair. This crate therefore works on the text
//! itself: it finds the byte [`Span`] of a value, and writes a copy of the text in which single
//! spans are replaced.
//!
//! - [`JsonScanner`] checks a text or reads a few values of it. One pass; builds nothing.
//! - [`JsonTape`] lists all values of a document, for callers that read many of them.
//! - [`object_fields`], [`field_value`], [`field_text`] and [`array_elements`] look into a value
//!   that was scanned before.
//! - [`string_text`], [`unescape`], [`is_blank`], [`quote`] and [`escape_into`] read and write
//!   strings.
//! - [`write_patched`] and [`patched_text`] change fields of an object.
//! - [`SpliceWriter`] assembles output from spans of the input and new text.
//!
//! # Example
//!
//! ```
//! use foxwedge_json::{FieldChange, JsonScanner, field_value, patched_text, quote};
//!
//! let source = r#"{ "id": "a1",  "price": 1.50, "note": "caf\u00e9" }"#;
//!
//! let mut scanner = JsonScanner::new(source);
//! let object = scanner.skip()?;
//! scanner.end()?;
//!
//! let price = field_value(source, object, "price");
//! assert_eq!(price.map(|span| span.of(source)), Some("1.50"));
//!
//! // Only the value of `id` changes. All other bytes are copied.
//! let changes = vec![("id", FieldChange::Text(quote("b2")))];
//! assert_eq!(
//!     patched_text(source, object, changes),
//!     r#"{ "id": "b2",  "price": 1.50, "note": "caf\u00e9" }"#,
//! );
//! # Ok::<(), foxwedge_json::ScanError>(())
//! ```
//!
//! # Guarantees
//!
//! - **Grammar.** The scanner accepts the texts that `serde_json` accepts. A test compares both on
//!   generated texts. There are three deliberate differences: numbers of any size are valid,
//!   containers may be nested 512 levels deep, and an escaped lone surrogate (`"\ud83d"`) is no
//!   error but is recorded in [`JsonScanner::lone_surrogates`].
//! - **Errors have a place.** A [`ScanError`] has the byte offset at which reading stopped.
//! - **Byte-exact copies.** What is copied from the input has the same bytes in the output. The
//!   exceptions are lone surrogates and replacements, and only where the caller passes their spans
//!   to a [`SpliceWriter`]: surrogates become `\ufffd`. A change of a field copies everything but the value.
//!   Where a field is added or removed, the comma and the white space next to it change too.
//! - **Bounded cost.** [`JsonScanner::skip`] takes linear time, does not recurse, and allocates
//!   only for errors and lone surrogates.
//!
//! # What must never happen here
//!
//! - No clock, no files, no network, no global state. The output depends only on the arguments.
//! - No panic, whatever the text. Invalid JSON is a [`ScanError`]; a span that does not lie in the
//!   text reads as empty.
//! - No text of more than four gigabytes: a [`Span`] has 32-bit offsets. Callers must refuse longer
//!   texts before they scan them.

use std::borrow::Cow;

mod span;
mod string_ends;
mod number;
mod scanner;
mod strings;
mod surrogates;
mod tape;
mod write;
mod splice;

pub use number::compare_number;
pub use scanner::{JsonScanner, JsonShape};
pub use span::Span;
pub use splice::{
    FieldChange, FieldChanges, OutputChunk, SpliceWriter, TextReplacement, patched_text,
    replace_surrogates, write_patched,
};
pub use string_ends::StringEnds;
pub use strings::{StringSpan, decode_escape, is_blank, string_text, unescape, unescape_into};
pub use surrogates::lone_surrogates;
pub use tape::{JsonObject, JsonTape, JsonValue};
pub use write::{compact, escape_into, quote};

/// Why a text is not JSON, or not the JSON that the caller expects, and where.
///
/// The detail is boxed, so that a [`ScanResult`] fits into registers. Errors are rare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScanError(Box<ScanErrorDetail>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct ScanErrorDetail {
    at: usize,
    message: Cow<'static, str>,
}

impl ScanError {
    /// An error at a byte offset.
    #[cold]
    pub fn new(at: usize, message: impl Into<Cow<'static, str>>) -> ScanError {
        ScanError(Box::new(ScanErrorDetail { at, message: message.into() }))
    }

    /// Byte offset of the error.
    pub fn at(&self) -> usize {
        self.0.at
    }

    /// What is wrong at that offset.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the text was refused because it is nested too deeply. It may be JSON all the same.
    pub fn is_too_deep(&self) -> bool {
        self.0.message.starts_with("nested deeper")
    }
}

/// The result of a scan.
pub type ScanResult<T> = Result<T, ScanError>;

/// A field of an object.
#[derive(Clone, Debug)]
pub struct JsonField<'a> {
    /// The key, unescaped.
    pub key: Cow<'a, str>,
    /// Span of the key, with its quotes.
    pub name: Span,
    /// Span of the value.
    pub value: Span,
}

/// The fields of an object that was scanned before, in order. Empty for any other value.
pub fn object_fields(source: &str, object: Span) -> Vec<JsonField<'_>> {
    let mut fields = Vec::new();
    let mut scanner = JsonScanner::within(source, object);
    // An earlier scan accepted the text, so this one does not fail.
    let _ = scanner.object(|scan, key, name| {
        // A key without escapes is the text between its quotes.
        let inside = source.get(name.start as usize + 1..name.end as usize - 1).unwrap_or("");
        let key = if inside.as_bytes() == key {
            Cow::Borrowed(inside)
        } else {
            Cow::Owned(String::from_utf8_lossy(key).into_owned())
        };
        let value = scan.skip()?;
        fields.push(JsonField { key, name, value });
        Ok(())
    });
    fields
}

/// The value of one field of an object that was scanned before. The first one, if several fields
/// have the key.
pub fn field_value(source: &str, object: Span, key: &str) -> Option<Span> {
    object_fields(source, object)
        .into_iter()
        .find(|field| field.key == key)
        .map(|field| field.value)
}

/// The string value of one field of an object that was scanned before, unescaped. `None` if the
/// value is not a string.
pub fn field_text<'a>(source: &'a str, object: Span, key: &str) -> Option<Cow<'a, str>> {
    let value = field_value(source, object, key)?;
    let mut scanner = JsonScanner::within(source, value);
    (scanner.shape() == Ok(JsonShape::String))
        .then(|| scanner.string().ok())?
        .map(|text| text.text(source))
}

/// The elements of an array that was scanned before, in order. Empty for any other value.
pub fn array_elements(source: &str, array: Span) -> Vec<Span> {
    let mut elements = Vec::new();
    let mut scanner = JsonScanner::within(source, array);
    let _ = scanner.array(|scan, _| {
        elements.push(scan.skip()?);
        Ok(())
    });
    elements
}

#[cfg(test)]
mod tests;
