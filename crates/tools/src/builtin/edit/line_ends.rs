//! A text as a model sees it: every line end is one byte. Unchanged lines keep their line ends.

use std::borrow::Cow;

/// A text with one byte for every line end.
#[derive(Debug)]
pub(super) struct LineNormalizedText<'a> {
    pub(super) text: Cow<'a, [u8]>,
    /// Positions in `text` of line ends that are CRLF in the original.
    crlf_positions: Vec<usize>,
}

impl<'a> LineNormalizedText<'a> {
    pub(super) fn of(original: &'a [u8]) -> LineNormalizedText<'a> {
        let mut crlf_positions = Vec::new();
        let mut text = Vec::new();
        let mut done = 0;
        for at in memchr::memmem::find_iter(original, b"\r\n") {
            text.extend_from_slice(original.get(done..at).unwrap_or_default());
            crlf_positions.push(text.len());
            text.push(b'\n');
            done = at + 2;
        }
        if crlf_positions.is_empty() {
            return LineNormalizedText { text: Cow::Borrowed(original), crlf_positions };
        }
        text.extend_from_slice(original.get(done..).unwrap_or_default());
        LineNormalizedText { text: Cow::Owned(text), crlf_positions }
    }

    /// Normalizes a text that is compared with this one or inserted into it. If this one has no
    /// CRLF, a CRLF in the other is literal.
    pub(super) fn match_line_ends<'b>(&self, other: &'b str) -> Cow<'b, str> {
        match self.crlf_positions.is_empty() {
            true => Cow::Borrowed(other),
            false => Cow::Owned(other.replace("\r\n", "\n")),
        }
    }

    /// Maximum number of bytes of another text when it is inserted.
    pub(super) fn max_length(&self, other: &[u8]) -> usize {
        match self.crlf_positions.is_empty() {
            true => other.len(),
            false => other.len() + memchr::memchr_iter(b'\n', other).count(),
        }
    }

    /// Replaces text of `length` bytes at all `matches` of the original by `new`. The matches are
    /// in order and do not overlap.
    pub(super) fn splice(
        &self,
        original: &[u8],
        matches: &[usize],
        length: usize,
        new: &[u8],
        out: &mut Vec<u8>,
    ) {
        let (mut done, mut style) = (0, LineEndStyle::default());
        for start in matches {
            style.update(self, *start);
            let unchanged = done..self.original_offset(*start);
            out.extend_from_slice(original.get(unchanged).unwrap_or_default());
            for byte in new {
                if *byte == b'\n' && style.is_crlf {
                    out.push(b'\r');
                }
                out.push(*byte);
            }
            done = self.original_offset(start + length);
        }
        out.extend_from_slice(original.get(done..).unwrap_or_default());
    }

    /// The byte offset in the original.
    fn original_offset(&self, at: usize) -> usize {
        at + self.crlf_positions.partition_point(|position| *position < at)
    }
}

/// Whether line ends around a position are CRLF. Positions come in order, and a line with many of
/// them is scanned once.
#[derive(Default)]
struct LineEndStyle {
    is_crlf: bool,
    /// Where the last scanned line ends.
    line_end: Option<usize>,
}

impl LineEndStyle {
    /// Checks the end of the line at a byte offset, or of the line before if the last line has no
    /// end.
    fn update(&mut self, plain: &LineNormalizedText<'_>, at: usize) {
        if plain.crlf_positions.is_empty() || self.line_end.is_some_and(|end| at <= end) {
            return;
        }
        let (before, after) = plain.text.split_at(at.min(plain.text.len()));
        let end = memchr::memchr(b'\n', after).map(|end| at + end);
        self.line_end = Some(end.unwrap_or(usize::MAX));
        let end = end.or_else(|| memchr::memrchr(b'\n', before));
        self.is_crlf = end.is_some_and(|end| plain.crlf_positions.binary_search(&end).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_line_ends_stay_and_new_ones_match_their_line() {
        let table = [
            ("a\nb\n", "b", "x\ny", "a\nx\ny\n"),
            ("a\r\nb\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\n"),
            ("a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"),
            ("a\r\nb\r\n", "\nb", "", "a\r\n"),
            ("a\r\nb\r\n", "a\n", "", "b\r\n"),
            ("a\r\nb", "b", "x\ny", "a\r\nx\r\ny"),
            // Mixed line ends in one file: each position follows its own line.
            ("a\r\nb\nc\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\n"),
            ("a\r\nb\nc\r\n", "a\nb\nc", "x\ny\nz", "x\r\ny\r\nz\r\n"),
            ("a\r\nb\n", "a", "x\ny", "x\r\ny\r\nb\n"),
            // No CRLF in the file: bytes are literal.
            ("a\rb\n", "\r", "\r\n", "a\r\nb\n"),
            ("é\r\n", "é", "ü", "ü\r\n"),
        ];
        for (original, old, new, expected) in table {
            let plain = LineNormalizedText::of(original.as_bytes());
            let (old, new) = (plain.match_line_ends(old), plain.match_line_ends(new));
            let matches: Vec<usize> =
                memchr::memmem::find_iter(&plain.text, old.as_bytes()).collect();
            assert_eq!(matches.len(), 1, "{original:?}");
            let mut out = Vec::new();
            plain.splice(original.as_bytes(), &matches, old.len(), new.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expected, "{original:?}");
        }
    }
}
