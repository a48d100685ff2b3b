//! Requests on connections that an earlier request has left open.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use foxwedge_upstream::{SecretText, model::ModelEndpoint};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::conversation::Conversation;

/// A server that keeps connections open. It replies to the first requests, and closes the
/// connection of every later one after it has read the request.
struct FailingServer {
    url: String,
    /// Requests that were read to their end.
    requests: Arc<AtomicUsize>,
}

impl FailingServer {
    async fn start(replies: usize) -> FailingServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(AtomicUsize::new(0));
        let seen = requests.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                tokio::spawn(serve(stream, seen.clone(), replies));
            }
        });
        FailingServer { url, requests }
    }

    fn endpoint(&self, attempts: u32) -> ModelEndpoint {
        let key = Some(SecretText::new("sk-canary"));
        let endpoint = ModelEndpoint::openai(&format!("{}/v1", self.url), key, "m");
        endpoint.expect("an endpoint").with_attempts(attempts)
    }
}

/// Serves one connection.
async fn serve(mut stream: TcpStream, requests: Arc<AtomicUsize>, replies: usize) {
    let message = json!({"role": "assistant", "content": "ok"});
    let body = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    .to_string();
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.and_then(|length| length.parse().ok()).unwrap_or(0) {
                if requests.fetch_add(1, Ordering::SeqCst) >= replies {
                    return;
                }
                stream.write_all(reply.as_bytes()).await.expect("written");
                bytes.clear();
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    }
}

#[tokio::test]
async fn a_request_whose_connections_break_reaches_the_upstream_once_for_each_attempt() {
    for attempts in [1, 3] {
        let server = FailingServer::start(1).await;
        let mut conversation = Conversation::new(server.endpoint(attempts));
        conversation.add_prompt("Look.");
        assert_eq!(conversation.turn().await.text(), "ok");
        conversation.add_prompt("Look again.");
        let reply = conversation.turn().await;
        assert_eq!(reply.code(), "upstream_unreachable", "{attempts}: {reply:?}");
        let attempts = usize::try_from(attempts).expect("a number");
        assert_eq!(reply.retries(), attempts - 1, "{attempts}: {reply:?}");
        let seen = server.requests.load(Ordering::SeqCst);
        assert_eq!(seen, 1 + attempts, "{attempts}");
    }
}
