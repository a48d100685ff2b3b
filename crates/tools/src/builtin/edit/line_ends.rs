//! A text as a model sees it: whatever its line ends are, they look like one byte. What is not
//! changed keeps the ends that it has.

use std::borrow::Cow;

/// A text with one byte for every line end.
#[derive(Debug)]
pub(super) struct LineNormalizedText<'a> {
    pub(super) text: Cow<'a, [u8]>,
    /// Where in it the ends are that have two bytes in truth.
    crlf_positions: Vec<usize>,
}

impl<'a> LineNormalizedText<'a> {
    pub(super) fn of(original: &'a [u8]) -> LineNormalizedText<'a> {
        let mut pairs = Vec::new();
        let mut text = Vec::new();
        let mut done = 0;
        for at in memchr::memmem::find_iter(original, b"\r\n") {
            text.extend_from_slice(original.get(done..at).unwrap_or_default());
            pairs.push(text.len());
            text.push(b'\n');
            done = at + 2;
        }
        if pairs.is_empty() {
            return LineNormalizedText { text: Cow::Borrowed(original), crlf_positions: pairs };
        }
        text.extend_from_slice(original.get(done..).unwrap_or_default());
        LineNormalizedText { text: Cow::Owned(text), crlf_positions: pairs }
    }

    /// A text that is compared with this one, or put into it. If this one has no ends of two
    /// bytes, those of the other are meant as they are.
    pub(super) fn match_line_ends<'b>(&self, other: &'b str) -> Cow<'b, str> {
        match self.crlf_positions.is_empty() {
            true => Cow::Borrowed(other),
            false => Cow::Owned(other.replace("\r\n", "\n")),
        }
    }

    /// How many bytes another text may need in this one.
    pub(super) fn max_length(&self, other: &[u8]) -> usize {
        match self.crlf_positions.is_empty() {
            true => other.len(),
            false => other.len() + memchr::memchr_iter(b'\n', other).count(),
        }
    }

    /// The original with a new text in all places where an old one of a length begins, which are
    /// in order and do not touch each other.
    pub(super) fn splice(
        &self,
        original: &[u8],
        places: &[usize],
        length: usize,
        new: &[u8],
        into: &mut Vec<u8>,
    ) {
        let (mut done, mut style) = (0, LineEndStyle::default());
        for place in places {
            style.update(self, *place);
            let kept = done..self.original_offset(*place);
            into.extend_from_slice(original.get(kept).unwrap_or_default());
            for byte in new {
                if *byte == b'\n' && style.is_crlf {
                    into.push(b'\r');
                }
                into.push(*byte);
            }
            done = self.original_offset(place + length);
        }
        into.extend_from_slice(original.get(done..).unwrap_or_default());
    }

    /// Where a byte is in the original.
    fn original_offset(&self, at: usize) -> usize {
        at + self.crlf_positions.partition_point(|pair| *pair < at)
    }
}

/// Whether line ends have two bytes around a place. Places come in order, and a line with many of
/// them is looked through once.
#[derive(Default)]
struct LineEndStyle {
    is_crlf: bool,
    /// Where the line ends that was looked at.
    line_end: Option<usize>,
}

impl LineEndStyle {
    /// Looks at the end of the line that a byte is in; or at that of the line before, if it is the
    /// last and has none.
    fn update(&mut self, plain: &LineNormalizedText<'_>, at: usize) {
        if plain.crlf_positions.is_empty() || self.line_end.is_some_and(|until| at <= until) {
            return;
        }
        let (before, behind) = plain.text.split_at(at.min(plain.text.len()));
        let end = memchr::memchr(b'\n', behind).map(|end| at + end);
        self.line_end = Some(end.unwrap_or(usize::MAX));
        let end = end.or_else(|| memchr::memrchr(b'\n', before));
        self.is_crlf = end.is_some_and(|end| plain.crlf_positions.binary_search(&end).is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_that_nobody_changes_stay_and_new_ones_look_like_those_around() {
        let table = [
            ("a\nb\n", "b", "x\ny", "a\nx\ny\n"),
            ("a\r\nb\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\n"),
            ("a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"),
            ("a\r\nb\r\n", "\nb", "", "a\r\n"),
            ("a\r\nb\r\n", "a\n", "", "b\r\n"),
            ("a\r\nb", "b", "x\ny", "a\r\nx\r\ny"),
            // Both kinds in one file: each place like its own.
            ("a\r\nb\nc\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\n"),
            ("a\r\nb\nc\r\n", "a\nb\nc", "x\ny\nz", "x\r\ny\r\nz\r\n"),
            ("a\r\nb\n", "a", "x\ny", "x\r\ny\r\nb\n"),
            // No pair in the file: bytes are bytes.
            ("a\rb\n", "\r", "\r\n", "a\r\nb\n"),
            ("é\r\n", "é", "ü", "ü\r\n"),
        ];
        for (original, old, new, expected) in table {
            let plain = LineNormalizedText::of(original.as_bytes());
            let (old, new) = (plain.match_line_ends(old), plain.match_line_ends(new));
            let places: Vec<usize> =
                memchr::memmem::find_iter(&plain.text, old.as_bytes()).collect();
            assert_eq!(places.len(), 1, "{original:?}");
            let mut into = Vec::new();
            plain.splice(original.as_bytes(), &places, old.len(), new.as_bytes(), &mut into);
            assert_eq!(String::from_utf8_lossy(&into), expected, "{original:?}");
        }
    }
}
