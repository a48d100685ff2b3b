//! Writes JSON strings and compact values.

use crate::Span;

use super::{JsonScanner, StringEnds};

/// Appends a text as the inside of a JSON string, without quotes.
pub fn escape_into(out: &mut String, text: &str) {
    use std::fmt::Write as _;
    let mut ends = StringEnds::NONE;
    let mut start = 0;
    // Copies text that needs no escapes at once. Bytes that need one are ASCII, so the text can be
    // cut on both sides of them.
    loop {
        let end = ends.next_end(text.as_bytes(), start);
        out.push_str(text.get(start..end).unwrap_or(""));
        match text.as_bytes().get(end) {
            None => return,
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            Some(b'\n') => out.push_str("\\n"),
            Some(b'\r') => out.push_str("\\r"),
            Some(b'\t') => out.push_str("\\t"),
            Some(0x8) => out.push_str("\\b"),
            Some(0xc) => out.push_str("\\f"),
            Some(control) => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
        start = end + 1;
    }
}

/// A text as a JSON string, with quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    escape_into(&mut out, text);
    out.push('"');
    out
}

/// A value that was scanned before, without white space and with no more escapes in its strings
/// than JSON requires. Numbers keep their spelling. Lone surrogates become U+FFFD.
pub fn compact(source: &str, value: Span) -> String {
    let raw = value.of(source);
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('"') {
        out.extend(rest[..at].chars().filter(|c| !c.is_ascii_whitespace()));
        let start = raw.len() - rest.len() + at;
        let from = value.start as usize + start;
        let mut scan = JsonScanner::within(source, Span::new(from, value.end as usize));
        let Ok(text) = scan.string() else { break };
        out.push_str(&quote(&text.text(source)));
        rest = source.get(scan.position()..value.end as usize).unwrap_or("");
    }
    out.extend(rest.chars().filter(|c| !c.is_ascii_whitespace()));
    out
}
