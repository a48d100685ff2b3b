//! Requests through a proxy: tunnels, absolute-form requests, and proxies that refuse.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use super::{
    server::{Step, loopback, serve_tls, tls_acceptor},
    *,
};

const CERTIFICATE: &[u8] = include_bytes!("tls/certificate.pem");
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
/// `fox:canary-7f3a`.
const AUTHORIZATION: &str = "proxy-authorization: Basic Zm94OmNhbmFyeS03ZjNh";

/// What a proxy does with a request.
#[derive(Clone, Copy)]
enum ProxyAction {
    /// Opens a tunnel; its reply arrives byte by byte.
    Tunnel,
    /// Opens a tunnel for the right user and password only.
    TunnelWithPassword,
    /// Replies.
    Reply(&'static str),
    /// Replies, and waits for the client to close.
    ReplyAndWait(&'static str),
    /// Never replies.
    Hang,
    /// Opens a tunnel, and closes it after the first bytes from the client.
    CloseTunnel,
}

/// A proxy on this machine. It lives as long as the test.
struct TestProxy {
    port: u16,
    /// The heads of the requests.
    heads: Arc<Mutex<Vec<String>>>,
}

impl TestProxy {
    async fn start(action: ProxyAction) -> TestProxy {
        TestProxy::start_as(action, false).await
    }

    async fn start_as(action: ProxyAction, tls: bool) -> TestProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let seen = Arc::clone(&seen);
                tokio::spawn(async move {
                    match tls {
                        false => handle(stream, action, &seen).await,
                        true => {
                            let stream = tls_acceptor().accept(stream).await.expect("a handshake");
                            handle(stream, action, &seen).await;
                        }
                    }
                });
            }
        });
        TestProxy { port, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("heads").clone()
    }

    /// A client that sends everything through this proxy.
    fn client(&self, scheme: &str, user_info: &str) -> HttpClient {
        client(&format!("{scheme}://{user_info}localhost:{}", self.port), settings())
    }
}

fn client(proxy: &str, settings: HttpSettings) -> HttpClient {
    let proxy = Some(Arc::new(ProxyServer::parse(proxy).expect("a proxy")));
    let (https, http) = (proxy.clone(), proxy);
    let proxies = ProxyRules { https, http, no_proxy: Vec::new(), proxy_loopback: true };
    let roots = TrustedRoots::default().with_added(CERTIFICATE).expect("a certificate");
    HttpClient::new(settings).with_network(&NetworkConfig { proxies, roots })
}

async fn handle<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    action: ProxyAction,
    heads: &Mutex<Vec<String>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).expect("text");
    heads.lock().expect("heads").push(head.clone());
    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\n\
                   proxy-authenticate: Basic realm=\"x\"\r\ncontent-length: 0\r\n\r\n";
    match action {
        ProxyAction::TunnelWithPassword if !head.contains(AUTHORIZATION) => {
            let _ = stream.write_all(refusal.as_bytes()).await;
        }
        ProxyAction::Tunnel | ProxyAction::TunnelWithPassword => {
            for byte in b"HTTP/1.0 200 Connection established\r\n\r\n" {
                stream.write_all(&[*byte]).await.expect("written");
                stream.flush().await.expect("written");
            }
            let target = head.split(' ').nth(1).expect("a target");
            let mut upstream = TcpStream::connect(target).await.expect("connected");
            let _ = copy_bidirectional(&mut stream, &mut upstream).await;
        }
        ProxyAction::Reply(reply) => {
            let _ = stream.write_all(reply.as_bytes()).await;
            let _ = stream.flush().await;
        }
        ProxyAction::ReplyAndWait(reply) => {
            let _ = stream.write_all(reply.as_bytes()).await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
        ProxyAction::Hang => drop(stream.read_to_end(&mut Vec::new()).await),
        ProxyAction::CloseTunnel => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            let _ = stream.read_u8().await;
        }
    }
}

/// An encrypted target that does not exist: a proxy has to answer for it.
fn unreachable_target(tls: bool) -> NetworkTarget {
    let (host, port) = ("upstream.invalid".into(), if tls { 443 } else { 80 });
    NetworkTarget { tls, host, port, ..loopback(0) }
}

