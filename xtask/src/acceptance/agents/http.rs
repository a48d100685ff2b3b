//! The little of HTTP/1.1 that agents speak to a model, and we to an agent: one request a connection.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use crate::acceptance::process::PATIENCE;

/// No agent sends more.
const MOST: u64 = 64 << 20;

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path without its query.
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// Reads one request; none if nobody speaks.
pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let (first, body) = message(reader)?;
    let mut parts = first.split(' ');
    let (Some(method), Some(target)) = (parts.next(), parts.next()) else { return Ok(None) };
    let path = target.split('?').next().unwrap_or(target);
    Ok(Some(Request { method: method.to_owned(), path: path.to_owned(), body }))
}

/// Asks a server for a document: its status, as `200 OK`, and the document.
pub(super) fn get(address: &str, path: &str) -> io::Result<(String, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n")?;
    let (first, body) = message(&mut BufReader::new(stream))?;
    let status = first.strip_prefix("HTTP/1.1 ").ok_or(io::ErrorKind::InvalidData)?;
    Ok((status.to_owned(), String::from_utf8_lossy(&body).into_owned()))
}

/// The first line and the body of a request or a response.
fn message(reader: &mut impl BufRead) -> io::Result<(String, Vec<u8>)> {
    let mut reader = reader.take(MOST);
    let first = line(&mut reader)?;
    let (mut length, mut chunked) = (0, false);
    loop {
        let header = line(&mut reader)?;
        let Some((name, value)) = header.split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
            "transfer-encoding" => chunked = value.trim().eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if chunked {
        loop {
            let size = line(&mut reader)?;
            let size = u64::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            (&mut reader).take(size).read_to_end(&mut body)?;
            line(&mut reader)?;
            if size == 0 {
                break;
            }
        }
    } else {
        (&mut reader).take(length).read_to_end(&mut body)?;
    }
    Ok((first, body))
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// Writes one response and says that it was the last.
pub(super) fn write(
    writer: &mut impl Write,
    status: u16,
    kind: &str,
    body: &[u8],
) -> io::Result<()> {
    let length = body.len();
    write!(
        writer,
        "HTTP/1.1 {status} -\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    )?;
    writer.write_all(body)?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_in_every_spelling() {
        let plain = "POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}more";
        let chunked = "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
                       1\r\n{\r\n1\r\n}\r\n0\r\n\r\n";
        for text in [plain, chunked] {
            let expected = Request {
                method: "POST".to_owned(),
                path: "/v1/messages".to_owned(),
                body: b"{}".to_vec(),
            };
            assert_eq!(read(&mut text.as_bytes()).expect("it is whole"), Some(expected));
        }
        assert_eq!(read(&mut "".as_bytes()).expect("nothing is no error"), None);
    }
}
