//! A server that follows a script, byte for byte.

use std::sync::Arc;

use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::{NoClientAuth, WebPkiClientVerifier, danger::ClientCertVerifier},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use crate::{AddressPolicy, NetworkTarget};

/// What the server does next on a connection. After the last step it closes it.
#[derive(Clone)]
pub(super) enum Step {
    /// Reads a whole request.
    Read,
    /// Reads the head of a request, and nothing of its body.
    ReadHead,
    /// Writes these bytes at once.
    Write(Vec<u8>),
    /// Writes these bytes one by one.
    WriteByByte(Vec<u8>),
    /// Waits until the client closes.
    Wait,
    /// Sends the close notification of TLS.
    CloseNotify,
}

impl Step {
    pub(super) fn write(text: &str) -> Step {
        Step::Write(text.into())
    }
}

/// Serves one connection per script, one after the other. The handle returns what was received on
/// each: the requests, and `closed` if the client closed.
pub(super) async fn serve(
    scripts: Vec<Vec<Step>>,
) -> (NetworkTarget, JoinHandle<Vec<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = tokio::spawn(async move {
        let mut received = Vec::new();
        for script in scripts {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("an option");
            received.push(run_script(stream, script).await);
        }
        received
    });
    (loopback(port), server)
}

/// As [`serve`], over TLS, with a certificate for `localhost` that only tests trust. A client that
/// does not trust it is recorded as `refused`.
pub(super) async fn serve_tls(
    scripts: Vec<Vec<Step>>,
) -> (NetworkTarget, JoinHandle<Vec<Vec<String>>>) {
    let acceptor = tls_acceptor();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = tokio::spawn(async move {
        let mut received = Vec::new();
        for script in scripts {
            let (stream, _) = listener.accept().await.expect("a connection");
            received.push(match acceptor.accept(stream).await {
                Ok(stream) => run_script(stream, script).await,
                Err(_) => vec!["refused".to_owned()],
            });
        }
        received
    });
    (NetworkTarget { tls: true, host: "localhost".into(), ..loopback(port) }, server)
}

/// As [`serve_tls`], for clients with a certificate of the test's authority only. Connections are
/// served at the same time.
pub(super) async fn serve_mutual_tls(
    scripts: Vec<Vec<Step>>,
) -> (NetworkTarget, JoinHandle<Vec<Vec<String>>>) {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(include_bytes!("tls/client-authority.pem"));
    roots.add(authority.expect("a certificate")).expect("a root");
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let acceptor = acceptor_with(verifier.expect("a verifier"));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = tokio::spawn(async move {
        let mut connections = Vec::new();
        for script in scripts {
            let (stream, _) = listener.accept().await.expect("a connection");
            let acceptor = acceptor.clone();
            connections.push(tokio::spawn(async move {
                match acceptor.accept(stream).await {
                    Ok(stream) => run_script(stream, script).await,
                    Err(_) => vec!["refused".to_owned()],
                }
            }));
        }
        let mut received = Vec::new();
        for connection in connections {
            received.push(connection.await.expect("a connection"));
        }
        received
    });
    (NetworkTarget { tls: true, host: "localhost".into(), ..loopback(port) }, server)
}

/// Accepts TLS connections with the certificate for `localhost`.
pub(super) fn tls_acceptor() -> TlsAcceptor {
    acceptor_with(Arc::new(NoClientAuth))
}

fn acceptor_with(clients: Arc<dyn ClientCertVerifier>) -> TlsAcceptor {
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(clients)
        .with_single_cert(vec![certificate()], key)
        .expect("a certificate");
    TlsAcceptor::from(Arc::new(config))
}

/// The certificate of [`serve_tls`].
pub(super) fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(include_bytes!("tls/certificate.pem")).expect("a certificate")
}

/// A target on this machine.
pub(super) fn loopback(port: u16) -> NetworkTarget {
    let (host, prefix) = ("127.0.0.1".into(), "".into());
    let addresses = AddressPolicy::Private;
    NetworkTarget { tls: false, host, port, prefix, addresses, identity: None }
}

async fn run_script<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    script: Vec<Step>,
) -> Vec<String> {
    let mut received = Vec::new();
    let mut buffer = Vec::new();
    for step in script {
        match step {
            Step::Read => received.push(read_request(&mut stream, &mut buffer, true).await),
            Step::ReadHead => received.push(read_request(&mut stream, &mut buffer, false).await),
            Step::Write(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.flush().await;
            }
            Step::WriteByByte(bytes) => {
                for byte in bytes {
                    let _ = stream.write_all(&[byte]).await;
                    tokio::task::yield_now().await;
                }
            }
            Step::CloseNotify => drop(stream.shutdown().await),
            Step::Wait => {
                let mut rest = [0; 4096];
                while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {}
                received.push("closed".to_owned());
            }
        }
    }
    received
}

/// Reads a request: its line and body, or `closed`.
async fn read_request<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut Vec<u8>,
    body: bool,
) -> String {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await.unwrap_or(0) == 0 {
            return "closed".to_owned();
        }
    };
    let head = String::from_utf8_lossy(&buffer.drain(..end).collect::<Vec<_>>()).into_owned();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = match length {
        Some(length) if body => length.parse().expect("a number"),
        Some(_) | None => 0,
    };
    while buffer.len() < length {
        if stream.read_buf(buffer).await.unwrap_or(0) == 0 {
            return "closed".to_owned();
        }
    }
    let content: Vec<u8> = buffer.drain(..length).collect();
    let line = head.lines().next().unwrap_or_default();
    match length {
        0..50 => format!("{line} {}", String::from_utf8_lossy(&content)),
        _ => format!("{line} {length} bytes"),
    }
}
