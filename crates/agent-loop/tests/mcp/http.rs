//! MCP over HTTP, with a small server on loopback: plain responses, streams, sessions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use foxwedge_agent_loop::mcp::{McpConnection, McpEnvironment, McpServer, McpTransport};
use foxwedge_tools::{OutputCapture, StopLevel, StopReceiver};
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
};

use crate::{
    loopback::{HttpRequest, read_request, send},
    support::{call, call_with, connect, describe, start_call, tool, wait_for_output},
};

/// How the server replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Behavior {
    Plain,
    Events,
    /// No sessions and no notification stream.
    Stateless,
    /// The first request gets these bytes as response.
    Instead(&'static str),
}

/// What the server received.
#[derive(Default)]
struct ReceivedRequests {
    session: usize,
    methods: Vec<String>,
    headers: Vec<HashMap<String, String>>,
    /// Triggers a changed tool list on the notification stream.
    notify: Option<tokio::sync::oneshot::Sender<()>>,
}

struct HttpServer {
    url: String,
    received: Arc<Mutex<ReceivedRequests>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HttpServer {
    async fn start(behavior: Behavior) -> HttpServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp?a=b", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(ReceivedRequests::default()));
        let shared = Arc::clone(&received);
        let task = tokio::spawn(async move {
            let mut streams = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                streams.spawn(serve_connection(stream, behavior, Arc::clone(&shared)));
            }
        });
        HttpServer { url, received, task }
    }

    fn server(&self) -> McpServer {
        let headers = vec![("Authorization".to_owned(), "Bearer canary-canary".to_owned())];
        McpServer::new("far", McpTransport::Http { url: self.url.clone(), headers })
    }

    async fn connected(&self) -> McpConnection {
        connect(&self.server(), &McpEnvironment::default()).await.unwrap()
    }

    fn methods(&self) -> Vec<String> {
        self.received.lock().unwrap().methods.clone()
    }
}

/// Serves one connection until it closes.
async fn serve_connection(
    mut stream: TcpStream,
    behavior: Behavior,
    received: Arc<Mutex<ReceivedRequests>>,
) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let HttpRequest { method, target, headers, body } = request;
        assert_eq!(target, "/mcp?a=b");
        received.lock().unwrap().headers.push(headers.clone());
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let name = match method.as_str() {
            "POST" => message["method"].as_str().unwrap_or("answer").to_owned(),
            _ => method.clone(),
        };
        received.lock().unwrap().methods.push(name.clone());
        let session = headers.get("mcp-session-id").cloned();
        let current = format!("s{}", received.lock().unwrap().session);
        if let Behavior::Instead(reply) = behavior {
            let _ = stream.write_all(reply.as_bytes()).await;
            return;
        }
        if session.is_some_and(|session| session != current) {
            // Not every server returns the status of the protocol.
            let lost = json!({"jsonrpc": "2.0", "id": message["id"],
                "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}});
            let (status, body) = match behavior {
                Behavior::Events => ("400 Bad Request", lost.to_string()),
                Behavior::Plain | Behavior::Stateless | Behavior::Instead(_) => {
                    ("404 Not Found", "no such session".to_owned())
                }
            };
            send(&mut stream, status, "application/json", "", &body).await;
            continue;
        }
        match (name.as_str(), behavior) {
            ("GET", Behavior::Events) => {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                received.lock().unwrap().notify = Some(sender);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n";
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = receiver.await;
                let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
                let _ = stream.write_all(format!("data: {changed}\n\n").as_bytes()).await;
                std::future::pending::<()>().await;
            }
            ("GET", _) => send(&mut stream, "405 Method Not Allowed", "text/plain", "", "").await,
            ("DELETE", _) => send(&mut stream, "200 OK", "text/plain", "", "").await,
            _ if message.get("id").is_none() => {
                send(&mut stream, "202 Accepted", "text/plain", "", "").await;
            }
            _ => reply(&mut stream, behavior, &message, &received).await,
        }
    }
}

