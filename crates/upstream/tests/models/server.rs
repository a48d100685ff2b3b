//! A server on loopback that sends scripted replies.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// How the server replies to one request.
pub(crate) enum ServerReply {
    /// Replies: status, content type, body.
    Complete(u16, &'static str, String),
    /// Streams these events and closes the connection in the middle of the body.
    Break(String),
    /// Streams these events and waits until the client closes.
    Hang(String),
}

impl ServerReply {
    pub(crate) fn json(status: u16, body: impl ToString) -> ServerReply {
        ServerReply::Complete(status, "application/json", body.to_string())
    }

    /// Events, each a line of data.
    pub(crate) fn events(events: &[serde_json::Value]) -> ServerReply {
        ServerReply::Complete(200, "text/event-stream", lines(events))
    }
}

/// The events as lines of a stream.
pub(crate) fn lines(events: &[serde_json::Value]) -> String {
    let line = |event: &serde_json::Value| match event.as_str() {
        Some(word) => format!("data: {word}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    events.iter().map(line).collect()
}

/// Sends these replies, one per connection. The handle returns the requests; one that the client
/// left is followed by `closed`.
pub(crate) async fn serve(replies: Vec<ServerReply>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = tokio::spawn(async move {
        let mut requests = Vec::new();
        for reply in replies {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            requests.push(request(&mut stream).await);
            let (head, body) = match &reply {
                ServerReply::Complete(status, kind, body) => {
                    let length = body.len();
                    (
                        format!("{status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}"),
                        body,
                    )
                }
                ServerReply::Break(body) | ServerReply::Hang(body) => {
                    let head = "200 X\r\ncontent-type: text/event-stream\r\ncontent-length: 999999";
                    (head.to_owned(), body)
                }
            };
            let response = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{body}");
            stream.write_all(response.as_bytes()).await.expect("written");
            if let ServerReply::Hang(_) = reply {
                let mut rest = [0; 64];
                while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
                requests.push("closed".to_owned());
            }
        }
        requests
    });
    (format!("http://127.0.0.1:{port}"), server)
}

/// Reads a request: its head in lower case, and its body.
async fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.and_then(|length| length.parse().ok()).unwrap_or(0) {
                return format!("{head}\r\n\r\n{body}");
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return text;
        }
    }
}
