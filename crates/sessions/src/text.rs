//! Decodes the bytes of a session file, including damage from a crash.
//!
//! A line with NUL bytes or invalid UTF-8 is made readable in a copy. Line numbers stay the same,
//! and lines that no repair touches are written from the original bytes.

use std::borrow::Cow;

use foxwedge_formats::ReadError;
use foxwedge_json::JsonScanner;

/// The bytes of a session file with their decoded text.
#[derive(Clone, Debug)]
pub struct SessionText<'b> {
    bytes: &'b [u8],
    clean: Cow<'b, str>,
    damage: Vec<LineDamage>,
}

/// The damage to the bytes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LineDamage {
    /// The line number, starting at 0.
    pub(super) line: usize,
    /// Whether the line had NUL bytes.
    pub(super) nul: bool,
    /// Whether the line was not valid UTF-8.
    pub(super) encoding: bool,
    /// Whether invalid bytes outside of strings were removed, because the line is JSON without them.
    pub(super) strays: bool,
}

/// Decodes the bytes of a session file.
///
/// # Errors
/// Fails if the file is 4 GiB or larger, or if it is UTF-16.
pub fn readable_text(bytes: &[u8]) -> Result<SessionText<'_>, ReadError> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    let mut bytes = bytes;
    while let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        bytes = rest;
    }
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'{' | b'[', 0, _, 0, ..]) {
        // UTF-16: removing its zero bytes would corrupt non-ASCII text.
        return Err(ReadError::NotUtf8 { at: 0 });
    }
    let valid = simdutf8::basic::from_utf8(bytes).ok().filter(|_| !has_nul(bytes));
    Ok(match valid {
        Some(text) => SessionText { bytes, clean: Cow::Borrowed(text), damage: Vec::new() },
        None => cleaned_text(bytes),
    })
}

fn has_nul(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_some()
}

/// Removes NUL bytes and replaces invalid UTF-8, line by line.
fn cleaned_text(bytes: &[u8]) -> SessionText<'_> {
    let mut clean = String::with_capacity(bytes.len());
    let mut damage = Vec::new();
    for (line, raw) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let nul = memchr::memchr(0, raw).is_some();
        let without_nul: Cow<'_, [u8]> = if nul {
            raw.iter().copied().filter(|byte| *byte != 0).collect()
        } else {
            Cow::Borrowed(raw)
        };
        let encoding = simdutf8::basic::from_utf8(&without_nul).is_err();
        let lossy = String::from_utf8_lossy(&without_nul);
        let readable = Some(without_strays(&without_nul))
            .filter(|text| encoding && !is_json(&lossy) && is_json(text));
        clean.push_str(readable.as_deref().unwrap_or(&lossy));
        if nul || encoding {
            damage.push(LineDamage { line, nul, encoding, strays: readable.is_some() });
        }
    }
    SessionText { bytes, clean: Cow::Owned(clean), damage }
}

/// Removes invalid UTF-8 outside of strings, and replaces it inside of them.
fn without_strays(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    let (mut in_string, mut escaped) = (false, false);
    for chunk in line.utf8_chunks() {
        for byte in chunk.valid().bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = in_string,
                b'"' => in_string = !in_string,
                _ => {}
            }
        }
        text.push_str(chunk.valid());
        if in_string && !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            escaped = false;
        }
    }
    text
}

/// Whether a line is one JSON value.
fn is_json(line: &str) -> bool {
    let mut scan = JsonScanner::new(line);
    scan.shape().and_then(|_| scan.skip()).and_then(|_| scan.end()).is_ok()
}

impl SessionText<'_> {
    /// The decoded text. Spans of a parsed session point into it.
    pub fn as_str(&self) -> &str {
        &self.clean
    }

    /// The original bytes, without a byte-order mark.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// The damaged lines, in order.
    pub(super) fn damage(&self) -> &[LineDamage] {
        &self.damage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_removed_and_line_numbers_stay() {
        type Row<'r> = (&'r [u8], &'r str, &'r [(usize, bool, bool, bool)]);
        let table: [Row<'_>; 8] = [
            (b"{}\n{}\n", "{}\n{}\n", &[]),
            (b"\xef\xbb\xbf{}\n", "{}\n", &[]),
            (b"{}\n\0\0\0{}\n", "{}\n{}\n", &[(1, true, false, false)]),
            (b"{}\n\"\xff\"\n", "{}\n\"\u{fffd}\"\n", &[(1, false, true, false)]),
            (b"\0\xff\n\0", "\u{fffd}\n", &[(0, true, true, false), (1, true, false, false)]),
            // Outside of strings it is removed if the line is JSON then.
            (b"{\"a\":\xff1\xc3}\n", "{\"a\":1}\n", &[(0, false, true, true)]),
            (
                b"{\"a\xff\\\"\":\xff\"\x80\"}\n",
                "{\"a\u{fffd}\\\"\":\"\u{fffd}\"}\n",
                &[(0, false, true, true)],
            ),
            (b"{\"a\":\xff\n", "{\"a\":\u{fffd}\n", &[(0, false, true, false)]),
        ];
        for (bytes, expected, damage) in table {
            let text = readable_text(bytes).expect("small enough");
            let found: Vec<_> =
                text.damage().iter().map(|d| (d.line, d.nul, d.encoding, d.strays)).collect();
            assert_eq!((text.as_str(), found.as_slice()), (expected, damage), "{bytes:?}");
        }
    }
}
