//! Requests that keep running when their client disconnects.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{
    client::{Answer, get, post, send},
    server::{Server, TOKEN, config},
};

/// Sends a streamed request, reads the head of its reply, and disconnects. Returns the run.
async fn disconnect_after_head(to: SocketAddr, model: &str, headers: &str) -> String {
    let body = format!(
        r#"{{"model":"{model}","stream":true,"messages":[{{"role":"user","content":"one two three"}}]}}"#
    );
    let headers = format!("x-api-key: {TOKEN}\r\n{headers}");
    let mut stream = TcpStream::connect(to).await.expect("the gateway listens");
    stream.write_all(&post("/v1/chat/completions", &headers, &body)).await.expect("a request");
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read_buf(&mut bytes).await.expect("bytes");
        assert!(read > 0, "{}", String::from_utf8_lossy(&bytes));
    }
    Answer::read(&bytes).header("x-foxwedge-run").to_owned()
}

async fn run(to: SocketAddr, id: &str) -> Value {
    send(to, get(&format!("/v1/runs/{id}"), &format!("x-api-key: {TOKEN}\r\n"))).await.json()
}

/// The outcome of a run, once it has one.
async fn outcome(to: SocketAddr, id: &str) -> String {
    for _ in 0..500 {
        if let Some(outcome) = run(to, id).await["outcome"].as_str() {
            return outcome.to_owned();
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("the run does not end");
}

#[tokio::test]
async fn a_run_completes_without_its_client_only_if_that_was_requested() {
    let server = Server::start_default().await;
    let to = server.address;
    for (headers, expected) in [
        ("x-foxwedge-keep-running: true\r\n", "completed"),
        ("x-foxwedge-keep-running: false\r\n", "stopped"),
        ("", "stopped"),
    ] {
        let id = disconnect_after_head(to, "scripted?pace=60", headers).await;
        assert_eq!(outcome(to, &id).await, expected, "{headers}");
    }
    let odd = format!("x-api-key: {TOKEN}\r\nx-foxwedge-keep-running: maybe\r\n");
    let body = r#"{"model":"scripted","messages":[{"role":"user","content":"hello"}]}"#;
    assert_eq!(send(to, post("/v1/chat/completions", &odd, body)).await.status, 400);
    server.end().await;
}

#[tokio::test]
async fn a_reply_that_keeps_running_reaches_its_client_unchanged() {
    let server = Server::start_default().await;
    let to = server.address;
    let ask = async |headers: &str, stream: bool| {
        let body = format!(
            r#"{{"model":"scripted","stream":{stream},"messages":[{{"role":"user","content":"hello"}}]}}"#
        );
        let headers = format!("x-api-key: {TOKEN}\r\n{headers}");
        let answer = send(to, post("/v1/chat/completions", &headers, &body)).await;
        (answer.status, answer.body)
    };
    for stream in [false, true] {
        let plain = ask("", stream).await;
        assert_eq!(ask("x-foxwedge-keep-running: true\r\n", stream).await, plain);
    }
    server.end().await;
}

#[tokio::test]
async fn a_run_without_a_client_can_be_stopped_and_does_not_hold_up_the_shutdown() {
    let mut config = config();
    config.timeouts.shutdown = Duration::from_millis(200);
    let server = Server::start(config).await;
    let to = server.address;
    let keep = "x-foxwedge-keep-running: true\r\n";
    let stopped = disconnect_after_head(to, "scripted?hang=3", keep).await;
    let path = format!("/v1/runs/{stopped}/stop");
    let answer = send(to, post(&path, &format!("x-api-key: {TOKEN}\r\n"), "{}")).await;
    assert_eq!((answer.status, &answer.json()["run"]["outcome"]), (200, &"stopped".into()));
    disconnect_after_head(to, "scripted?hang=3", keep).await;
    timeout(Duration::from_secs(20), server.end()).await.expect("the gateway ends");
}
