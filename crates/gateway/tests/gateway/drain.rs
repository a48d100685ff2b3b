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
    time::{sleep, timeout},
};

use crate::{
    client::{Answer, closed, get, post, rest, send},
    connections::{AcceptLoop, rules},
    server::{CHAT, Server, TOKEN, config},
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

/// A wait that takes longer has failed.
const LONG: Duration = Duration::from_secs(60);

/// Reads the head of a reply, and what came with it.
async fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = timeout(LONG, stream.read_buf(&mut bytes)).await.expect("a head in time");
        assert!(read.expect("bytes") > 0, "{}", String::from_utf8_lossy(&bytes));
    }
    bytes
}

/// Reads what follows, until the server closes the connection as HTTP ends it.
async fn read_rest(stream: &mut TcpStream, mut bytes: Vec<u8>) -> Answer {
    let read = timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("an end in time");
    read.expect("no reset");
    Answer::read(&bytes)
}

/// A request for every format: its path, headers and body. One keeps running without its client.
fn requests(model: &str, is_stream: bool) -> Vec<(String, &'static str, Value)> {
    let escaped = model.replace('?', "%3F");
    let operation = if is_stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
    let message = json!({ "role": "user", "content": "hello" });
    let chat = json!({ "model": model, "stream": is_stream, "messages": [message] });
    let keep = "x-foxwedge-keep-running: true\r\n";
    vec![
        ("/v1/chat/completions".to_owned(), "", chat.clone()),
        ("/v1/chat/completions".to_owned(), keep, chat),
        (
            "/v1/responses".to_owned(),
            "",
            json!({ "model": model, "stream": is_stream, "input": "hello" }),
        ),
        (
            "/v1/messages".to_owned(),
            "",
            json!({ "model": model, "stream": is_stream, "max_tokens": 99, "messages": [message] }),
        ),
        (
            format!("/v1beta/models/{escaped}:{operation}"),
            "",
            json!({ "contents": [{ "role": "user", "parts": [{ "text": "hello" }] }] }),
        ),
    ]
}

async fn start_request(server: &Server, path: &str, headers: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.expect("the gateway listens");
    let headers = format!("x-api-key: {TOKEN}\r\n{headers}");
    stream.write_all(&post(path, &headers, body.to_string())).await.expect("a request");
    stream
}

