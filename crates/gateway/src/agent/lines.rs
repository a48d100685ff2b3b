//! Reads the output of a process line by line. To limit memory, a line longer than the limit is
//! discarded while it arrives.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Maximum length of a line in bytes.
const MAX_LINE: usize = 64 << 20;
/// Size of one read in bytes.
const READ_SIZE: usize = 64 << 10;

/// A line of output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AgentOutputLine {
    /// A line without its end.
    Whole(Bytes),
    /// A line that was too long and is discarded.
    TooLong,
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct AgentOutputReader<R> {
    from: R,
    buffer: BytesMut,
    /// Length of the buffer's beginning that has no line end.
    scanned: usize,
    /// The rest of a line that is too long is discarded.
    skipping: bool,
    max_line: usize,
}

impl<R: AsyncRead + Unpin> AgentOutputReader<R> {
    pub(super) fn new(from: R) -> AgentOutputReader<R> {
        AgentOutputReader::with_max_line(from, MAX_LINE)
    }

    fn with_max_line(from: R, max_line: usize) -> AgentOutputReader<R> {
        AgentOutputReader { from, buffer: BytesMut::new(), scanned: 0, skipping: false, max_line }
    }

    /// The next line; `None` at the end. Cancel safe.
    pub(super) async fn next_line(&mut self) -> Option<AgentOutputLine> {
        loop {
            if let Some(line) = self.take_buffered() {
                return Some(line);
            }
            self.buffer.reserve(READ_SIZE);
            match self.from.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return self.take_rest(),
                Ok(_) => {}
            }
        }
    }

    /// Takes a complete line from the buffer.
    fn take_buffered(&mut self) -> Option<AgentOutputLine> {
        let new = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            if self.buffer.len() > self.max_line {
                self.skipping = true;
            }
            if self.skipping {
                self.buffer = BytesMut::new();
            }
            self.scanned = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.scanned + end + 1);
        self.scanned = 0;
        if std::mem::take(&mut self.skipping) || line.len() > self.max_line {
            return Some(AgentOutputLine::TooLong);
        }
        Some(AgentOutputLine::Whole(trim_line_end(line)))
    }

    /// Takes the text after the last line end.
    fn take_rest(&mut self) -> Option<AgentOutputLine> {
        let rest = std::mem::take(&mut self.buffer);
        self.scanned = 0;
        match std::mem::take(&mut self.skipping) {
            true => Some(AgentOutputLine::TooLong),
            false => (!rest.is_empty()).then(|| AgentOutputLine::Whole(rest.freeze())),
        }
    }
}

/// Removes the line end, LF or CRLF.
fn trim_line_end(mut line: BytesMut) -> Bytes {
    line.truncate(line.len() - 1);
    if line.last() == Some(&b'\r') {
        line.truncate(line.len() - 1);
    }
    line.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], max_line: usize) -> Vec<String> {
        let mut lines = AgentOutputReader::with_max_line(text, max_line);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await {
            all.push(match line {
                AgentOutputLine::Whole(line) => String::from_utf8_lossy(&line).into_owned(),
                AgentOutputLine::TooLong => "(too long)".to_owned(),
            });
        }
        assert!(lines.buffer.capacity() <= max_line + 4 * READ_SIZE);
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
    async fn a_line_without_end_is_not_buffered() {
        let mut long = vec![b'x'; 10 * READ_SIZE];
        long.extend_from_slice(b"\nnext\n");
        assert_eq!(lines(&long, READ_SIZE).await, ["(too long)", "next"]);
    }
}
