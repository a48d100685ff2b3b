//! A server that says what it is told to, byte for byte.

use std::sync::Arc;

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use crate::{AddressPolicy, NetworkTarget};

/// What the server does next on a connection. At the end of its steps it closes it.
#[derive(Clone)]
pub(super) enum Step {
    /// Reads a whole request.
    Hear,
    /// Reads the head of a request, and nothing of its body.
    HearHead,
    /// Writes these bytes at once.
    Say(Vec<u8>),
    /// Writes these bytes one by one.
    Spell(Vec<u8>),
    /// Waits until the client closes.
    Wait,
    /// Says that nothing more will come, as encryption wants it.
    Farewell,
}

impl Step {
    pub(super) fn say(text: &str) -> Step {
        Step::Say(text.into())
    }
}

/// Plays these connections, one after the other. The handle gives what was heard on each: the
/// requests, and `closed` if the client closed.
pub(super) async fn serve(plays: Vec<Vec<Step>>) -> (NetworkTarget, JoinHandle<Vec<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let playing = tokio::spawn(async move {
        let mut heard = Vec::new();
        for play in plays {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("an option");
            heard.push(perform(stream, play).await);
        }
        heard
    });
    (loopback(port), playing)
}

/// The same, encrypted, with a certificate for `localhost` that nobody but a test trusts. A client
/// that does not trust it is heard as `refused`.
pub(super) async fn serve_tls(
    plays: Vec<Vec<Step>>,
) -> (NetworkTarget, JoinHandle<Vec<Vec<String>>>) {
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate()], key)
        .expect("a certificate");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let playing = tokio::spawn(async move {
        let mut heard = Vec::new();
        for play in plays {
            let (stream, _) = listener.accept().await.expect("a connection");
            heard.push(match acceptor.accept(stream).await {
                Ok(stream) => perform(stream, play).await,
                Err(_) => vec!["refused".to_owned()],
            });
        }
        heard
    });
    (NetworkTarget { tls: true, host: "localhost".into(), ..loopback(port) }, playing)
}

/// The certificate of [`serve_tls`].
pub(super) fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(include_bytes!("tls/certificate.pem")).expect("a certificate")
}

/// A target on this machine.
pub(super) fn loopback(port: u16) -> NetworkTarget {
    let (host, prefix) = ("127.0.0.1".into(), "".into());
    NetworkTarget { tls: false, host, port, prefix, addresses: AddressPolicy::Private }
}

async fn perform<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, play: Vec<Step>) -> Vec<String> {
    let mut heard = Vec::new();
    let mut waiting = Vec::new();
    for step in play {
        match step {
            Step::Hear => heard.push(hear(&mut stream, &mut waiting, true).await),
            Step::HearHead => heard.push(hear(&mut stream, &mut waiting, false).await),
            Step::Say(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.flush().await;
            }
            Step::Spell(bytes) => {
                for byte in bytes {
                    let _ = stream.write_all(&[byte]).await;
                    tokio::task::yield_now().await;
                }
            }
            Step::Farewell => drop(stream.shutdown().await),
            Step::Wait => {
                let mut rest = [0; 4096];
                while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
                heard.push("closed".to_owned());
            }
        }
    }
    heard
}

/// A request without its headers, or `closed`.
async fn hear<S: AsyncRead + Unpin>(stream: &mut S, waiting: &mut Vec<u8>, body: bool) -> String {
    let end = loop {
        if let Some(at) = waiting.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(waiting).await.unwrap_or(0) == 0 {
            return "closed".to_owned();
        }
    };
    let head = String::from_utf8_lossy(&waiting.drain(..end).collect::<Vec<_>>()).into_owned();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = match length {
        Some(length) if body => length.parse().expect("a number"),
        Some(_) | None => 0,
    };
    while waiting.len() < length {
        if stream.read_buf(waiting).await.unwrap_or(0) == 0 {
            return "closed".to_owned();
        }
    }
    let content: Vec<u8> = waiting.drain(..length).collect();
    let line = head.lines().next().unwrap_or_default();
    match length {
        0..50 => format!("{line} {}", String::from_utf8_lossy(&content)),
        _ => format!("{line} {length} bytes"),
    }
}
