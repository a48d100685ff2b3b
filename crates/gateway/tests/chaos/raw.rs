//! A provider that says exactly as much as it is told, and notices when nobody listens any more.

use std::net::SocketAddr;

use foxwedge_scripted::{ScriptedRequest, respond};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
};

/// What a provider sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// A request is there, and everything was said about it that shall be said.
    Said,
    /// The other side has closed.
    Closed,
}

/// How much it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Says {
    /// Nothing at all.
    Nothing,
    /// The head and so many events.
    Events(usize),
}

/// A provider that waits. It is gone with this value.
pub(crate) struct Raw {
    pub(crate) address: SocketAddr,
    pub(crate) seen: mpsc::UnboundedReceiver<Seen>,
    task: JoinHandle<()>,
}

impl Raw {
    pub(crate) async fn start(says: Says) -> Raw {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (tell, seen) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut talks = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                talks.spawn(talk(stream, says, tell.clone()));
            }
        });
        Raw { address, seen, task }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn talk(mut stream: TcpStream, says: Says, tell: mpsc::UnboundedSender<Seen>) {
    let Some((path, body)) = request(&mut stream).await else { return };
    if let Says::Events(number) = says {
        let wire = ScriptedRequest::format_of_path(&path).expect("a known path");
        let play =
            respond(&ScriptedRequest { format: wire, path: &path, headers: &[], body: &body });
        let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                          connection: close\r\n\r\n"
            .to_vec();
        play.chunks.iter().take(number).for_each(|piece| bytes.extend_from_slice(&piece.bytes));
        stream.write_all(&bytes).await.expect("it goes out");
    }
    let _ = tell.send(Seen::Said);
    // The other side says nothing more: what comes is its end.
    let mut piece = [0; 16];
    let end = stream.read(&mut piece).await;
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    let _ = tell.send(Seen::Closed);
}

/// The path and the body of a request.
pub(crate) async fn request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 16 << 10];
    loop {
        let number = stream.read(&mut piece).await.ok().filter(|number| *number > 0)?;
        bytes.extend_from_slice(&piece[..number]);
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