/// Everything that an error shows.
fn shown(error: &HttpError) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        let _ = write!(text, " {inner} {inner:?}");
        source = inner.source();
    }
    text
}

#[tokio::test]
async fn an_encrypted_target_is_reached_through_a_tunnel() {
    for (scheme, tls) in [("http", false), ("https", true)] {
        let script =
            vec![Step::Read, Step::write(OK), Step::Read, Step::WriteByByte(OK.into()), Step::Wait];
        let (target, server) = serve_tls(vec![script]).await;
        let proxy = TestProxy::start_as(ProxyAction::TunnelWithPassword, tls).await;
        let client = proxy.client(scheme, "fox:canary-7f3a@");
        assert_eq!(fetch(&client, &target).await, "200 ok");
        // The tunnel is reused.
        assert_eq!(fetch(&client, &target).await, "200 ok");
        assert_eq!(client.idle_connections(), 1);
        drop(client);
        let line = "POST /v1/x HTTP/1.1 {}";
        assert_eq!(server.await.expect("server finished"), [[line, line, "closed"]]);
        let host = format!("localhost:{}", target.port);
        let head = format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n{AUTHORIZATION}\r\n\r\n");
        assert_eq!(proxy.heads(), [head], "{scheme}");
    }
}

#[tokio::test]
async fn an_unencrypted_target_is_requested_in_absolute_form() {
    let proxy = TestProxy::start(ProxyAction::ReplyAndWait(OK)).await;
    let client = proxy.client("http", "fox:canary-7f3a@");
    // The proxy looks up the name.
    assert_eq!(fetch(&client, &unreachable_target(false)).await, "200 ok");
    let head = "POST http://upstream.invalid/v1/x HTTP/1.1\r\nhost: upstream.invalid\r\n";
    let expected = format!("{head}{AUTHORIZATION}\r\ncontent-length: 2\r\n\r\n");
    assert_eq!(proxy.heads(), [expected]);
}

