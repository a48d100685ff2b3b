//! A provider that sends a set part of a reply and reports when the connection is closed.

use std::net::SocketAddr;

use foxwedge_scripted::{ScriptedRequest, respond};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
};

/// An event at the provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProviderEvent {
    /// A request was received, and the set part of the reply was sent.
    Replied,
    /// The other side has closed.
    Closed,
}

/// How much of the reply is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReplyExtent {
    /// Nothing at all.
    Nothing,
    /// The head and this many events.
    Events(usize),
}

/// A provider that keeps its connections open. Dropping it stops it.
pub(crate) struct RawProvider {
    pub(crate) address: SocketAddr,
    pub(crate) events: mpsc::UnboundedReceiver<ProviderEvent>,
    task: JoinHandle<()>,
}

impl RawProvider {
    pub(crate) async fn start(extent: ReplyExtent) -> RawProvider {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (sender, events) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve_connection(stream, extent, sender.clone()));
            }
        });
        RawProvider { address, events, task }
    }
}

impl Drop for RawProvider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve_connection(
    mut stream: TcpStream,
    extent: ReplyExtent,
    sender: mpsc::UnboundedSender<ProviderEvent>,
) {
    let Some((path, body)) = request(&mut stream).await else { return };
    if let ReplyExtent::Events(number) = extent {
        let format = ScriptedRequest::format_of_path(&path).expect("a known path");
        let play = respond(&ScriptedRequest { format, path: &path, headers: &[], body: &body });
        let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                          connection: close\r\n\r\n"
            .to_vec();
        play.chunks.iter().take(number).for_each(|chunk| bytes.extend_from_slice(&chunk.bytes));
        stream.write_all(&bytes).await.expect("it goes out");
    }
    let _ = sender.send(ProviderEvent::Replied);
    // The gateway sends nothing more, so the next read is the end.
    let mut chunk = [0; 16];
    let end = stream.read(&mut chunk).await;
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    let _ = sender.send(ProviderEvent::Closed);
}

/// The path and the body of a request.
pub(crate) async fn request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 16 << 10];
    loop {
        let number = stream.read(&mut chunk).await.ok().filter(|number| *number > 0)?;
        bytes.extend_from_slice(&chunk[..number]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if bytes.len() >= end + 4 + length {
            let line = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let path = line.split(' ').nth(1)?.to_owned();
            return Some((path, bytes[end + 4..].to_vec()));
        }
    }
}
