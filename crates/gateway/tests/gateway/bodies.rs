//! Hostile bodies: refused early, and the client receives the reason.

use std::{io::Write as _, time::Duration};

use flate2::{Compression, write::GzEncoder};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    client::{Answer, post, rest, send},
    server::{CHAT, Server, TOKEN, config},
};

const PATH: &str = "/v1/chat/completions";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("into memory");
    encoder.finish().expect("into memory")
}

#[tokio::test]
async fn a_body_with_a_too_large_content_length_is_refused_unread() {
    let server = Server::start_default().await;
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {TOKEN}\r\n\
         content-length: {}\r\n\r\n",
        64 << 20
    );
    let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
    stream.write_all(head.as_bytes()).await.expect("the head goes out");
    // No byte of the body is sent.
    let mut bytes = vec![0; 4096];
    let number = stream.read(&mut bytes).await.expect("a reply");
    let answer = Answer::read(&bytes[..number]);
    assert_eq!(answer.status, 413);
    assert_eq!(answer.json()["error"]["code"], "body_too_large");
    drop(stream);
    server.end().await;
}

#[tokio::test]
async fn a_client_that_sends_64_mebibytes_at_once_learns_why_it_was_refused() {
    let server = Server::start_default().await;
    let headers = format!("x-api-key: {TOKEN}\r\n");
    let stream = TcpStream::connect(server.address).await.expect("somebody listens");
    let (mut reader, mut writer) = stream.into_split();
    let sending = tokio::spawn(async move {
        let bytes = post(PATH, &headers, vec![b' '; 64 << 20]);
        // The server may close the connection before it has read everything.
        let _ = writer.write_all(&bytes).await;
    });
    let mut bytes = Vec::new();
    let _ = reader.read_to_end(&mut bytes).await;
    assert_eq!(Answer::read(&bytes).status, 413);
    sending.await.expect("the client does not panic");
    server.end().await;
}

#[tokio::test]
async fn a_client_that_reads_only_after_it_has_sent_everything_learns_it_too() {
    let mut config = config();
    config.limits.request_body = 1 << 20;
    let server = Server::start(config).await;
    let headers = format!("x-api-key: {TOKEN}\r\n");
    // More than the kernel buffers: the server must read it, or the connection is reset.
    let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
    let bytes = post(PATH, &headers, vec![b' '; 24 << 20]);
    stream.write_all(&bytes).await.expect("everything goes out");
    assert_eq!(rest(stream).await.status, 413);
    server.end().await;
}

#[tokio::test]
async fn a_body_in_chunks_is_counted_as_it_comes() {
    let mut config = config();
    config.limits.request_body = 1_000;
    let server = Server::start(config).await;
    let mut request = format!(
        "POST {PATH} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {TOKEN}\r\nconnection: close\r\n\
         transfer-encoding: chunked\r\n\r\n"
    );
    let small = format!("{request}{:x}\r\n{CHAT}\r\n0\r\n\r\n", CHAT.len());
    for _ in 0..11 {
        request.push_str(&format!("64\r\n{}\r\n", "x".repeat(100)));
    }
    request.push_str("0\r\n\r\n");
    assert_eq!(send(server.address, request).await.status, 413);
    assert_eq!(send(server.address, small).await.status, 200);
    server.end().await;
}

#[tokio::test]
async fn compressed_bodies_are_decompressed_up_to_the_limit() {
    let server = Server::start_default().await;
    let headers = |encoding| format!("x-api-key: {TOKEN}\r\ncontent-encoding: {encoding}\r\n");
    let bomb = gzip(&vec![b' '; 65 << 20]);
    assert!(bomb.len() < 1 << 20);
    for (name, encoding, body, status) in [
        ("packed", "gzip", gzip(CHAT.as_bytes()), 200),
        ("a bomb", "gzip", bomb, 413),
        ("torn", "gzip", gzip(CHAT.as_bytes())[..20].to_vec(), 400),
        ("not packed at all", "zstd", CHAT.into(), 400),
        ("unknown", "br", CHAT.into(), 415),
        ("twice", "gzip, gzip", gzip(&gzip(CHAT.as_bytes())), 415),
    ] {
        let answer = send(server.address, post(PATH, &headers(encoding), body)).await;
        assert_eq!(answer.status, status, "{name}: {}", answer.body);
        let encodings = if status == 415 { "gzip, deflate, zstd" } else { "" };
        assert_eq!(answer.header("accept-encoding"), encodings, "{name}");
    }
    let form = format!("x-api-key: {TOKEN}\r\ncontent-type: multipart/form-data; boundary=x\r\n");
    let refused = send(server.address, post(PATH, &form, "--x--")).await;
    assert_eq!((refused.status, refused.header("accept-encoding")), (415, ""));
    server.end().await;
}

#[tokio::test]
async fn a_stalled_body_times_out() {
    let mut config = config();
    config.timeouts.request_body = Duration::from_millis(50);
    let server = Server::start(config).await;
    let request = format!(
        "POST {PATH} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {TOKEN}\r\ncontent-length: 100\r\n\r\n{{"
    );
    let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
    stream.write_all(request.as_bytes()).await.expect("it goes out");
    assert_eq!(rest(stream).await.status, 408);
    server.end().await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let mut config = config();
    config.limits.request_head = 8 << 10;
    let server = Server::start(config).await;
    let fits = format!("x-filler: {}\r\n", "x".repeat(4 << 10));
    let large = format!("x-filler: {}\r\n", "x".repeat(9 << 10));
    let many: String = (0..200).map(|number| format!("x-{number}: 1\r\n")).collect();
    for (headers, status) in [(fits, 200), (large, 431), (many, 431)] {
        let request = crate::client::get("/health", &headers);
        assert_eq!(send(server.address, request).await.status, status, "{}", headers.len());
    }
    server.end().await;
}

#[tokio::test]
async fn two_lengths_that_differ_are_refused() {
    let server = Server::start_default().await;
    let request = format!(
        "POST {PATH} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {TOKEN}\r\n\
         content-length: 5\r\ncontent-length: 6\r\n\r\n{{}}   "
    );
    assert_eq!(send(server.address, request).await.status, 400);
    server.end().await;
}

#[tokio::test]
async fn an_unsupported_transfer_encoding_is_refused() {
    let server = Server::start_default().await;
    for (coding, status) in [
        ("chunked", 200),
        ("Chunked", 200),
        ("gzip, chunked", 501),
        ("identity, chunked", 501),
        ("chunked, chunked", 501),
        ("x-unknown,chunked", 501),
    ] {
        let request = format!(
            "POST {PATH} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {TOKEN}\r\n\
             transfer-encoding: {coding}\r\nconnection: close\r\n\r\n\
             {:x}\r\n{CHAT}\r\n0\r\n\r\n",
            CHAT.len()
        );
        let answer = send(server.address, request).await;
        assert_eq!(answer.status, status, "{coding}: {answer:?}");
        if status == 501 {
            assert_eq!(answer.json()["error"]["code"], "unsupported_transfer_encoding");
            assert_eq!(answer.header("connection"), "close");
        }
    }
    server.end().await;
}
