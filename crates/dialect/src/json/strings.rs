//! Strings: skipping them fast, and reading the few we need.

use std::borrow::Cow;

use foxwedge_core::Span;

use super::{Scan, Scanner};

/// A string in the text: what lies between its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Str {
    pub(crate) span: Span,
    pub(crate) escaped: bool,
}

impl Str {
    /// What it says. Borrowed unless it was spelled with escapes.
    pub(crate) fn text<'a>(&self, source: &'a str) -> Cow<'a, str> {
        let raw = self.span.of(source);
        if self.escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) }
    }

    /// What it says, if that is anything.
    pub(crate) fn some<'a>(&self, source: &'a str) -> Option<Cow<'a, str>> {
        (!self.span.is_empty()).then(|| self.text(source))
    }
}

/// Moves to the closing quote; tells whether there were escapes.
#[inline]
pub(super) fn skip(scan: &mut Scanner<'_>) -> Scan<bool> {
    let mut escaped = false;
    loop {
        let rest = scan.bytes.get(scan.at..).unwrap_or(&[]);
        let plain = plain(rest);
        if scan.controls && has_control(&rest[..plain]) {
            let inside = rest[..plain].iter().position(|byte| *byte < 0x20).unwrap_or(0);
            scan.at += inside;
            return scan.trouble("a control character inside a string");
        }
        scan.at += plain;
        match scan.peek() {
            b'"' => return Ok(escaped),
            b'\\' => {
                escaped = true;
                match scan.bytes.get(scan.at + 1) {
                    Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => scan.at += 2,
                    _ => rare_escape(scan)?,
                }
            }
            _ => return scan.trouble("a string that never ends"),
        }
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Marks quotes and backslashes in the high bit of their byte. A byte above the first marked one
/// may be marked by mistake; the first one never is.
#[inline]
fn special(word: u64) -> u64 {
    let quotes = word ^ (ONES * b'"' as u64);
    let slashes = word ^ (ONES * b'\\' as u64);
    (quotes.wrapping_sub(ONES) & !quotes | slashes.wrapping_sub(ONES) & !slashes) & HIGH
}

/// How many bytes stand before the next quote or backslash. Keys and ids end within two words;
/// for longer texts the call into wide instructions pays.
#[inline]
pub(crate) fn plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    if let Some(head) = bytes.first_chunk::<16>() {
        for word in head.as_chunks::<8>().0 {
            let hits = special(u64::from_le_bytes(*word));
            if hits != 0 {
                return at + (hits.trailing_zeros() / 8) as usize;
            }
            at += 8;
        }
    }
    let rest = bytes.get(at..).unwrap_or(&[]);
    at + memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())
}

/// Whether there is a control character, which no string may hold as it is.
pub(super) fn has_control(bytes: &[u8]) -> bool {
    // The smallest byte of a block, without a way out in between: that becomes vector code.
    bytes
        .chunks(4096)
        .any(|block| block.iter().fold(u8::MAX, |least, &byte| least.min(byte)) < 0x20)
}

/// Skips an escape that has another spelling, noting half characters.
#[cold]
fn rare_escape(scan: &mut Scanner<'_>) -> Scan<()> {
    let start = scan.at;
    scan.respelled = true;
    scan.at += 1;
    if scan.peek() == b'/' {
        scan.at += 1;
        return Ok(());
    }
    if scan.peek() != b'u' {
        return scan.trouble("an escape that JSON does not know");
    }
    scan.at += 1;
    match hex(scan)? {
        0xd800..=0xdbff => {
            let next = scan.bytes.get(scan.at..scan.at + 6).unwrap_or(b"");
            let low = next.first() == Some(&b'\\')
                && next.get(1) == Some(&b'u')
                && matches!(next.get(2), Some(b'd' | b'D'))
                && matches!(next.get(3), Some(b'c'..=b'f' | b'C'..=b'F'));
            if low {
                scan.at += 2;
                hex(scan)?;
            } else {
                scan.lone.push(Span::new(start, scan.at));
            }
        }
        0xdc00..=0xdfff => scan.lone.push(Span::new(start, scan.at)),
        _ => {}
    }
    Ok(())
}

fn hex(scan: &mut Scanner<'_>) -> Scan<u32> {
    let mut value = 0;
    for _ in 0..4 {
        let Some(digit) = char::from(scan.peek()).to_digit(16) else {
            return scan.trouble("an escape that JSON does not know");
        };
        value = value * 16 + digit;
        scan.at += 1;
    }
    Ok(value)
}

/// What the inside of a string says. Half characters become U+FFFD; nothing fails.
pub(crate) fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    unescape_into(&mut text, raw);
    text
}

/// Adds what the inside of a string says.
pub(crate) fn unescape_into(text: &mut String, raw: &str) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let (character, used) = one_escape(&rest[at..]);
        text.push(character);
        rest = rest.get(at + used..).unwrap_or("");
    }
    text.push_str(rest);
}

/// The character of an escape at the start of `raw`, and its length.
fn one_escape(raw: &str) -> (char, usize) {
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

/// Whether the inside of a string says nothing but white space. Looks no further than needed.
pub(crate) fn is_blank(raw: &str) -> bool {
    let mut rest = raw;
    while let Some(first) = rest.chars().next() {
        let used = if first == '\\' {
            let (character, used) = one_escape(rest);
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
