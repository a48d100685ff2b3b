//! A client with one connection that it keeps, and a clock: when the first byte reply, when the
//! first word, when the last.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::acceptance::gateway_process::TOKEN;

/// No reply takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to a gateway.
pub(super) struct TimedClient {
    address: String,
    stream: Option<TcpStream>,
}

/// A reply, with the time that each part of it took.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TimedReply {
    pub(super) first: Duration,
    /// The first text, or the first part of a call.
    pub(super) first_text: Duration,
    pub(super) whole: Duration,
    pub(super) body: String,
}

impl TimedClient {
    pub(super) fn new(address: &str) -> TimedClient {
        TimedClient { address: address.to_owned(), stream: None }
    }

    /// A document about the gateway itself.
    pub(super) fn get(&mut self, path: &str) -> Result<Value, String> {
        let reply = self.send(&format!("GET {path}"), "")?;
        serde_json::from_str(&reply.body).map_err(|error| format!("{path}: {error}"))
    }

    pub(super) fn post(&mut self, path: &str, body: &str) -> Result<TimedReply, String> {
        self.send(&format!("POST {path}"), body)
    }

    fn send(&mut self, line: &str, body: &str) -> Result<TimedReply, String> {
        let cannot = |error: std::io::Error| format!("{line}: {error}");
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address).map_err(cannot)?;
                stream.set_nodelay(true).map_err(cannot)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(cannot)?;
                stream
            }
        };
        let mut bytes = Vec::new();
        let mut marks = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        let start = Instant::now();
        stream.write_all(request.as_bytes()).map_err(cannot)?;
        while !is_whole(&bytes) {
            let read = stream.read(&mut buffer).map_err(cannot)?;
            if read == 0 {
                return Err(format!("{line}: broken off: {}", String::from_utf8_lossy(&bytes)));
            }
            bytes.extend(buffer.iter().take(read));
            marks.push((bytes.len(), start.elapsed()));
        }
        let (head, rest) = split(&bytes).ok_or("no head")?;
        if !head.contains("connection: close") {
            self.stream = Some(stream);
        }
        let body = if is_chunked(&head) { unchunked(rest) } else { rest.to_vec() };
        let body = String::from_utf8_lossy(&body).into_owned();
        if !head.starts_with("http/1.1 200") {
            return Err(format!("{line}: {head}{body}"));
        }
        let whole = marks.last().map_or(start.elapsed(), |(_, time)| *time);
        let at = |offset: usize| marks.iter().find(|(end, _)| *end > offset);
        let time = |offset: usize| at(offset).map_or(whole, |(_, time)| *time);
        let first_text =
            if is_chunked(&head) { first_text(&bytes).map_or(whole, time) } else { whole };
        Ok(TimedReply { first: time(0), first_text, whole, body })
    }
}

/// The head in small letters, and what is behind it.
fn split(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = find(bytes, b"\r\n\r\n")? + 4;
    let (head, rest) = bytes.split_at(end);
    Some((String::from_utf8_lossy(head).to_ascii_lowercase(), rest))
}

fn is_chunked(head: &str) -> bool {
    head.contains("transfer-encoding: chunked")
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some((head, rest)) = split(bytes) else { return false };
    if is_chunked(&head) {
        // No line break of HTTP is in the events.
        return rest.ends_with(b"\r\n0\r\n\r\n") || rest == b"0\r\n\r\n";
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.and_then(|length| length.trim().parse().ok());
    length.is_some_and(|length: usize| rest.len() >= length)
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = find(rest, b"\r\n") {
        let (size, behind) = rest.split_at(end);
        let size = std::str::from_utf8(size).ok().and_then(|it| usize::from_str_radix(it, 16).ok());
        let behind = behind.get(2..).unwrap_or_default();
        let Some((chunk, more)) = size.and_then(|size| behind.split_at_checked(size)) else {
            break;
        };
        body.extend_from_slice(chunk);
        rest = more.get(2..).unwrap_or_default();
    }
    body
}

/// Where the first text of a stream of chat completions is, or the first part of a call.
fn first_text(bytes: &[u8]) -> Option<usize> {
    const CONTENT: &[u8] = b"\"content\":\"";
    let call = find(bytes, b"\"tool_calls\":[");
    let mut from = 0;
    let text = loop {
        let Some(at) = bytes.get(from..).and_then(|rest| find(rest, CONTENT)) else { break None };
        from += at + CONTENT.len();
        if bytes.get(from).is_some_and(|byte| *byte != b'"') {
            break Some(from);
        }
    };
    [call, text].into_iter().flatten().min()
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_put_together_and_its_first_text_found() {
        let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                      e\r\n\"content\":\"\"\n\n\r\n10\r\n\"content\":\"ab\"\n\n\r\n0\r\n\r\n";
        let (head, rest) = split(bytes).expect("a head");
        assert!(is_chunked(&head) && is_whole(bytes) && !is_whole(&bytes[..bytes.len() - 1]));
        assert_eq!(unchunked(rest), b"\"content\":\"\"\n\n\"content\":\"ab\"\n\n");
        assert_eq!(first_text(bytes).map(|at| &bytes[at..at + 2]), Some(&b"ab"[..]));
        assert_eq!(first_text(b"\"content\":\"\""), None);
    }
}
