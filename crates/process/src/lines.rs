//! Splits output into lines. Memory is limited: a line that is too long is discarded as it arrives,
//! and only its two ends are kept. Bytes need not be UTF-8.

use bytes::{Bytes, BytesMut};
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes per read.
const READ_SIZE: usize = 64 << 10;
/// Bytes that are kept of each end of a line that is too long.
const LINE_END_WINDOW: usize = 256;

/// An item of the output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OutputLine {
    /// A line without its line end, LF or CRLF.
    Whole(Bytes),
    /// A line that was too long.
    TooLong {
        /// Its first bytes.
        head: Bytes,
        /// Its last bytes.
        tail: Bytes,
    },
    /// A line that does not end. Nothing is read after it.
    Endless,
}

/// What a line may be.
#[derive(Clone, Copy, Debug)]
pub struct LineLimits {
    /// Maximum bytes of a line without its line feed.
    pub max_line: usize,
    /// Maximum bytes of a line that has not ended, by its first bytes. A line that is longer is
    /// endless.
    pub max_open: fn(&[u8]) -> usize,
    /// Whether the text after the last line end is a line, too.
    pub keep_unfinished: bool,
}

impl LineLimits {
    /// Reads all lines, and skips those that are too long.
    pub const fn new(max_line: usize) -> LineLimits {
        LineLimits { max_line, max_open: |_| usize::MAX, keep_unfinished: true }
    }
}

/// Bytes that become lines.
#[derive(Debug)]
pub struct LineBuffer {
    limits: LineLimits,
    bytes: BytesMut,
    /// Length of the buffer's beginning that has no line end.
    scanned: usize,
    /// The start of a line that is too long.
    head: Option<Bytes>,
    /// Bytes of that line that were discarded.
    discarded: usize,
    endless: bool,
}

impl LineBuffer {
    /// An empty buffer.
    pub fn new(limits: LineLimits) -> LineBuffer {
        let bytes = BytesMut::new();
        LineBuffer { limits, bytes, scanned: 0, head: None, discarded: 0, endless: false }
    }

    /// Adds output. Take all lines before adding more.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next line; `None` if more output is needed.
    pub fn next_line(&mut self) -> Option<OutputLine> {
        if self.endless {
            return None;
        }
        let new = self.bytes.get(self.scanned..).unwrap_or_default();
        let Some(end) = memchr(b'\n', new) else {
            self.discard_middle();
            let start = self.head.as_deref().unwrap_or(&self.bytes);
            self.endless = self.discarded + self.bytes.len() > (self.limits.max_open)(start);
            return self.endless.then_some(OutputLine::Endless);
        };
        let mut line = self.bytes.split_to(self.scanned + end + 1);
        line.truncate(line.len() - 1);
        Some(self.end_line(line))
    }

    /// Takes what follows the last line end.
    pub fn finish(&mut self) -> Option<OutputLine> {
        let rest = std::mem::take(&mut self.bytes);
        let any = self.head.is_some() || !rest.is_empty();
        (any && self.limits.keep_unfinished && !self.endless).then(|| self.end_line(rest))
    }

    /// Discards what lies between the ends of an open line that is too long.
    fn discard_middle(&mut self) {
        if self.head.is_none() && self.bytes.len() > self.limits.max_line {
            self.head = Some(first_bytes(&self.bytes));
        }
        if self.head.is_some() && self.bytes.len() > LINE_END_WINDOW {
            self.discarded += self.bytes.len() - LINE_END_WINDOW;
            self.bytes = BytesMut::from(last_bytes(&self.bytes).as_ref());
        }
        self.scanned = self.bytes.len();
    }

    fn end_line(&mut self, mut line: BytesMut) -> OutputLine {
        (self.scanned, self.discarded) = (0, 0);
        let is_too_long = line.len() > self.limits.max_line;
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        match self.head.take() {
            Some(head) => OutputLine::TooLong { head, tail: last_bytes(&line) },
            None if is_too_long => {
                OutputLine::TooLong { head: first_bytes(&line), tail: last_bytes(&line) }
            }
            None => OutputLine::Whole(line.freeze()),
        }
    }
}

fn first_bytes(line: &[u8]) -> Bytes {
    Bytes::copy_from_slice(line.get(..LINE_END_WINDOW).unwrap_or(line))
}

