//! The bytes of a session file as text, whatever a crash left in them.
//!
//! A line that holds zeros or is not UTF-8 is made readable on a copy; line numbers stay as they
//! are, and what no repair touches is later written from the original bytes.

use std::borrow::Cow;

use crate::error::ReadError;

/// The bytes of a session file, readable.
#[derive(Clone, Debug)]
pub struct SessionText<'b> {
    bytes: &'b [u8],
    clean: Cow<'b, str>,
    damage: Vec<LineDamage>,
}

/// What was wrong with the bytes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LineDamage {
    /// Counted from zero.
    pub(super) line: usize,
    /// It held zeros.
    pub(super) nul: bool,
    /// It was not UTF-8.
    pub(super) encoding: bool,
}

/// Makes bytes readable.
///
/// # Errors
/// If there are more than four gigabytes, or if they are UTF-16.
pub fn readable_text(bytes: &[u8]) -> Result<SessionText<'_>, ReadError> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    let mut bytes = bytes;
    while let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        bytes = rest;
    }
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'{' | b'[', 0, _, 0, ..]) {
        // Another encoding altogether; taking its zeros out would spoil the rest.
        return Err(ReadError::NotUtf8 { at: 0 });
    }
    let sound = simdutf8::basic::from_utf8(bytes).ok().filter(|_| !has_nul(bytes));
    Ok(match sound {
        Some(text) => SessionText { bytes, clean: Cow::Borrowed(text), damage: Vec::new() },
        None => cleaned_text(bytes),
    })
}

fn has_nul(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_some()
}

/// Replaces what is not text, line by line.
fn cleaned_text(bytes: &[u8]) -> SessionText<'_> {
    let mut clean = String::with_capacity(bytes.len());
    let mut damage = Vec::new();
    for (line, raw) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let nul = memchr::memchr(0, raw).is_some();
        let kept: Cow<'_, [u8]> = if nul {
            raw.iter().copied().filter(|byte| *byte != 0).collect()
        } else {
            Cow::Borrowed(raw)
        };
        let encoding = simdutf8::basic::from_utf8(&kept).is_err();
        clean.push_str(&String::from_utf8_lossy(&kept));
        if nul || encoding {
            damage.push(LineDamage { line, nul, encoding });
        }
    }
    SessionText { bytes, clean: Cow::Owned(clean), damage }
}

impl SessionText<'_> {
    /// The text that spans of a reading point into.
    pub fn as_str(&self) -> &str {
        &self.clean
    }

    /// The bytes as they were, without a byte-order mark.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Damaged lines, in order.
    pub(super) fn damage(&self) -> &[LineDamage] {
        &self.damage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_taken_out_and_lines_stay() {
        type Row<'r> = (&'r [u8], &'r str, &'r [(usize, bool, bool)]);
        let table: [Row<'_>; 5] = [
            (b"{}\n{}\n", "{}\n{}\n", &[]),
            (b"\xef\xbb\xbf{}\n", "{}\n", &[]),
            (b"{}\n\0\0\0{}\n", "{}\n{}\n", &[(1, true, false)]),
            (b"{}\n\"\xff\"\n", "{}\n\"\u{fffd}\"\n", &[(1, false, true)]),
            (b"\0\xff\n\0", "\u{fffd}\n", &[(0, true, true), (1, true, false)]),
        ];
        for (bytes, expected, damage) in table {
            let text = readable_text(bytes).expect("small enough");
            let found: Vec<_> = text.damage().iter().map(|d| (d.line, d.nul, d.encoding)).collect();
            assert_eq!((text.as_str(), found.as_slice()), (expected, damage), "{bytes:?}");
        }
    }
}