fn lines(log: &str) -> Vec<Value> {
    log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn streams_that_the_shutdown_cuts_end_with_an_error_of_their_format() {
    let mut config = config();
    config.timeouts.shutdown = Duration::from_millis(50);
    let server = Server::start(config).await;
    let mut requests = requests("scripted?hang=2", true);
    let ui = json!({
        "threadId": "t-1", "runId": "r-1", "state": {}, "context": [], "tools": [],
        "forwardedProps": {}, "messages": [{ "id": "1", "role": "user", "content": "hello" }],
    });
    requests.push(("/v1/ui/agui?model=scripted%3Fhang=2".to_owned(), "", ui));
    let expected = [
        "\"code\":\"shutting_down\"",
        "\"code\":\"shutting_down\"",
        "event: response.failed\n",
        "\"type\":\"overloaded_error\"",
        "\"status\":\"UNAVAILABLE\"",
        "\"type\":\"RUN_ERROR\"",
    ];
    let mut streams = Vec::new();
    for (path, headers, body) in &requests {
        let mut stream = start_request(&server, path, headers, body).await;
        let bytes = read_head(&mut stream).await;
        streams.push((stream, bytes));
    }
    let end = server.stop();
    for (at, (mut stream, bytes)) in streams.into_iter().enumerate() {
        let answer = read_rest(&mut stream, bytes).await;
        let (path, body) = (&requests[at].0, &answer.body);
        assert_eq!(answer.status, 200, "{path}");
        assert!(body.contains("the gateway is shutting down"), "{path} {body}");
        assert!(body.contains(expected[at]), "{path} {body}");
        assert!(body.ends_with("\r\n0\r\n\r\n"), "{path} {body}");
    }
    let (served, log) = timeout(LONG, end).await.expect("an end in time").expect("no panic");
    assert_eq!(served, DrainReport { finished: 0, cut: requests.len() });
    let lines = lines(&log);
    assert_eq!(lines.len(), requests.len(), "{log}");
    for line in lines {
        let found = (&line["status"], &line["error"], &line["ended"]);
        assert_eq!(found, (&json!(200), &json!("shutting_down"), &json!("shutdown")), "{line}");
    }
}

#[tokio::test]
async fn requests_without_a_reply_at_the_end_of_the_shutdown_get_an_error_of_their_format() {
    let mut config = config();
    config.timeouts.shutdown = Duration::from_millis(50);
    let server = Server::start(config).await;
    // Nothing comes from the upstream.
    let requests = requests("scripted?delay=600000", false);
    let expected = [
        ("code", "shutting_down"),
        ("code", "shutting_down"),
        ("code", "shutting_down"),
        ("type", "overloaded_error"),
        ("status", "UNAVAILABLE"),
    ];
    let mut streams = Vec::new();
    for (path, headers, body) in &requests {
        streams.push(start_request(&server, path, headers, body).await);
    }
    let gauge = format!("foxwedge_requests_at_work {}\n", requests.len());
    let all_arrived = async {
        while !server.engine.metrics().render().contains(&gauge) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, all_arrived).await.expect("all requests in progress");
    let end = server.stop();
    for (at, mut stream) in streams.into_iter().enumerate() {
        let answer = read_rest(&mut stream, Vec::new()).await;
        let (path, error) = (&requests[at].0, &answer.json()["error"]);
        assert_eq!(answer.status, 503, "{path}");
        assert_eq!(error["message"], "the gateway is shutting down", "{path} {error}");
        let (key, value) = expected[at];
        assert_eq!(error[key], value, "{path} {error}");
    }
    let (served, log) = timeout(LONG, end).await.expect("an end in time").expect("no panic");
    assert_eq!(served, DrainReport { finished: 0, cut: requests.len() });
    for line in lines(&log) {
        assert_eq!((&line["status"], &line["error"]), (&json!(503), &json!("shutting_down")));
    }
}

#[tokio::test]
async fn requests_are_served_during_the_shutdown_delay_and_the_gateway_is_not_ready() {
    let mut config = config();
    // The test ends before.
    (config.timeouts.shutdown, config.timeouts.shutdown_delay) = (LONG * 60, LONG * 60);
    let server = Server::start(config).await;
    let address = server.address;
    let ready = || send(address, get("/readiness", ""));
    assert_eq!(ready().await.status, 200);
    let end = server.stop();
    let not_ready = async {
        while ready().await.status != 503 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, not_ready).await.expect("503 of /readiness");
    assert_eq!(send(address, get("/liveness", "")).await.status, 200);
    let headers = format!("x-api-key: {TOKEN}\r\n");
    assert_eq!(send(address, post("/v1/chat/completions", &headers, CHAT)).await.status, 200);
    assert!(!end.is_finished());
}

#[tokio::test]
async fn after_the_shutdown_delay_the_port_is_closed_and_requests_in_flight_finish() {
    let (began, mut begun) = mpsc::unbounded_channel();
    let leave = std::sync::Arc::new(Semaphore::new(0));
    let waited = leave.clone();
    let rules =
        ConnectionRules { drain: LONG, accept_after_stop: Duration::from_millis(100), ..rules() };
    let server = AcceptLoop::start(rules, move |_: Request<Incoming>, _: ConnectionAddresses| {
        let (began, leave) = (began.clone(), waited.clone());
        async move {
            let _ = began.send(());
            let _ = leave.acquire().await;
            Response::new(ResponseBody::full("done"))
        }
    })
    .await;
    let address = server.address;
    let mut slow = TcpStream::connect(address).await.expect("it listens");
    slow.write_all(get("/", "").as_bytes()).await.expect("a request");
    begun.recv().await.expect("it is at work");
    let end = tokio::spawn(server.end());
    let closed = async {
        while TcpStream::connect(address).await.is_ok() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, closed).await.expect("a closed port");
    leave.add_permits(1);
    assert_eq!(rest(slow).await.body, "done");
    assert_eq!(end.await.expect("it ends"), DrainReport { finished: 1, cut: 0 });
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
