//! The output of a process, line by line, however long they are. Memory has an end: a line that is
//! longer than anything an agent says is thrown away as it comes.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of a line.
const MOST: usize = 64 << 20;
/// What is read at once.
const READ: usize = 64 << 10;

/// What comes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Line {
    /// A line without its end.
    Whole(Bytes),
    /// One that was too long.
    TooLong,
}

/// The lines of an output.
#[derive(Debug)]
pub(super) struct Lines<R> {
    from: R,
    buffer: BytesMut,
    /// So much of the buffer holds no line end.
    looked: usize,
    /// The rest of a line that is too long is thrown away.
    skipping: bool,
    most: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(from: R) -> Lines<R> {
        Lines::with_most(from, MOST)
    }

    fn with_most(from: R, most: usize) -> Lines<R> {
        Lines { from, buffer: BytesMut::new(), looked: 0, skipping: false, most }
    }

    /// The next line; `None` at the end. May be dropped while it waits, and loses nothing.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.take() {
                return Some(line);
            }
            self.buffer.reserve(READ);
            match self.from.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return self.rest(),
                Ok(_) => {}
            }
        }
    }

    /// A line that is in the buffer.
    fn take(&mut self) -> Option<Line> {
        let new = self.buffer.get(self.looked..).unwrap_or_default();
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            if self.buffer.len() > self.most {
                self.skipping = true;
            }
            if self.skipping {
                self.buffer = BytesMut::new();
            }
            self.looked = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.looked + end + 1);
        self.looked = 0;
        if std::mem::take(&mut self.skipping) || line.len() > self.most {
            return Some(Line::TooLong);
        }
        Some(Line::Whole(bare(line)))
    }

    /// What stands behind the last line end.
    fn rest(&mut self) -> Option<Line> {
        let rest = std::mem::take(&mut self.buffer);
        self.looked = 0;
        match std::mem::take(&mut self.skipping) {
            true => Some(Line::TooLong),
            false => (!rest.is_empty()).then(|| Line::Whole(rest.freeze())),
        }
    }
}

/// A line without its end, as both kinds of systems write it.
fn bare(mut line: BytesMut) -> Bytes {
    line.truncate(line.len() - 1);
    if line.last() == Some(&b'\r') {
        line.truncate(line.len() - 1);
    }
    line.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], most: usize) -> Vec<String> {
        let mut lines = Lines::with_most(text, most);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            all.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(&line).into_owned(),
                Line::TooLong => "(too long)".to_owned(),
            });
        }
        assert!(lines.buffer.capacity() <= most + 4 * READ);
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
            assert_eq!(lines(text, 8).await, expected, "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[tokio::test]
    async fn a_line_without_end_takes_no_memory() {
        let mut long = vec![b'x'; 10 * READ];
        long.extend_from_slice(b"\nnext\n");
        assert_eq!(lines(&long, READ).await, ["(too long)", "next"]);
    }
}