#[tokio::test]
async fn targets_without_a_proxy_are_connected_to_directly() {
    let proxy = TestProxy::start(ProxyAction::Hang).await;
    let url = format!("http://localhost:{}", proxy.port);
    let server = Some(Arc::new(ProxyServer::parse(&url).expect("a proxy")));
    let through = ProxyRules { https: server.clone(), http: server, ..ProxyRules::default() };
    let listed = ProxyRules {
        no_proxy: NoProxyRule::parse_list("127.0.0.0/8"),
        proxy_loopback: true,
        ..through.clone()
    };
    for proxies in [through, listed] {
        let script = vec![Step::Read, Step::write(OK)];
        let (target, server) = super::server::serve(vec![script]).await;
        let network = NetworkConfig { proxies, ..NetworkConfig::default() };
        let client = HttpClient::new(settings()).with_network(&network);
        assert_eq!(fetch(&client, &target).await, "200 ok");
        assert_eq!(server.await.expect("server finished"), [["POST /v1/x HTTP/1.1 {}"]]);
    }
    assert!(proxy.heads().is_empty());
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    use ProxyAction::*;
    const REQUIRED: &str = "HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n";
    let table = [
        (
            true,
            "",
            TunnelWithPassword,
            "forbidden",
            "requires a user and a password (status 407); put them",
        ),
        (
            true,
            "fox:canary-wrong@",
            TunnelWithPassword,
            "forbidden",
            "does not accept the user or the password (status 407); check",
        ),
        (
            false,
            "",
            Reply(REQUIRED),
            "forbidden",
            "requires a user and a password (status 407); put them",
        ),
        (
            false,
            "fox:canary-wrong@",
            Reply(REQUIRED),
            "forbidden",
            "does not accept the user or the password (status 407); check",
        ),
        (
            true,
            "fox:canary-7f3a@",
            Reply("HTTP/1.1 403 No\r\n\r\n"),
            "forbidden",
            "does not connect to the upstream (status 403); allow",
        ),
        (
            true,
            "fox:canary-7f3a@",
            Reply("HTTP/1.1 302 No\r\nlocation: /\r\n\r\n"),
            "forbidden",
            "does not connect to the upstream (status 302); allow",
        ),
        (
            true,
            "fox:canary-7f3a@",
            Reply("HTTP/1.1 502 Bad Gateway\r\n\r\ncanary"),
            "failed",
            "cannot reach the upstream (status 502); check",
        ),
        (
            true,
            "fox:canary-7f3a@",
            Reply("HTTP/1.1 504 Late\r\n\r\n"),
            "failed",
            "cannot reach the upstream (status 504); check",
        ),
        (
            true,
            "fox:canary-7f3a@",
            Reply(""),
            "closed",
            "closed the connection instead of opening a tunnel; check",
        ),
        (
            true,
            "fox:canary-7f3a@",
            Reply("HTTP/1.1 200 O"),
            "closed",
            "closed the connection instead of opening a tunnel; check",
        ),
        (
            true,
            "fox:canary-7f3a@",
            Reply("SSH-2.0-x\r\n"),
            "malformed",
            "does not answer as an HTTP proxy does; check",
        ),
        (
            true,
            "fox:canary-7f3a@",
            Reply("HTTP/1.1 200 OK\r\n\r\nhello"),
            "malformed",
            "does not answer as an HTTP proxy does; check",
        ),
    ];
    for (tls, user_info, action, kind, text) in table {
        let proxy = TestProxy::start(action).await;
        let client = proxy.client("http", user_info);
        let sent = post(&client, &unreachable_target(tls), Bytes::from_static(b"{}")).await;
        let error = sent.expect_err(text);
        let expected = format!(
            "connecting to the upstream through a proxy: the proxy http://localhost:{} {text}",
            proxy.port
        );
        assert!(error.to_string().starts_with(&expected), "{error}\n{expected}");
        assert_eq!(describe(&error), format!("proxy {kind} NotSent"), "{text}");
        let shown = shown(&error);
        assert!(!shown.contains("canary") && !shown.contains("Basic"), "{shown}");
        assert!(!format!("{client:?}").contains("canary"));
    }
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_an_error_in_time() {
    let short = HttpSettings { connect: Duration::from_millis(100), ..settings() };
    let hanging = TestProxy::start(ProxyAction::Hang).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let refusing = closed.local_addr().expect("an address").port();
    drop(closed);
    let table = [
        (
            format!("http://fox:canary@localhost:{}", hanging.port),
            short,
            "late",
            "does not open a tunnel in time",
        ),
        (
            format!("https://fox:canary@localhost:{}", hanging.port),
            short,
            "late",
            "does not encrypt the connection in time",
        ),
        (
            format!("http://fox:canary@127.0.0.1:{refusing}"),
            settings(),
            "failed",
            "cannot be connected to",
        ),
        (
            "http://fox:canary@169.254.169.254:80".to_owned(),
            settings(),
            "forbidden",
            "has an address that is not allowed",
        ),
    ];
    for (url, settings, kind, text) in table {
        let sent = post(&client(&url, settings), &unreachable_target(true), Bytes::new()).await;
        let error = sent.expect_err(text);
        assert_eq!(describe(&error), format!("proxy {kind} NotSent"), "{text}");
        let shown = shown(&error);
        assert!(shown.contains(text) && !shown.contains("canary"), "{shown}");
    }
}

#[tokio::test]
async fn a_tunnel_that_closes_half_way_fails_the_handshake() {
    let proxy = TestProxy::start(ProxyAction::CloseTunnel).await;
    let client = proxy.client("http", "");
    assert_eq!(fetch(&client, &unreachable_target(true)).await, "tls closed NotSent");
}

#[tokio::test]
async fn an_address_that_is_not_allowed_is_not_requested_from_a_proxy() {
    let proxy = TestProxy::start(ProxyAction::Tunnel).await;
    let client = proxy.client("http", "");
    for tls in [true, false] {
        let target = NetworkTarget { host: "169.254.169.254".into(), ..unreachable_target(tls) };
        assert_eq!(fetch(&client, &target).await, "address forbidden NotSent");
    }
    assert!(proxy.heads().is_empty());
}
