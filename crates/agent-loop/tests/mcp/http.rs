//! The same over HTTP, with a small server on loopback: plain replies, streams, sessions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use foxwedge_agent_loop::mcp::{McpConnection, McpEnvironment, McpServer, McpTransport};
use foxwedge_tools::{OutputCapture, StopLevel, StopReceiver};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::support::{begin, call, call_with, connected_to, heard, told, tool};

/// How the server replies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Habit {
    Plain,
    Events,
    /// Without sessions, and nobody may ask for news.
    Stateless,
    /// Of the old kind: there is nothing but a stream, and questions go elsewhere.
    Old,
    /// The first question gets this instead, whatever it is.
    Instead(&'static str),
}

/// What it heard.
#[derive(Default)]
struct Heard {
    session: usize,
    methods: Vec<String>,
    headers: Vec<HashMap<String, String>>,
    /// A new list of tools is told over the stream of news.
    news: Option<tokio::sync::oneshot::Sender<()>>,
}

struct Far {
    url: String,
    heard: Arc<Mutex<Heard>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Far {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Far {
    async fn start(habit: Habit) -> Far {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp?a=b", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Heard::default()));
        let shared = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            let mut streams = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                streams.spawn(talk(stream, habit, Arc::clone(&shared)));
            }
        });
        Far { url, heard, task }
    }

    fn server(&self) -> McpServer {
        let headers = vec![("Authorization".to_owned(), "Bearer canary-canary".to_owned())];
        McpServer::new("far", McpTransport::Http { url: self.url.clone(), headers })
    }

    async fn connected(&self) -> McpConnection {
        connected_to(&self.server(), &McpEnvironment::default()).await.unwrap()
    }

    fn methods(&self) -> Vec<String> {
        self.heard.lock().unwrap().methods.clone()
    }
}

