//! Writing strings, and values spelled anew.

use foxwedge_core::Span;

use super::Scanner;

/// Appends a text as the inside of a JSON string.
pub(crate) fn escape_into(out: &mut String, text: &str) {
    use std::fmt::Write as _;
    let mut rest = text;
    // What needs no escape goes over in one piece.
    while let Some(at) = rest.bytes().position(|byte| ESCAPED[usize::from(byte)]) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x8 => out.push_str("\\b"),
            0xc => out.push_str("\\f"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Bytes that cannot stand in a string as they are. All of them are ASCII, so a text may be cut
/// beside them.
const ESCAPED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
};

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
