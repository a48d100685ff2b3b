//! Graceful shutdown.

use std::time::Duration;

use foxwedge_gateway::{ConnectionAddresses, ConnectionRules, DrainReport, ResponseBody};
use http::{Request, Response};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Semaphore, mpsc},
};

use crate::{
    client::{closed, get, post, rest, send},
    connections::{AcceptLoop, rules},
    server::{Server, TOKEN, config},
};

#[tokio::test]
async fn requests_in_flight_finish_and_idle_connections_are_closed() {
    let (began, mut begun) = mpsc::unbounded_channel();
    let leave = std::sync::Arc::new(Semaphore::new(0));
    let waited = leave.clone();
    let server =
        AcceptLoop::start(rules(), move |request: Request<Incoming>, _: ConnectionAddresses| {
            let (began, leave) = (began.clone(), waited.clone());
            async move {
                if request.uri().path() == "/slow" {
                    let _ = began.send(());
                    let _ = leave.acquire().await;
                }
                Response::new(ResponseBody::full("done"))
            }
        })
        .await;
    let mut resting = TcpStream::connect(server.address).await.expect("somebody listens");
    resting.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("it goes out");
    let mut first = [0; 15];
    resting.read_exact(&mut first).await.expect("a reply");
    let mut slow = TcpStream::connect(server.address).await.expect("somebody listens");
    slow.write_all(b"GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("it goes out");
    begun.recv().await.expect("it is at work");
    let address = server.address;
    let end = tokio::spawn(server.end());
    closed(resting).await;
    // The port is closed first.
    assert!(TcpStream::connect(address).await.is_err());
    leave.add_permits(1);
    let answer = rest(slow).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "done"));
    assert_eq!(answer.header("connection"), "close");
    assert_eq!(end.await.expect("it ends"), DrainReport { finished: 1, cut: 0 });
}

#[tokio::test]
async fn requests_that_take_too_long_are_cut_and_counted() {
    let (began, mut begun) = mpsc::unbounded_channel();
    let rules = ConnectionRules { drain: Duration::from_millis(50), ..rules() };
    let server = AcceptLoop::start(rules, move |_: Request<Incoming>, _: ConnectionAddresses| {
        let began = began.clone();
        async move {
            let _ = began.send(());
            std::future::pending::<()>().await;
            Response::new(ResponseBody::full(""))
        }
    })
    .await;
    let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
    stream.write_all(get("/", "").as_bytes()).await.expect("it goes out");
    begun.recv().await.expect("it is at work");
    assert_eq!(server.end().await, DrainReport { finished: 0, cut: 1 });
    closed(stream).await;
}

#[tokio::test]
async fn a_stream_that_the_shutdown_cuts_is_no_client_that_is_gone() {
    let mut config = config();
    config.timeouts.shutdown = Duration::from_millis(50);
    let server = Server::start(config).await;
    let key = format!("x-api-key: {TOKEN}\r\n");
    let body = json!({
        "model": "scripted?hang=2", "stream": true,
        "messages": [{ "role": "user", "content": "hello" }],
    });
    let mut stream = TcpStream::connect(server.address).await.expect("somebody listens");
    let request = post("/v1/chat/completions", &key, body.to_string());
    stream.write_all(&request).await.expect("it goes out");
    let mut received = [0; 15];
    stream.read_exact(&mut received).await.expect("a reply");
    let (served, log) = server.end().await;
    assert_eq!(served, DrainReport { finished: 0, cut: 1 });
    let line: Value = serde_json::from_str(log.trim()).expect("one line");
    let found = (&line["level"], &line["ended"]);
    assert_eq!(found, (&json!("error"), &json!("shutdown")), "{log}");
}

#[tokio::test]
async fn an_idle_gateway_stops_at_once_and_its_log_is_complete() {
    let server = Server::start_default().await;
    let headers = format!("x-api-key: {TOKEN}\r\n");
    for _ in 0..3 {
        assert_eq!(send(server.address, get("/v1/models", &headers)).await.status, 200);
    }
    let (served, log) = server.end().await;
    assert_eq!(served, DrainReport { finished: 0, cut: 0 });
    assert_eq!(log.lines().count(), 3, "{log}");
}
