//! Strings: skips them fast, and unescapes the few that are needed.

use std::borrow::Cow;

use crate::Span;

use super::{JsonScanner, ScanResult};

/// A string of the input.
#[derive(Clone, Copy, Debug)]
pub struct StringSpan {
    /// Span of the text between the quotes.
    pub span: Span,
    /// Whether the string has escapes.
    pub escaped: bool,
}

impl StringSpan {
    /// The unescaped text. Borrowed if the string has no escapes.
    #[inline]
    pub fn text<'a>(&self, source: &'a str) -> Cow<'a, str> {
        let raw = self.span.of(source);
        if self.escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) }
    }

    /// The unescaped text. `None` if it is empty.
    #[inline]
    pub fn non_empty_text<'a>(&self, source: &'a str) -> Option<Cow<'a, str>> {
        (!self.span.is_empty()).then(|| self.text(source))
    }
}

/// Moves to the closing quote. Returns whether the string has escapes.
#[inline]
pub(super) fn skip(scan: &mut JsonScanner<'_>) -> ScanResult<bool> {
    // The fast path for keys, ids and most short texts: no escapes.
    scan.at = scan.marks.next_end(scan.bytes, scan.at);
    if scan.peek() == b'"' { Ok(false) } else { skip_escapes(scan) }
}

/// The same from the first end of plain text on, which is not the closing quote.
#[inline(never)]
fn skip_escapes(scan: &mut JsonScanner<'_>) -> ScanResult<bool> {
    let entries_before = scan.lone_surrogates.len();
    let escaped = scan.peek() == b'\\';
    loop {
        scan.at = scan.marks.next_end_behind_escapes(scan.bytes, scan.at);
        match scan.bytes.get(scan.at) {
            Some(b'"') => return Ok(escaped),
            Some(b'\\') => skip_rare_escape(scan, entries_before)?,
            Some(_) => return scan.fail("a control character inside a string"),
            None => return scan.fail("an unterminated string"),
        }
    }
}

/// Skips a `\u` or `\/` escape, and records lone surrogates. `entries_before` is the number of
/// entries in `lone_surrogates` at the start of the string.
#[cold]
fn skip_rare_escape(scan: &mut JsonScanner<'_>, entries_before: usize) -> ScanResult<()> {
    let start = scan.at;
    scan.has_rewritable_escapes = true;
    scan.at += 1;
    if scan.peek() == b'/' {
        scan.at += 1;
        return Ok(());
    }
    if scan.peek() != b'u' {
        return scan.fail("an invalid escape");
    }
    scan.at += 1;
    match read_hex(scan)? {
        0xd800..=0xdbff => {
            let next = scan.bytes.get(scan.at..scan.at + 6).unwrap_or(b"");
            let low = next.first() == Some(&b'\\')
                && next.get(1) == Some(&b'u')
                && matches!(next.get(2), Some(b'd' | b'D'))
                && matches!(next.get(3), Some(b'c'..=b'f' | b'C'..=b'F'));
            if low {
                scan.at += 2;
                read_hex(scan)?;
            } else {
                record_lone_surrogate(scan, start, entries_before);
            }
        }
        0xdc00..=0xdfff => record_lone_surrogate(scan, start, entries_before),
        _ => {}
    }
    Ok(())
}

/// Records a lone surrogate. Each string has one entry, however many it contains.
fn record_lone_surrogate(scan: &mut JsonScanner<'_>, start: usize, entries_before: usize) {
    let span = Span::new(start, scan.at);
    let entries = scan.lone_surrogates.len();
    match scan.lone_surrogates.last_mut() {
        // The text is read again after a reset.
        Some(last) if last.end >= span.end => {}
        Some(last) if entries > entries_before => last.end = span.end,
        _ => scan.lone_surrogates.push(span),
    }
}

/// Reads four hexadecimal digits.
fn read_hex(scan: &mut JsonScanner<'_>) -> ScanResult<u32> {
    let mut value = 0;
    for _ in 0..4 {
        let Some(digit) = char::from(scan.peek()).to_digit(16) else {
            return scan.fail("an invalid escape");
        };
        value = value * 16 + digit;
        scan.at += 1;
    }
    Ok(value)
}

/// Unescapes the raw text between the quotes of a string. A lone surrogate becomes U+FFFD. Invalid
/// escapes do not fail.
pub fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    unescape_into(&mut text, raw);
    text
}

/// The text of a JSON string, given with its quotes: see [`unescape`]. `None` if the value is not a
/// string. Borrowed if the string has no escapes.
pub fn string_text(raw: &str) -> Option<Cow<'_, str>> {
    let inside = raw.strip_prefix('"')?.strip_suffix('"')?;
    let escaped = memchr::memchr(b'\\', inside.as_bytes()).is_some();
    Some(if escaped { Cow::Owned(unescape(inside)) } else { Cow::Borrowed(inside) })
}

/// Appends the unescaped form of the raw text between the quotes of a string: see [`unescape`].
pub fn unescape_into(text: &mut String, raw: &str) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let (character, used) = decode_escape(&rest[at..]);
        text.push(character);
        rest = rest.get(at + used..).unwrap_or("");
    }
    text.push_str(rest);
}

/// The character of the escape at the start of `raw`, and the length of the escape in bytes. A lone
/// surrogate is U+FFFD.
pub fn decode_escape(raw: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = raw.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    match raw.as_bytes().get(1) {
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'n') => ('\n', 2),
        Some(b'r') => ('\r', 2),
        Some(b't') => ('\t', 2),
        Some(b'u') => match (unit(0), unit(6)) {
            (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                (char::from_u32(code).unwrap_or('\u{fffd}'), 12)
            }
            (Some(code), _) => (char::from_u32(code).unwrap_or('\u{fffd}'), 6),
            (None, _) => ('\u{fffd}', 2),
        },
        Some(&byte) if byte.is_ascii() => (char::from(byte), 2),
        _ => ('\u{fffd}', 1),
    }
}

/// Whether the raw text between the quotes of a string is empty or only white space once unescaped.
/// Stops at the first other character.
pub fn is_blank(raw: &str) -> bool {
    let mut rest = raw;
    while let Some(first) = rest.chars().next() {
        let used = if first == '\\' {
            let (character, used) = decode_escape(rest);
            if !character.is_whitespace() {
                return false;
            }
            used
        } else if first.is_whitespace() {
            first.len_utf8()
        } else {
            return false;
        };
        rest = rest.get(used..).unwrap_or("");
    }
    true
}
