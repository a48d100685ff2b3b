//! Encrypted connections: trusted, not trusted, not encrypted at all.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring, version};

use super::{
    server::{Step, certificate, serve, serve_mutual_tls, serve_tls},
    *,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\nok";

/// A client that trusts the test server.
fn trusting_client(version: &'static rustls::SupportedProtocolVersion) -> HttpClient {
    let mut roots = RootCertStore::empty();
    roots.add(certificate()).expect("a root");
    client_with(version, roots)
}

fn client_with(
    version: &'static rustls::SupportedProtocolVersion,
    roots: RootCertStore,
) -> HttpClient {
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let roots = TrustedRoots::from_config(Arc::new(config));
    HttpClient::new(settings()).with_network(&NetworkConfig { roots, ..NetworkConfig::default() })
}

#[tokio::test]
async fn requests_work_over_tls() {
    let chunks = format!("{}0\r\n\r\n", "8\r\ndata: x\n\r\n".repeat(20_000));
    let stream = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}");
    for version in [&version::TLS12, &version::TLS13] {
        let script = vec![
            Step::Read,
            Step::write(OK),
            Step::Read,
            Step::write(&stream),
            Step::Read,
            Step::WriteByByte(OK.into()),
            Step::Wait,
        ];
        let (target, server) = serve_tls(vec![script]).await;
        let client = trusting_client(version);
        assert_eq!(fetch(&client, &target).await, "200 ok");
        let big = Bytes::from(vec![b'x'; 1 << 20]);
        let reply = post(&client, &target, big).await.expect("a reply");
        let body = reply.body.read_all(1 << 20).await.expect("a body");
        assert_eq!(body, "data: x\n".repeat(20_000));
        assert_eq!(fetch(&client, &target).await, "200 ok");
        assert_eq!(client.idle_connections(), 1);
        drop(client);
        let line = "POST /v1/x HTTP/1.1";
        let (small, big) = (format!("{line} {{}}"), format!("{line} {} bytes", 1 << 20));
        assert_eq!(server.await.expect("server finished"), [[&*small, &*big, &*small, "closed"]]);
    }
}

#[tokio::test]
async fn a_body_until_close_is_complete_only_with_a_close_notify() {
    let announced = vec![Step::Read, Step::write(UNTIL_CLOSE), Step::CloseNotify];
    let (target, server) =
        serve_tls(vec![announced, vec![Step::Read, Step::write(UNTIL_CLOSE)]]).await;
    let client = trusting_client(&version::TLS13);
    assert_eq!(fetch(&client, &target).await, "200 ok");
    assert_eq!(fetch(&client, &target).await, "200 body closed MaybeSent");
    server.await.expect("server finished");
}

#[tokio::test]
async fn an_authority_is_trusted_beside_or_instead_of_those_of_the_system() {
    const PEM: &[u8] = include_bytes!("tls/certificate.pem");
    let other = include_bytes!("tls/client-authority.pem");
    let other = TrustedRoots::default().with_system(other).expect("a certificate");
    // Folders count beside a file, whichever comes first.
    let files = concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/tests/tls");
    let folders = || vec!["/none".into(), files.into()];
    let all = [
        TrustedRoots::default().with_added(PEM).expect("a certificate"),
        TrustedRoots::default().with_system(PEM).expect("a certificate"),
        TrustedRoots::default().with_system_folders(folders()),
        other.with_system_folders(folders()),
        TrustedRoots::default()
            .with_system_folders(vec!["/none".into()])
            .with_system(PEM)
            .expect("a certificate"),
    ];
    for roots in all {
        let (target, server) = serve_tls(vec![vec![Step::Read, Step::write(OK)]]).await;
        let network = NetworkConfig { roots, ..NetworkConfig::default() };
        let client = HttpClient::new(settings()).with_network(&network);
        assert_eq!(fetch(&client, &target).await, "200 ok");
        server.await.expect("server finished");
    }
}

#[test]
fn a_file_without_a_certificate_is_refused() {
    let key = include_str!("tls/key.pem");
    let table = [
        ("", "it contains no certificate"),
        ("hello", "it contains no certificate"),
        (key, "it contains no certificate"),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "it contains no certificate",
        ),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n", "it is not a valid PEM file"),
    ];
    for (text, expected) in table {
        let roots = TrustedRoots::default();
        assert_eq!(roots.clone().with_added(text.as_bytes()).expect_err(text), expected);
        assert_eq!(roots.with_system(text.as_bytes()).expect_err(text), expected);
    }
}

#[tokio::test]
async fn an_untrusted_server_gets_no_request() {
    let (target, server) = serve_tls(vec![vec![Step::Read], vec![Step::Read]]).await;
    // The bundled roots do not include its certificate. The system of a developer may.
    let bundled = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let sent = post(&client_with(&version::TLS13, bundled), &target, Bytes::new()).await;
    let error = sent.expect_err("not trusted");
    assert_eq!(describe(&error), "tls failed NotSent");
    assert!(error.to_string().contains("is from an authority that is not trusted"), "{error}");
    // The certificate is for another host.
    let other = NetworkTarget { host: "127.0.0.1".into(), ..target };
    assert_eq!(fetch(&trusting_client(&version::TLS12), &other).await, "tls failed NotSent");
    assert_eq!(server.await.expect("server finished"), [["refused"], ["refused"]]);
}

#[tokio::test]
async fn a_server_without_tls_fails_before_anything_is_sent() {
    let plain = "HTTP/1.1 400 Bad Request\r\n\r\n";
    let (target, server) = serve(vec![vec![Step::write(plain)], vec![]]).await;
    let target = NetworkTarget { tls: true, ..target };
    let client = HttpClient::new(settings());
    assert_eq!(fetch(&client, &target).await, "tls failed NotSent");
    assert_eq!(fetch(&client, &target).await, "tls closed NotSent");
    server.await.expect("server finished");
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_gets_that_of_the_target_only() {
    let [certificate, key, own]: [&[u8]; 3] = [
        include_bytes!("tls/client.pem"),
        include_bytes!("tls/client-key.pem"),
        include_bytes!("tls/certificate.pem"),
    ];
    let identity = ClientIdentity::from_pem(certificate, key).expect("an identity");
    for version in [&version::TLS12, &version::TLS13] {
        let first = vec![Step::Read, Step::write(OK), Step::Wait];
        let (target, server) = serve_mutual_tls(vec![first, vec![Step::Read]]).await;
        let identified = NetworkTarget { identity: Some(identity.clone()), ..target.clone() };
        let client = trusting_client(version);
        assert_eq!(fetch(&client, &identified).await, "200 ok");
        // The open connection is not used for a target without the certificate.
        assert_eq!(client.idle_connections(), 1);
        let error = post(&client, &target, Bytes::new()).await.expect_err("no certificate");
        assert!(error.to_string().contains("asks for a client certificate; set"), "{error}");
        assert_eq!(error.stage, HttpStage::Tls);
        drop(client);
        let received = server.await.expect("server finished");
        assert_eq!(received, [&["POST /v1/x HTTP/1.1 {}", "closed"][..], &["refused"]]);
    }
    let broken = [
        (key, key, "it contains no certificate"),
        (certificate, certificate, "the file of its key contains no private key"),
        (own, key, "its key does not belong to it, or cannot be used"),
    ];
    for (certificate, key, expected) in broken {
        let refused = ClientIdentity::from_pem(certificate, key).expect_err("broken");
        assert_eq!(refused, expected);
    }
}
