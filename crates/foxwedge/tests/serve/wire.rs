//! HTTP as bytes: what a client sends, and what came back, whole or not.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

/// Whoever waits longer has found a bug.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A reply, as far as it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the connection brought all that the head promised.
    pub(crate) framing: Framing,
}

/// Whether a reply came to its end, as HTTP has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    Whole,
    BrokenOff,
}

impl Answer {
    /// Reads one from the bytes of a connection that has ended.
    pub(crate) fn read(bytes: &[u8]) -> Answer {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let (head, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 4));
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let header = |name: &str| header(&head, name);
        let (body, framing) = match (header("transfer-encoding"), header("content-length").parse())
        {
            ("chunked", _) => unchunked(rest),
            (_, Ok(length)) if rest.len() < length => (rest.to_vec(), Framing::BrokenOff),
            (_, Ok(length)) => (rest[..length].to_vec(), Framing::Whole),
            (_, Err(_)) => (rest.to_vec(), Framing::BrokenOff),
        };
        Answer { status, body: String::from_utf8_lossy(&body).into_owned(), framing, head }
    }

    /// A header; empty if it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        header(&self.head, name)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let mut pairs = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    pairs.find(|(one, _)| *one == name).map_or("", |(_, value)| value)
}

fn unchunked(mut rest: &[u8]) -> (Vec<u8>, Framing) {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = String::from_utf8_lossy(&rest[..end]).into_owned();
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else { break };
        if size == 0 {
            return (body, Framing::Whole);
        }
        let from = (end + 2).min(rest.len());
        let to = (from + size).min(rest.len());
        body.extend_from_slice(&rest[from..to]);
        rest = &rest[(to + 2).min(rest.len())..];
    }
    (body, Framing::BrokenOff)
}

/// A request with a body, on a connection that ends with it.
pub(crate) fn post(path: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let mut bytes = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A request without a body, on a connection that ends with it.
pub(crate) fn get(path: &str, headers: &str) -> Vec<u8> {
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    format!("{head}{headers}\r\n").into_bytes()
}

/// A connection.
pub(crate) fn connect(to: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Sends bytes, and reads until the other side closes. Whoever is refused early may be unable to
/// send everything: what was said to it counts all the same.
pub(crate) fn send(to: &str, bytes: &[u8]) -> io::Result<Answer> {
    let mut stream = connect(to)?;
    let writing = stream.try_clone()?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut writing = writing;
            let _ = writing.write_all(bytes);
        });
        Ok(Answer::read(&rest(&mut stream)))
    })
}

/// Reads until the other side closes; a reset is an end, too.
pub(crate) fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return bytes,
            Ok(number) => bytes.extend_from_slice(&piece[..number]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                panic!("nothing came for {PATIENCE:?}, and nobody closed")
            }
            Err(_) => return bytes,
        }
    }
}

/// Reads until that much is there, or the other side closes.
pub(crate) fn until(stream: &mut TcpStream, part: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    while !bytes.windows(part.len()).any(|window| window == part.as_bytes()) {
        match stream.read(&mut piece) {
            Ok(number @ 1..) => bytes.extend_from_slice(&piece[..number]),
            Ok(0) | Err(_) => break,
        }
    }
    bytes
}
