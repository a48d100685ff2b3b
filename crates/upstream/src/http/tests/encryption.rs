//! Encrypted connections: trusted, not trusted, not encrypted at all.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring, version};

use super::{
    server::{Step, certificate, serve, serve_tls},
    *,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\nok";

/// A client that trusts the server of the tests.
fn trusting(version: &'static rustls::SupportedProtocolVersion) -> HttpClient {
    let mut roots = RootCertStore::empty();
    roots.add(certificate()).expect("a root");
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    HttpClient::new(settings()).with_tls(Arc::new(config))
}

#[tokio::test]
async fn an_encrypted_connection_carries_requests_like_a_plain_one() {
    let chunks = format!("{}0\r\n\r\n", "8\r\ndata: x\n\r\n".repeat(20_000));
    let stream = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}");
    for version in [&version::TLS12, &version::TLS13] {
        let play = vec![
            Step::Hear,
            Step::say(OK),
            Step::Hear,
            Step::say(&stream),
            Step::Hear,
            Step::Spell(OK.into()),
            Step::Wait,
        ];
        let (target, playing) = serve_tls(vec![play]).await;
        let client = trusting(version);
        assert_eq!(ask(&client, &target).await, "200 ok");
        let big = Bytes::from(vec![b'x'; 1 << 20]);
        let reply = post(&client, &target, big).await.expect("a reply");
        let body = reply.body.read_all(1 << 20).await.expect("a body");
        assert_eq!(body, "data: x\n".repeat(20_000));
        assert_eq!(ask(&client, &target).await, "200 ok");
        assert_eq!(client.idle_connections(), 1);
        drop(client);
        let line = "POST /v1/x HTTP/1.1";
        let (small, big) = (format!("{line} {{}}"), format!("{line} {} bytes", 1 << 20));
        assert_eq!(playing.await.expect("played"), [[&*small, &*big, &*small, "closed"]]);
    }
}

#[tokio::test]
async fn a_reply_until_the_end_is_whole_only_if_the_end_is_announced() {
    let announced = vec![Step::Hear, Step::say(UNTIL_CLOSE), Step::Farewell];
    let (target, playing) =
        serve_tls(vec![announced, vec![Step::Hear, Step::say(UNTIL_CLOSE)]]).await;
    let client = trusting(&version::TLS13);
    assert_eq!(ask(&client, &target).await, "200 ok");
    assert_eq!(ask(&client, &target).await, "200 body closed MaybeSent");
    playing.await.expect("played");
}

#[tokio::test]
async fn who_is_not_trusted_gets_nothing() {
    let (target, playing) = serve_tls(vec![vec![Step::Hear], vec![Step::Hear]]).await;
    // The usual roots do not know it.
    assert_eq!(ask(&HttpClient::new(settings()), &target).await, "tls failed NotSent");
    // It is not the one that was asked for.
    let other = NetworkTarget { host: "127.0.0.1".into(), ..target };
    assert_eq!(ask(&trusting(&version::TLS12), &other).await, "tls failed NotSent");
    assert_eq!(playing.await.expect("played"), [["refused"], ["refused"]]);
}

#[tokio::test]
async fn a_server_without_encryption_fails_before_anything_is_sent() {
    let plain = "HTTP/1.1 400 Bad Request\r\n\r\n";
    let (target, playing) = serve(vec![vec![Step::say(plain)], vec![]]).await;
    let target = NetworkTarget { tls: true, ..target };
    let client = HttpClient::new(settings());
    assert_eq!(ask(&client, &target).await, "tls failed NotSent");
    assert_eq!(ask(&client, &target).await, "tls closed NotSent");
    playing.await.expect("played");
}
