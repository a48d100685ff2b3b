//! MCP over the older HTTP transport, with a small server on loopback.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use foxwedge_agent_loop::mcp::{McpEnvironment, McpServer, McpTransport};
use foxwedge_tools::StopLevel;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedSender, unbounded_channel},
};

use crate::{
    loopback::{read_request, send},
    support::{call, connect, describe, start_call, wait_for_output},
};

/// How the server treats a first request.
#[derive(Clone, Copy, Debug)]
struct SseBehavior {
    /// The reply to a POST at the address of the stream.
    post_status: &'static str,
    /// The bytes of a new stream; `{id}` is the number of the stream, `{origin}` that of the server.
    greeting: &'static str,
    content_type: &'static str,
}

const USUAL: SseBehavior = SseBehavior {
    post_status: "405 Method Not Allowed",
    greeting: ": hello\n\nevent: endpoint\ndata: /messages?id={id}\n\n",
    content_type: "text/event-stream",
};

#[derive(Default)]
struct SseState {
    streams: HashMap<usize, UnboundedSender<Value>>,
    opened: usize,
    /// Streams whose messages are refused.
    lost: Vec<usize>,
    requests: Vec<(String, String, HashMap<String, String>)>,
    methods: Vec<String>,
}

struct SseServer {
    origin: String,
    state: Arc<Mutex<SseState>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for SseServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl SseServer {
    async fn start(behavior: SseBehavior) -> SseServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(SseState::default()));
        let (shared, shared_origin) = (Arc::clone(&state), origin.clone());
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (state, origin) = (Arc::clone(&shared), shared_origin.clone());
                connections.spawn(serve_connection(stream, behavior, state, origin));
            }
        });
        SseServer { origin, state, task }
    }

    fn headers(&self) -> Vec<(String, String)> {
        vec![("Authorization".to_owned(), "Bearer canary-canary".to_owned())]
    }

    fn explicit(&self) -> McpServer {
        let url = format!("{}/sse", self.origin);
        McpServer::new("far", McpTransport::Sse { url, headers: self.headers() })
    }

    fn detected(&self) -> McpServer {
        let url = format!("{}/sse", self.origin);
        McpServer::new("far", McpTransport::Http { url, headers: self.headers() })
    }

    fn opened(&self) -> usize {
        self.state.lock().unwrap().opened
    }
}

async fn serve_connection(
    mut stream: TcpStream,
    behavior: SseBehavior,
    state: Arc<Mutex<SseState>>,
    origin: String,
) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let seen = (request.method.clone(), request.target.clone(), request.headers.clone());
        state.lock().unwrap().requests.push(seen);
        match (request.method.as_str(), request.target.split_once("?id=")) {
            ("GET", _) => {
                let (sender, mut replies) = unbounded_channel();
                let id = {
                    let mut state = state.lock().unwrap();
                    state.opened += 1;
                    let id = state.opened;
                    state.streams.insert(id, sender);
                    id
                };
                let kind = behavior.content_type;
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n");
                let _ = stream.write_all(head.as_bytes()).await;
                let greeting = behavior.greeting.replace("{id}", &id.to_string());
                let greeting = greeting.replace("{origin}", &origin);
                let _ = stream.write_all(greeting.as_bytes()).await;
                while let Some(reply) = replies.recv().await {
                    let event = format!("event: message\r\ndata: {reply}\r\n\r\n: ping\n\n");
                    let _ = stream.write_all(event.as_bytes()).await;
                }
                let _ = stream.shutdown().await;
                return;
            }
            ("POST", Some((_, id))) => {
                let id: usize = id.parse().unwrap();
                let message: Value = serde_json::from_slice(&request.body).unwrap();
                let is_lost = state.lock().unwrap().lost.contains(&id);
                if is_lost {
                    send(&mut stream, "404 Not Found", "text/plain", "", "no session").await;
                    continue;
                }
                send(&mut stream, "202 Accepted", "text/plain", "", "Accepted").await;
                reply(&mut state.lock().unwrap(), id, &message);
            }
            ("POST", None) => {
                send(&mut stream, behavior.post_status, "text/plain", "", "no").await;
            }
            _ => send(&mut stream, "404 Not Found", "text/plain", "", "").await,
        }
    }
}

fn reply(state: &mut SseState, id: usize, message: &Value) {
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    state.methods.push(method.clone());
    let result = match method.as_str() {
        "initialize" => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
            "serverInfo": {"name": "far", "version": "1"}}),
        "tools/list" => {
            let names = ["echo", "drop", "lose", "slow", "sum"];
            let tools = names.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
            json!({ "tools": tools })
        }
        "tools/call" => match message["params"]["name"].as_str().unwrap() {
            "drop" => {
                state.streams.remove(&id);
                return;
            }
            "lose" => {
                state.lost.push(id);
                json!({"content": [{"type": "text", "text": "lost"}]})
            }
            "slow" => {
                let token = &message["params"]["_meta"]["progressToken"];
                let params = json!({"progressToken": token, "progress": 3});
                let progress =
                    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
                state.streams[&id].send(progress).unwrap();
                return;
            }
            "sum" => json!({"content": [{"type": "text", "text": "{\"result\": 3}"}],
                "structuredContent": {"result": 3}}),
            _ => {
                let text = message["params"]["arguments"].to_string();
                json!({"content": [{"type": "text", "text": text}]})
            }
        },
        _ => return,
    };
    let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    state.streams[&id].send(response).unwrap();
}

