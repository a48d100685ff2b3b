//! Writing strings, and values spelled anew.

use foxwedge_core::Span;

use super::Scanner;

/// Appends a text as the inside of a JSON string.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    use std::fmt::Write as _;
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
}

/// A text as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    escape_into(&mut out, text);
    out.push('"');
    out
}

/// A value that was scanned before, without white space and with plainly spelled strings.
pub(crate) fn compact(source: &str, value: Span) -> String {
    let raw = value.of(source);
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('"') {
        out.extend(rest[..at].chars().filter(|c| !c.is_ascii_whitespace()));
        let start = raw.len() - rest.len() + at;
        let from = value.start as usize + start;
        let mut scan = Scanner::within(source, Span::new(from, value.end as usize));
        let Ok(text) = scan.string() else { break };
        out.push_str(&quote(&text.text(source)));
        rest = source.get(scan.position()..value.end as usize).unwrap_or("");
    }
    out.extend(rest.chars().filter(|c| !c.is_ascii_whitespace()));
    out
}
