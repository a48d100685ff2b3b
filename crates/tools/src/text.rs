//! Text for models: lines and results of limited length.

use std::io::{self, BufRead};

/// How many bytes at the start of a file decide whether it is text.
pub(crate) const SAMPLE: usize = 8 << 10;

/// Whether the start of a file looks binary.
pub(crate) fn is_binary(start: &[u8]) -> bool {
    start.iter().take(SAMPLE).any(|byte| *byte == 0)
}

/// The UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// A line as it is shown: without its line end, with invalid UTF-8 marked, and cut if it is long.
/// `length` is the length of the whole line; `start` may be only a part of it.
pub(crate) fn display_line(start: &[u8], length: u64, max: usize) -> String {
    let complete = start.len() as u64 == length;
    let start = match complete {
        true => start.strip_suffix(b"\r").unwrap_or(start),
        false => start,
    };
    if complete && start.len() <= max {
        return String::from_utf8_lossy(start).into_owned();
    }
    let visible = start.get(..max).unwrap_or(start);
    // Drop half a character at the cut.
    let visible = match std::str::from_utf8(visible) {
        Ok(_) => visible,
        Err(error) if error.error_len().is_none() => &visible[..error.valid_up_to()],
        Err(_) => visible,
    };
    let omitted = length.saturating_sub(visible.len() as u64);
    format!("{}[… {omitted} bytes left out]", String::from_utf8_lossy(visible))
}

/// A number of bytes in a readable unit.
pub(crate) fn display_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64;
    let mut unit = None;
    for name in UNITS {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = Some(name);
    }
    match unit {
        None => format!("{bytes} B"),
        Some(unit) => format!("{size:.1} {unit}"),
    }
}

/// A count with its noun: `1 line`, `2 lines`.
pub(crate) fn pluralize(number: u64, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    }
}

/// Counts the lines of a text. Text after the last line end is a line.
pub(crate) fn count_lines(text: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text).count() as u64;
    ends + u64::from(text.last().is_some_and(|last| *last != b'\n'))
}

/// Reads lines of any length and keeps only the start of each.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    source: R,
    line_head: Vec<u8>,
    max_bytes: usize,
}

/// Result of one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineStep {
    /// A part of a line; the line continues.
    Part,
    /// The end of a line, with its length in bytes without the line end.
    Line(u64),
    /// End of the input.
    End,
}

impl<R: BufRead> LineReader<R> {
    /// Keeps up to `max_bytes` bytes of every line.
    pub(crate) fn new(source: R, max_bytes: usize) -> LineReader<R> {
        LineReader { source, line_head: Vec::new(), max_bytes }
    }

    /// Reads on in the next line, with a limited amount of work per step. `length` counts its bytes
    /// and must be zero at the start of every line.
    pub(crate) fn step(&mut self, length: &mut u64) -> io::Result<LineStep> {
        if *length == 0 {
            self.line_head.clear();
        }
        let buffer = match self.source.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(LineStep::Part),
            other => other?,
        };
        if buffer.is_empty() {
            return Ok(match *length {
                0 => LineStep::End,
                length => LineStep::Line(length),
            });
        }
        let end = memchr::memchr(b'\n', buffer);
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        let room = self.max_bytes.saturating_sub(self.line_head.len()).min(part.len());
        self.line_head.extend_from_slice(part.get(..room).unwrap_or_default());
        *length += part.len() as u64;
        let consumed = part.len() + usize::from(end.is_some());
        self.source.consume(consumed);
        Ok(match end {
            Some(_) => LineStep::Line(*length),
            None => LineStep::Part,
        })
    }

    /// The start of the last line that was read.
    pub(crate) fn line_head(&self) -> &[u8] {
        &self.line_head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_between_characters_with_a_mark() {
        let table: [(&[u8], &str); 6] = [
            (b"abcd", "abcd"),
            (b"abcd\r", "abcd"),
            (b"abcde", "abcd[\u{2026} 1 bytes left out]"),
            ("abcé".as_bytes(), "abc[… 2 bytes left out]"),
            (b"a\xff", "a\u{fffd}"),
            (b"", ""),
        ];
        for (start, expected) in table {
            assert_eq!(display_line(start, start.len() as u64, 4), expected, "{start:?}");
        }
    }

    #[test]
    fn lines_of_any_length_are_read_and_counted() -> io::Result<()> {
        for (text, expected) in [
            ("", vec![]),
            ("a", vec![("a", 1)]),
            ("a\n", vec![("a", 1)]),
            ("\n\nb", vec![("", 0), ("", 0), ("b", 1)]),
            ("abcdefghij\nk\n", vec![("abc", 10), ("k", 1)]),
        ] {
            // A small buffer, so that lines cross its end.
            let source = io::BufReader::with_capacity(4, text.as_bytes());
            let mut lines = LineReader::new(source, 3);
            let (mut found, mut length) = (Vec::new(), 0);
            loop {
                match lines.step(&mut length)? {
                    LineStep::Part => {}
                    LineStep::Line(line_length) => {
                        found.push((
                            String::from_utf8_lossy(lines.line_head()).into_owned(),
                            line_length,
                        ));
                        length = 0;
                    }
                    LineStep::End => break,
                }
            }
            let expected: Vec<_> = expected.into_iter().map(|(s, n)| (s.to_owned(), n)).collect();
            assert_eq!(found, expected, "{text:?}");
        }
        Ok(())
    }

    #[test]
    fn numbers_are_formatted_for_people() {
        assert_eq!(
            [display_size(0), display_size(1023), display_size(1536)],
            ["0 B", "1023 B", "1.5 KiB"]
        );
        assert_eq!(display_size(u64::MAX), "16777216.0 TiB");
        assert_eq!([pluralize(0, "line"), pluralize(1, "line")], ["0 lines", "1 line"]);
        assert_eq!(
            [count_lines(b""), count_lines(b"a"), count_lines(b"a\n"), count_lines(b"a\n\nb")],
            [0, 1, 1, 3]
        );
    }
}
