//! Providers at loopback addresses: the scripted model, and one that does whatever it is told.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

/// A provider. It is gone with this value.
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    end: Option<End>,
    thread: Option<JoinHandle<()>>,
}

enum End {
    Scripted(oneshot::Sender<()>),
    Raw(Arc<AtomicBool>),
}

impl Provider {
    /// The scripted model.
    pub(crate) fn scripted() -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("a socket");
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                let stopped = async {
                    let _ = stopped.await;
                };
                foxwedge_gateway::serve_scripted(listener, stopped).await;
            });
        });
        Provider { address, end: Some(End::Scripted(stop)), thread: Some(thread) }
    }

    /// One that answers every connection so.
    pub(crate) fn raw(answer: impl Fn(TcpStream) + Clone + Send + 'static) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if seen.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), answer) = (stream, answer.clone()) else { continue };
                thread::spawn(move || answer(stream));
            }
        });
        Provider { address, end: Some(End::Raw(over)), thread: Some(thread) }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        match self.end.take() {
            Some(End::Scripted(stop)) => drop(stop),
            Some(End::Raw(over)) => {
                over.store(true, Ordering::Relaxed);
                let _ = TcpStream::connect(self.address);
            }
            None => {}
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads one request, head and body.
pub(crate) fn request(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        let number = stream.read(&mut piece)?;
        if number == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..number]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.and_then(|length| length.parse().ok()).unwrap_or(0) {
            return Ok(text.into_owned());
        }
    }
}

/// Says that a stream of events follows, until the connection ends.
pub(crate) fn stream_head(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    )
}
