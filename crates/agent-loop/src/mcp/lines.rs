//! The output of a server, line by line. Memory is limited: a line that is too long is discarded as
//! it arrives, and only the id of the request that it belongs to is read from it. A line that grows
//! further ends the reading.

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Maximum bytes of a line.
pub(super) const MAX_LINE: usize = 16 << 20;
/// Maximum bytes of a line that does not start like a message.
pub(super) const MAX_NOISE: usize = 1 << 20;
/// Maximum bytes of a line that are discarded after those that are kept.
const MAX_DISCARDED: usize = 16 << 20;
/// Bytes per read.
const READ_SIZE: usize = 64 << 10;
/// Bytes at both ends of a too long line that are searched for its request id.
const LINE_END_WINDOW: usize = 256;

/// An item of the output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ServerLine {
    /// A line, including its line end.
    Whole(BytesMut),
    /// A line that was too long, with its request id if one was found.
    TooLong(Option<i64>),
    /// A line that does not end. Nothing is read after it.
    Endless,
}

/// Reads the lines of an output.
#[derive(Debug)]
pub(super) struct ServerLineReader<R> {
    source: R,
    buffer: BytesMut,
    /// Bytes of the buffer that hold no line end.
    scanned: usize,
    /// The start of a line that is too long.
    head: Option<Vec<u8>>,
    /// Bytes of that line that were discarded.
    discarded: usize,
    max_line: usize,
    finished: bool,
}

impl<R: AsyncRead + Unpin> ServerLineReader<R> {
    pub(super) fn new(source: R, max_line: usize) -> ServerLineReader<R> {
        ServerLineReader {
            source,
            buffer: BytesMut::new(),
            scanned: 0,
            head: None,
            discarded: 0,
            max_line,
            finished: false,
        }
    }

    /// The next line; `None` at the end. Cancel safe. Output after the last line end is not a
    /// message and is dropped.
    pub(super) async fn next_line(&mut self) -> Option<ServerLine> {
        loop {
            if self.finished {
                return None;
            }
            if let Some(line) = self.take_buffered() {
                return Some(line);
            }
            if self.is_endless() {
                self.finished = true;
                return Some(ServerLine::Endless);
            }
            self.buffer.reserve(READ_SIZE);
            match self.source.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Whether the open line is over the limit for any line.
    fn is_endless(&self) -> bool {
        let start = self.head.as_deref().unwrap_or(&self.buffer);
        let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
        let limit = match first {
            Some(b'{' | b'[') => self.max_line.saturating_add(MAX_DISCARDED),
            Some(_) | None => MAX_NOISE,
        };
        self.discarded + self.buffer.len() > limit
    }

    /// Takes a line from the buffer.
    fn take_buffered(&mut self) -> Option<ServerLine> {
        let new = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(end) = new.iter().position(|byte| *byte == b'\n') else {
            if self.head.is_none() && self.buffer.len() > self.max_line {
                self.head = Some(self.buffer.iter().take(LINE_END_WINDOW).copied().collect());
            }
            if self.head.is_some() && self.buffer.len() > LINE_END_WINDOW {
                let excess = self.buffer.len() - LINE_END_WINDOW;
                self.discarded += excess;
                self.buffer = BytesMut::from(self.buffer.get(excess..).unwrap_or_default());
            }
            self.scanned = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.scanned + end + 1);
        (self.scanned, self.discarded) = (0, 0);
        match self.head.take() {
            Some(head) => Some(ServerLine::TooLong(request_id(&head, &line))),
            None if line.len() > self.max_line => {
                Some(ServerLine::TooLong(request_id(&line, &line)))
            }
            None => Some(ServerLine::Whole(line)),
        }
    }
}

/// The request id of a response line: near the start, before the result, or at the very end.
fn request_id(head: &[u8], tail: &[u8]) -> Option<i64> {
    let head = head.get(..LINE_END_WINDOW.min(head.len())).unwrap_or_default();
    let tail = tail.get(tail.len().saturating_sub(LINE_END_WINDOW)..).unwrap_or_default();
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let before = head.split("\"result\"").next().filter(|before| before.len() < head.len());
    let at_head = before.and_then(|before| number_after_colon(before.rsplit_once("\"id\"")?.1));
    at_head.or_else(|| {
        let last = tail.trim_end().strip_suffix('}')?;
        let (_, value) = last.rsplit_once("\"id\"")?;
        value.trim_start().strip_prefix(':')?.trim().parse().ok()
    })
}

/// The number after a colon, up to a comma.
fn number_after_colon(text: &str) -> Option<i64> {
    text.trim_start().strip_prefix(':')?.split(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &str, max_line: usize) -> Vec<String> {
        let mut lines = ServerLineReader::new(text.as_bytes(), max_line);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await {
            all.push(match line {
                ServerLine::Whole(line) => String::from_utf8_lossy(&line).trim_end().to_owned(),
                ServerLine::TooLong(number) => format!("{number:?}"),
                ServerLine::Endless => "endless".to_owned(),
            });
        }
        all
    }

    #[tokio::test]
    async fn lines_are_complete_or_too_long() {
        let x = "x".repeat(200_000);
        let first = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"id":1,"x":"{x}"}}}}"#);
        let last = format!(r#"{{"result":{{"id":1,"x":"{x}"}},"jsonrpc":"2.0","id": 8}}"#);
        let table = [
            (String::new(), ""),
            ("a\nb\r\n\nc".to_owned(), "a|b|"),
            (format!("{first}\nb\n"), "Some(7)|b"),
            (format!("a\n{last}\r\nb\n"), "a|Some(8)|b"),
            (format!("{x}\nb\n"), "None|b"),
            (x.clone(), ""),
        ];
        for (text, expected) in table {
            assert_eq!(lines(&text, 1_000).await.join("|"), expected, "{text:.80}");
        }
        assert_eq!(lines(&format!("{first}\n"), 300_000).await, [first]);
    }

    #[tokio::test]
    async fn endless_lines_are_detected() {
        let x = |bytes: usize| "x".repeat(bytes);
        let table = [
            (x(MAX_NOISE), ""),
            (x(MAX_NOISE + 1), "endless"),
            (format!("a\n{}\nb\n", x(2 * MAX_NOISE)), "a|endless"),
            (format!("{}x", " ".repeat(MAX_NOISE)), "endless"),
            // This may still become a message.
            (format!("{{\"id\":1,\"result\":\"{}", x(2 * MAX_NOISE)), ""),
            (format!("{{\"id\":1,\"result\":\"{}\"}}\nb\n", x(2 * MAX_NOISE)), "Some(1)|b"),
            (
                format!("{{\"id\":1,\"result\":\"{}\"}}\nb\n", x(MAX_DISCARDED + MAX_NOISE)),
                "endless",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(lines(&text, 1_000).await.join("|"), expected, "{text:.40} {}", text.len());
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
            let all = lines(&text, 1_000).await;
            let expected: Vec<String> = (0..number).map(|at| format!("{at:07}")).collect();
            assert_eq!(all, expected, "{number} lines");
        }
    }
}
