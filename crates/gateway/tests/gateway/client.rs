//! A client that sends exactly the given bytes.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A reply, read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Parses the bytes of a connection.
    pub(crate) fn read(bytes: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// A header; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().skip(1);
        let found = lines.filter_map(|line| line.split_once(": ")).find(|(one, _)| *one == name);
        found.map_or("", |(_, value)| value)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// Sends bytes and reads until the server closes.
pub(crate) async fn send(to: SocketAddr, bytes: impl AsRef<[u8]>) -> Answer {
    let mut stream = TcpStream::connect(to).await.expect("somebody listens");
    stream.write_all(bytes.as_ref()).await.expect("the head goes out");
    rest(stream).await
}

/// Reads until the server closes or resets the connection.
pub(crate) async fn rest(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    while let Ok(number @ 1..) = stream.read(&mut chunk).await {
        bytes.extend_from_slice(&chunk[..number]);
    }
    Answer::read(&bytes)
}

/// Waits until the server closes the connection; ignores the content.
pub(crate) async fn closed(stream: TcpStream) {
    rest(stream).await;
}

/// A request with a body, on a connection that ends with it.
pub(crate) fn post(path: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A request without a body, on a connection that ends with it.
pub(crate) fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n")
}