async fn reply(
    stream: &mut TcpStream,
    behavior: Behavior,
    message: &Value,
    received: &Mutex<ReceivedRequests>,
) {
    let id = &message["id"];
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    let text = |text: &str| result(json!({"content": [{"type": "text", "text": text}]}));
    let mut extra_headers = String::new();
    let response = match (message["method"].as_str().unwrap(), &message["params"]["name"]) {
        ("initialize", _) => {
            let mut received = received.lock().unwrap();
            received.session += 1;
            if behavior != Behavior::Stateless {
                extra_headers = format!("mcp-session-id: s{}\r\n", received.session);
            }
            result(json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"}}))
        }
        ("tools/list", _) => {
            let names =
                ["echo", "lose", "steps", "slow", "tell", "huge", "cut", "refuse", "teapot"];
            let tools = names.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
            result(json!({ "tools": tools }))
        }
        ("tools/call", name) => match name.as_str().unwrap() {
            "echo" => text(&message["params"]["arguments"].to_string()),
            "lose" => {
                received.lock().unwrap().session += 1;
                text("lost")
            }
            "tell" => {
                let notify = received.lock().unwrap().notify.take();
                if let Some(notify) = notify {
                    notify.send(()).unwrap();
                }
                text("told")
            }
            "steps" | "slow" => return send_stream(stream, message).await,
            "huge" => text(&"x".repeat(17 << 20)),
            "cut" => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.shutdown().await;
                return;
            }
            "refuse" => {
                let error = json!({"jsonrpc": "2.0", "id": id,
                    "error": {"code": -32602, "message": "not so"}});
                let body = error.to_string();
                return send(stream, "400 Bad Request", "application/json", "", &body).await;
            }
            _ => return send(stream, "418 I'm a teapot", "text/html", "", "<p>tea").await,
        },
        _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})
            .to_string(),
    };
    match behavior {
        Behavior::Events => {
            let body = format!(": wait\n\nevent: message\ndata: {response}\n\n");
            send(stream, "200 OK", "text/event-stream", &extra_headers, &body).await;
        }
        Behavior::Plain | Behavior::Stateless | Behavior::Instead(_) => {
            send(stream, "200 OK", "application/json; charset=utf-8", &extra_headers, &response)
                .await;
        }
    }
}

/// Sends progress and, unless the tool is `slow`, a result.
async fn send_stream(stream: &mut TcpStream, message: &Value) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(head.as_bytes()).await;
    let token = &message["params"]["_meta"]["progressToken"];
    for n in 1..=3 {
        let params = json!({"progressToken": token, "progress": n});
        let notification =
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        let _ = stream.write_all(format!("data: {notification}\r\n\r\n").as_bytes()).await;
    }
    if message["params"]["name"] == "slow" {
        std::future::pending::<()>().await;
    }
    let result = json!({"content": [{"type": "text", "text": "all steps"}]});
    let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let _ = stream.write_all(format!("data: {response}\n\n").as_bytes()).await;
    let _ = stream.shutdown().await;
}