/// One connection: requests and replies, until somebody closes it.
async fn talk(mut stream: TcpStream, habit: Habit, heard: Arc<Mutex<Heard>>) {
    let mut buffer = Vec::new();
    while let Some((method, headers, body)) = request(&mut stream, &mut buffer).await {
        heard.lock().unwrap().headers.push(headers.clone());
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let name = match method.as_str() {
            "POST" => message["method"].as_str().unwrap_or("answer").to_owned(),
            _ => method.clone(),
        };
        heard.lock().unwrap().methods.push(name.clone());
        let session = headers.get("mcp-session-id").cloned();
        let current = format!("s{}", heard.lock().unwrap().session);
        if let Habit::Instead(reply) = habit {
            let _ = stream.write_all(reply.as_bytes()).await;
            return;
        }
        if session.is_some_and(|session| session != current) {
            // Not everybody says it as the protocol wants it.
            let lost = json!({"jsonrpc": "2.0", "id": message["id"],
                "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}});
            let (status, body) = match habit {
                Habit::Events => ("400 Bad Request", lost.to_string()),
                Habit::Plain | Habit::Stateless | Habit::Old | Habit::Instead(_) => {
                    ("404 Not Found", "no such session".to_owned())
                }
            };
            send(&mut stream, status, "application/json", "", &body).await;
            continue;
        }
        match (name.as_str(), habit) {
            ("GET", Habit::Old) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.write_all(b"event: endpoint\ndata: /messages/?id=1\n\n").await;
                std::future::pending::<()>().await;
            }
            (_, Habit::Old) => {
                send(&mut stream, "405 Method Not Allowed", "text/plain", "", "no").await;
            }
            ("GET", Habit::Events) => {
                let (told, news) = tokio::sync::oneshot::channel();
                heard.lock().unwrap().news = Some(told);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n";
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = news.await;
                let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
                let _ = stream.write_all(format!("data: {changed}\n\n").as_bytes()).await;
                std::future::pending::<()>().await;
            }
            ("GET", _) => send(&mut stream, "405 Method Not Allowed", "text/plain", "", "").await,
            ("DELETE", _) => send(&mut stream, "200 OK", "text/plain", "", "").await,
            _ if message.get("id").is_none() => {
                send(&mut stream, "202 Accepted", "text/plain", "", "").await;
            }
            _ => reply(&mut stream, habit, &message, &heard).await,
        }
    }
}

async fn reply(stream: &mut TcpStream, habit: Habit, message: &Value, heard: &Mutex<Heard>) {
    let id = &message["id"];
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    let text = |text: &str| result(json!({"content": [{"type": "text", "text": text}]}));
    let mut more = String::new();
    let answer = match (message["method"].as_str().unwrap(), &message["params"]["name"]) {
        ("initialize", _) => {
            let mut heard = heard.lock().unwrap();
            heard.session += 1;
            if habit != Habit::Stateless {
                more = format!("mcp-session-id: s{}\r\n", heard.session);
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
                heard.lock().unwrap().session += 1;
                text("lost")
            }
            "tell" => {
                let news = heard.lock().unwrap().news.take();
                if let Some(news) = news {
                    news.send(()).unwrap();
                }
                text("told")
            }
            "steps" | "slow" => return stream_of(stream, message).await,
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
    match habit {
        Habit::Events => {
            let body = format!(": wait\n\nevent: message\ndata: {answer}\n\n");
            send(stream, "200 OK", "text/event-stream", &more, &body).await;
        }
        Habit::Plain | Habit::Stateless | Habit::Old | Habit::Instead(_) => {
            send(stream, "200 OK", "application/json; charset=utf-8", &more, &answer).await;
        }
    }
}

/// Progress, and then perhaps an answer.
async fn stream_of(stream: &mut TcpStream, message: &Value) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(head.as_bytes()).await;
    let token = &message["params"]["_meta"]["progressToken"];
    for n in 1..=3 {
        let params = json!({"progressToken": token, "progress": n});
        let said = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        let _ = stream.write_all(format!("data: {said}\r\n\r\n").as_bytes()).await;
    }
    if message["params"]["name"] == "slow" {
        std::future::pending::<()>().await;
    }
    let result = json!({"content": [{"type": "text", "text": "all steps"}]});
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let _ = stream.write_all(format!("data: {answer}\n\n").as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn send(stream: &mut TcpStream, status: &str, kind: &str, more: &str, body: &str) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{more}content-length: {length}\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
}

type Request = (String, HashMap<String, String>, Vec<u8>);

async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
    let mut lines = head.lines();
    let first = lines.next()?;
    assert!(first.contains("/mcp?a=b"), "{first}");
    let fields = lines.filter_map(|line| line.split_once(": "));
    let headers: HashMap<String, String> =
        fields.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    while buffer.len() < length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer.drain(..length).collect();
    Some((first.split(' ').next()?.to_owned(), headers, body))
}

#[tokio::test]
async fn a_server_is_asked_over_http_in_every_way_it_replies() {
    for habit in [Habit::Plain, Habit::Events, Habit::Stateless] {
        let far = Far::start(habit).await;
        let connected = far.connected().await;
        assert_eq!(connected.tools().len(), 9, "{habit:?}");
        assert_eq!(connected.notes(), [""; 0]);
        let answer = told(&call(&connected, "echo", json!({"a": 1})).await);
        assert_eq!(answer, r#"Done: {"a":1}"#, "{habit:?}");
        connected.close().await;
        let methods = far.methods();
        assert_eq!(methods[0], "initialize");
        let ended = methods.iter().any(|method| method == "DELETE");
        assert_eq!(ended, habit != Habit::Stateless, "{habit:?} {methods:?}");
        for headers in &far.heard.lock().unwrap().headers {
            assert_eq!(headers["authorization"], "Bearer canary-canary");
            assert_eq!(headers["accept"], "application/json, text/event-stream");
        }
    }
}

#[tokio::test]
async fn a_lost_session_is_begun_again_without_a_word() {
    for habit in [Habit::Plain, Habit::Events] {
        let far = Far::start(habit).await;
        let connected = far.connected().await;
        call(&connected, "lose", json!({})).await;
        let answer = told(&call(&connected, "echo", json!({"a": 1})).await);
        assert_eq!(answer, r#"Done: {"a":1}"#, "{habit:?}");
        let begun = far.methods().iter().filter(|method| *method == "initialize").count();
        assert_eq!(begun, 2, "{habit:?}");
    }
}

#[tokio::test]
async fn progress_and_news_come_over_streams() {
    let far = Far::start(Habit::Events).await;
    let connected = far.connected().await;
    let output = OutputCapture::new(1_000);
    let answer =
        call_with(&tool(&connected, "steps"), json!({}), StopReceiver::never(), output.clone())
            .await;
    assert_eq!(told(&answer), "Done: all steps");
    assert_eq!(output.capture().text, "1\n2\n3\n");
    for _ in 0..500 {
        if far.heard.lock().unwrap().news.is_some() {
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
    panic!("nobody heard the news");
}

#[tokio::test]
async fn a_call_over_http_is_stopped_at_the_server() {
    for habit in [Habit::Plain, Habit::Events] {
        let far = Far::start(habit).await;
        let connected = far.connected().await;
        let (slow, interrupt, output) = begin(&connected, "slow", json!({}));
        heard(&output, "3").await;
        interrupt.raise(StopLevel::Graceful);
        assert_eq!(told(&slow.await.unwrap()), "Stopped: it was stopped before it answered");
        for _ in 0..500 {
            if far.methods().iter().any(|method| method == "notifications/cancelled") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(far.methods().iter().any(|method| method == "notifications/cancelled"));
        let answer = told(&call(&connected, "echo", json!({})).await);
        assert_eq!(answer, "Done: {}", "{habit:?}");
    }
}

#[tokio::test]
async fn replies_that_are_none_fail_and_the_next_call_works() {
    let far = Far::start(Habit::Plain).await;
    let connected = far.connected().await;
    let table = [
        ("huge", "reading the upstream's reply: it is too long"),
        ("cut", "reading the upstream's reply: the connection was closed before its end"),
        ("refuse", "Failed: not so"),
        ("teapot", "HTTP 418 I'm a teapot: <p>tea"),
    ];
    for (name, expected) in table {
        let answer = told(&call(&connected, name, json!({})).await);
        assert!(answer.starts_with("Failed: ") && answer.contains(expected), "{name}: {answer}");
        assert_eq!(told(&call(&connected, "echo", json!({})).await), "Done: {}", "{name}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_told_in_words() {
    let table = [
        (
            "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\n\r\n",
            "it wants another key",
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
            "its answer cannot be read",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: no\n\n",
            "its answer to the first question cannot be read",
        ),
        ("nonsense", "reading the head of the upstream's reply"),
    ];
    for (reply, expected) in table {
        let far = Far::start(Habit::Instead(reply)).await;
        let error = connected_to(&far.server(), &McpEnvironment::default())
            .await
            .expect_err(reply)
            .to_string();
        assert!(error.contains(expected), "{reply}: {error}");
        assert!(!error.contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn a_server_of_the_old_kind_is_known_by_its_stream() {
    let far = Far::start(Habit::Old).await;
    let connected = connected_to(&far.server(), &McpEnvironment::default()).await;
    let error = connected.expect_err("the old transport").to_string();
    assert!(error.contains("the old transport (HTTP+SSE)"), "{error}");
    assert!(error.contains("`/mcp`"), "{error}");
    // Whoever has nothing there at all is something else.
    let nothing = "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno";
    let far = Far::start(Habit::Instead(nothing)).await;
    let connected = connected_to(&far.server(), &McpEnvironment::default()).await;
    let error = connected.expect_err("nothing there").to_string();
    assert!(error.contains("HTTP 404") && !error.contains("SSE"), "{error}");
}

#[tokio::test]
async fn a_server_that_nobody_is_or_that_never_replies_is_told_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = McpServer::new("far", McpTransport::Http { url, headers: Vec::new() });
    let around =
        McpEnvironment { start_timeout: Duration::from_secs(1), ..McpEnvironment::default() };
    let error = connected_to(&server, &around).await.expect_err("it says nothing").to_string();
    assert_eq!(error, "MCP server `far` did not get ready within 1 s");
    drop(listener);
    let error = connected_to(&server, &around).await.expect_err("nobody is there").to_string();
    assert!(error.starts_with("MCP server `far` cannot be started: "), "{error}");
    assert!(error.contains("connecting to the upstream"), "{error}");
}