fn last_bytes(line: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&line[line.len().saturating_sub(LINE_END_WINDOW)..])
}

/// Reads the lines of a source.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    buffer: LineBuffer,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads from the source.
    pub fn new(source: R, limits: LineLimits) -> LineReader<R> {
        LineReader { source, buffer: LineBuffer::new(limits) }
    }

    /// The next line; `None` at the end. Cancel safe. An error counts as the end.
    pub async fn next_line(&mut self) -> Option<OutputLine> {
        loop {
            if let Some(line) = self.buffer.next_line() {
                return Some(line);
            }
            if self.buffer.endless {
                return None;
            }
            self.buffer.bytes.reserve(READ_SIZE);
            match self.source.read_buf(&mut self.buffer.bytes).await {
                Ok(0) | Err(_) => return self.buffer.finish(),
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], limits: LineLimits) -> Vec<String> {
        let mut lines = LineReader::new(text, limits);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await {
            all.push(match line {
                OutputLine::Whole(line) => String::from_utf8_lossy(&line).into_owned(),
                OutputLine::TooLong { head, tail } => {
                    assert!(head.len() <= LINE_END_WINDOW && tail.len() <= LINE_END_WINDOW);
                    "(too long)".to_owned()
                }
                OutputLine::Endless => "(endless)".to_owned(),
            });
        }
        assert!(lines.buffer.bytes.capacity() <= limits.max_line + 4 * READ_SIZE);
        all
    }

    #[tokio::test]
    async fn lines_are_cut_at_their_ends() {
        let table: [(&[u8], &[&str]); 6] = [
            (b"", &[]),
            (b"a\nb\n", &["a", "b"]),
            (b"a\r\n\n\nb", &["a", "", "", "b"]),
            (b"\n", &[""]),
            (b"\xff\xfe\n{", &["\u{fffd}\u{fffd}", "{"]),
            (b"123456789\nab\n123456789", &["(too long)", "ab", "(too long)"]),
        ];
        for (text, expected) in table {
            let found = lines(text, LineLimits::new(8)).await;
            assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(text));
        }
        let whole = LineLimits { keep_unfinished: false, ..LineLimits::new(8) };
        assert_eq!(lines(b"a\n\nb", whole).await, ["a", ""]);
        assert_eq!(lines(b"a\n123456789", whole).await, ["a"]);
    }

    #[tokio::test]
    async fn a_line_without_end_is_not_buffered() {
        let mut long = vec![b'x'; 10 * READ_SIZE];
        long.extend_from_slice(b"\nnext\n");
        let limits = LineLimits::new(READ_SIZE);
        assert_eq!(lines(&long, limits).await, ["(too long)", "next"]);
        let limits = LineLimits { max_open: |_| 9 * READ_SIZE, ..limits };
        assert_eq!(lines(&long, limits).await, ["(endless)"]);
    }

    #[tokio::test]
    async fn both_ends_of_a_long_line_are_kept() {
        let text = format!("{}{}{}\r\n", "a".repeat(256), "-".repeat(READ_SIZE), "b".repeat(256));
        for max_line in [1_000, READ_SIZE + 511] {
            let mut lines = LineReader::new(text.as_bytes(), LineLimits::new(max_line));
            let (head, tail) = ("a".repeat(256).into(), "b".repeat(256).into());
            assert_eq!(lines.next_line().await, Some(OutputLine::TooLong { head, tail }));
            assert_eq!(lines.next_line().await, None);
        }
    }

    #[tokio::test]
    async fn no_line_is_lost_at_read_boundaries() {
        // Around the size of one read.
        for number in [
            1,
            2,
            READ_SIZE / 8 - 1,
            READ_SIZE / 8,
            READ_SIZE / 8 + 1,
            2 * READ_SIZE / 8,
            2 * READ_SIZE / 8 + 1,
        ] {
            let text: String = (0..number).map(|at| format!("{at:07}\n")).collect();
            let all = lines(text.as_bytes(), LineLimits::new(1_000)).await;
            let expected: Vec<String> = (0..number).map(|at| format!("{at:07}")).collect();
            assert_eq!(all, expected, "{number} lines");
        }
    }
}