#[tokio::test]
async fn all_kinds_of_http_responses_are_read() {
    for behavior in [Behavior::Plain, Behavior::Events, Behavior::Stateless] {
        let server = HttpServer::start(behavior).await;
        let connected = server.connected().await;
        assert_eq!(connected.tools().len(), 9, "{behavior:?}");
        assert_eq!(connected.notes(), [""; 0]);
        let result = describe(&call(&connected, "echo", json!({"a": 1})).await);
        assert_eq!(result, r#"Done: {"a":1}"#, "{behavior:?}");
        connected.close().await;
        let methods = server.methods();
        assert_eq!(methods[0], "initialize");
        let ended = methods.iter().any(|method| method == "DELETE");
        assert_eq!(ended, behavior != Behavior::Stateless, "{behavior:?} {methods:?}");
        for headers in &server.received.lock().unwrap().headers {
            assert_eq!(headers["authorization"], "Bearer canary-canary");
            assert_eq!(headers["accept"], "application/json, text/event-stream");
        }
    }
}

#[tokio::test]
async fn a_lost_session_is_opened_again() {
    for behavior in [Behavior::Plain, Behavior::Events] {
        let server = HttpServer::start(behavior).await;
        let connected = server.connected().await;
        call(&connected, "lose", json!({})).await;
        let result = describe(&call(&connected, "echo", json!({"a": 1})).await);
        assert_eq!(result, r#"Done: {"a":1}"#, "{behavior:?}");
        let begun = server.methods().iter().filter(|method| *method == "initialize").count();
        assert_eq!(begun, 2, "{behavior:?}");
    }
}

#[tokio::test]
async fn progress_and_notifications_arrive_over_streams() {
    let server = HttpServer::start(Behavior::Events).await;
    let connected = server.connected().await;
    let output = OutputCapture::new(1_000);
    let result =
        call_with(&tool(&connected, "steps"), json!({}), StopReceiver::never(), output.clone())
            .await;
    assert_eq!(describe(&result), "Done: all steps");
    assert_eq!(output.capture().text, "1\n2\n3\n");
    for _ in 0..500 {
        if server.received.lock().unwrap().notify.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    call(&connected, "tell", json!({})).await;
    for _ in 0..500 {
        if connected.has_changed_tools() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the notification did not arrive");
}

#[tokio::test]
async fn a_stopped_http_call_is_cancelled_at_the_server() {
    for behavior in [Behavior::Plain, Behavior::Events] {
        let server = HttpServer::start(behavior).await;
        let connected = server.connected().await;
        let (slow, interrupt, output) = start_call(&connected, "slow", json!({}));
        wait_for_output(&output, "3").await;
        interrupt.raise(StopLevel::Graceful);
        assert_eq!(
            describe(&slow.await.unwrap()),
            "Stopped: the call was stopped before a result arrived"
        );
        for _ in 0..500 {
            if server.methods().iter().any(|method| method == "notifications/cancelled") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(server.methods().iter().any(|method| method == "notifications/cancelled"));
        let result = describe(&call(&connected, "echo", json!({})).await);
        assert_eq!(result, "Done: {}", "{behavior:?}");
    }
}

#[tokio::test]
async fn invalid_responses_fail_the_call_and_the_next_one_works() {
    let server = HttpServer::start(Behavior::Plain).await;
    let connected = server.connected().await;
    let table = [
        ("huge", "reading the upstream's reply: it is too long"),
        ("cut", "reading the upstream's reply: the connection was closed before its end"),
        ("refuse", "Failed: not so"),
        ("teapot", "HTTP 418 I'm a teapot: <p>tea"),
    ];
    for (name, expected) in table {
        let result = describe(&call(&connected, name, json!({})).await);
        assert!(result.starts_with("Failed: ") && result.contains(expected), "{name}: {result}");
        assert_eq!(describe(&call(&connected, "echo", json!({})).await), "Done: {}", "{name}");
    }
}

#[tokio::test]
async fn unusable_servers_are_reported() {
    let table = [
        (
            "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\n\r\n",
            "it requires another key",
        ),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://elsewhere/\r\ncontent-length: 0\r\n\r\n",
            "HTTP 302 Found",
        ),
        (
            "HTTP/1.1 500 Oh\r\ncontent-length: 5\r\n\r\nno db",
            "HTTP 500 Internal Server Error: no db",
        ),
        ("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\n<p", "text/html"),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
            "its response cannot be read",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: no\n\n",
            "its response to `initialize` cannot be read",
        ),
        // Nothing is there, not even the older transport.
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno", "HTTP 404 Not Found: no"),
        ("nonsense", "reading the head of the upstream's reply"),
    ];
    for (reply, expected) in table {
        let server = HttpServer::start(Behavior::Instead(reply)).await;
        let error = connect(&server.server(), &McpEnvironment::default())
            .await
            .expect_err(reply)
            .to_string();
        assert!(error.contains(expected), "{reply}: {error}");
        assert!(!error.contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn missing_and_silent_servers_are_reported_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let configured = McpServer::new("far", McpTransport::Http { url, headers: Vec::new() });
    let environment =
        McpEnvironment { start_timeout: Duration::from_secs(1), ..McpEnvironment::default() };
    let error = connect(&configured, &environment).await.expect_err("silent server").to_string();
    assert_eq!(error, "MCP server `far` did not get ready within 1 s");
    drop(listener);
    let error = connect(&configured, &environment).await.expect_err("no listener").to_string();
    assert!(error.starts_with("MCP server `far` cannot be started: "), "{error}");
    assert!(error.contains("connecting to the upstream"), "{error}");
}