#[tokio::test]
async fn the_older_transport_is_used_if_it_is_named_or_the_only_one() {
    for status in ["405 Method Not Allowed", "404 Not Found", "400 Bad Request"] {
        let server = SseServer::start(SseBehavior { post_status: status, ..USUAL }).await;
        for configured in [server.explicit(), server.detected()] {
            let connected = connect(&configured, &McpEnvironment::default()).await.unwrap();
            assert_eq!(connected.tools().len(), 5, "{status}");
            assert_eq!(connected.notes(), [""; 0]);
            let result = describe(&call(&connected, "echo", json!({"a": 1})).await);
            assert_eq!(result, r#"Done: {"a":1}"#, "{status}");
            // Text and structure with the same content reach the model once.
            let sum = describe(&call(&connected, "sum", json!({})).await);
            assert_eq!(sum, r#"Done: {"result": 3}"#);
            connected.close().await;
        }
        assert_eq!(server.opened(), 2, "one stream for each connection");
        for (method, target, headers) in &server.state.lock().unwrap().requests {
            assert_eq!(headers["authorization"], "Bearer canary-canary", "{method} {target}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_is_opened_again_by_the_next_call() {
    let server = SseServer::start(USUAL).await;
    let connected = connect(&server.explicit(), &McpEnvironment::default()).await.unwrap();
    for (round, (lethal, expected)) in
        [("drop", "the connection was closed"), ("drop", "closed")].into_iter().enumerate()
    {
        let result = describe(&call(&connected, lethal, json!({})).await);
        assert!(result.starts_with("Failed: ") && result.contains(expected), "{result}");
        let result = describe(&call(&connected, "echo", json!({"b": 2})).await);
        assert_eq!(result, r#"Done: {"b":2}"#);
        assert_eq!(server.opened(), round + 2);
    }
}

#[tokio::test]
async fn a_lost_session_fails_one_call_and_is_opened_again() {
    let server = SseServer::start(USUAL).await;
    let connected = connect(&server.explicit(), &McpEnvironment::default()).await.unwrap();
    assert_eq!(describe(&call(&connected, "lose", json!({})).await), "Done: lost");
    let result = describe(&call(&connected, "echo", json!({})).await);
    assert!(result.starts_with("Failed: "), "{result}");
    for _ in 0..500 {
        let result = describe(&call(&connected, "echo", json!({})).await);
        if result == "Done: {}" {
            assert_eq!(server.opened(), 2);
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the session was never opened again");
}

#[tokio::test]
async fn a_stopped_call_is_cancelled_over_the_older_transport() {
    let server = SseServer::start(USUAL).await;
    let connected = connect(&server.explicit(), &McpEnvironment::default()).await.unwrap();
    let (slow, interrupt, output) = start_call(&connected, "slow", json!({}));
    wait_for_output(&output, "3").await;
    interrupt.raise(StopLevel::Graceful);
    assert_eq!(
        describe(&slow.await.unwrap()),
        "Stopped: the call was stopped before a result arrived"
    );
    for _ in 0..500 {
        let methods = server.state.lock().unwrap().methods.clone();
        if methods.iter().any(|method| method == "notifications/cancelled") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server was not told");
}

#[tokio::test]
async fn unusable_streams_are_reported() {
    let table = [
        (
            "event: endpoint\ndata: http://127.0.0.1:1/messages?id=1\n\n",
            "text/event-stream",
            "another host, port or scheme",
        ),
        (
            "event: endpoint\ndata: https://elsewhere.example/messages?id=1\n\n",
            "text/event-stream",
            "another host, port or scheme",
        ),
        ("data: {}\n\n", "text/event-stream", "does not begin with an `endpoint`"),
        ("<p>hello", "text/html", "there is no event stream at this address"),
    ];
    for (greeting, content_type, expected) in table {
        let server = SseServer::start(SseBehavior { greeting, content_type, ..USUAL }).await;
        let error = connect(&server.explicit(), &McpEnvironment::default()).await;
        let error = error.expect_err(greeting).to_string();
        assert!(error.starts_with("MCP server `far` cannot be started: "), "{error}");
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("canary"), "{error}");
        // Without a usable stream, the error is that of the first request.
        let error = connect(&server.detected(), &McpEnvironment::default()).await;
        let error = error.expect_err(greeting).to_string();
        assert!(error.contains("HTTP 405"), "{error}");
        let requests = &server.state.lock().unwrap().requests;
        let posts = requests.iter().filter(|(_, target, _)| target.contains("messages")).count();
        assert_eq!(posts, 0, "no message is sent to an address that is refused");
    }
}

#[tokio::test]
async fn a_silent_stream_is_reported_in_time() {
    let silent = SseBehavior { greeting: ": wait\n\n", ..USUAL };
    let server = SseServer::start(silent).await;
    let environment =
        McpEnvironment { start_timeout: Duration::from_secs(1), ..McpEnvironment::default() };
    let error = connect(&server.explicit(), &environment).await.expect_err("a silent stream");
    assert_eq!(error.to_string(), "MCP server `far` did not get ready within 1 s");
    let error = connect(&server.detected(), &environment).await.expect_err("a silent stream");
    assert!(error.to_string().contains("HTTP 405"), "{error}");
}

#[tokio::test]
async fn an_absolute_address_at_the_same_origin_is_accepted() {
    let greeting = "event: endpoint\ndata: {origin}/messages?id={id}\n\n";
    let server = SseServer::start(SseBehavior { greeting, ..USUAL }).await;
    let connected = connect(&server.detected(), &McpEnvironment::default()).await.unwrap();
    assert_eq!(describe(&call(&connected, "echo", json!({})).await), "Done: {}");
}
