//! Content is not stored by default. The owner of a run still receives it live.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{
    client::{Answer, get, post, rest, send},
    server::{Server, TOKEN, config},
};

const ADMIN: &str = "canary-token-bob";
const FORMATS: [&str; 4] = ["agui", "ai-sdk", "acp", "jsonl"];
const TIMEOUT: Duration = Duration::from_secs(60);

fn key(token: &str) -> String {
    format!("x-api-key: {token}\r\n")
}

async fn ask(to: SocketAddr, stream: bool, messages: &[Value]) -> Answer {
    let body = json!({
        "model": "scripted", "stream": stream, "messages": messages,
        "tools": [{"type": "function",
                   "function": {"name": "read", "parameters": {"type": "object"}}}],
    });
    let answer = send(to, post("/v1/chat/completions", &key(TOKEN), body.to_string())).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

/// Starts to follow a run and reads the response head.
async fn follow(to: SocketAddr, token: &str, run: &str, format: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.expect("somebody listens");
    let path = format!("/v1/runs/{run}/events?format={format}");
    stream.write_all(get(&path, &key(token)).as_bytes()).await.expect("it goes out");
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.expect("a head");
    assert_eq!(&first, b"HTTP/1.1 200", "{format}");
    stream
}

#[tokio::test]
async fn only_the_owner_of_a_run_receives_its_text_live() {
    let server = Server::start(config()).await;
    let to = server.address;
    for stream in [false, true] {
        let mut messages = vec![json!({"role": "user",
            "content": r#"call read with {"path":"canary-input"}"#})];
        let called = ask(to, stream, &messages).await;
        let run = called.header("x-foxwedge-run").to_owned();
        let mut followers = Vec::new();
        for format in FORMATS {
            for token in [TOKEN, ADMIN] {
                followers.push((format, token, follow(to, token, &run, format).await));
            }
        }
        let id = called.body.split("call_").nth(1).expect("a call");
        let id: String = id.chars().take_while(char::is_ascii_alphanumeric).collect();
        let id = format!("call_{id}");
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function",
             "function": {"name": "read", "arguments": r#"{"path":"canary-input"}"#}}]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "canary-answer"}));
        let last = ask(to, stream, &messages).await;
        assert_eq!(last.header("x-foxwedge-run"), run, "{last:?}");
        for (format, token, follower) in followers {
            let events = timeout(TIMEOUT, rest(follower)).await.expect("it ends").body;
            if token == TOKEN {
                assert!(events.contains("canary-input"), "{format}, {stream}: {events}");
                assert!(events.contains("The tool said: canary-answer"), "{format}: {events}");
                assert!(!events.contains("not recorded"), "{format}: {events}");
            } else {
                assert!(!events.contains("canary"), "{format}: {events}");
                assert!(events.contains("[28 characters, not recorded]"), "{format}: {events}");
            }
        }
        // A follower that reconnects gets the text; one that comes after the end does not.
        let path = format!("/v1/runs/{run}/events?format=jsonl");
        let resumed = send(to, get(&format!("{path}&after=1"), &key(TOKEN))).await;
        assert!(resumed.body.contains("The tool said: canary-answer"), "{}", resumed.body);
        let from_start = ["0", "0.0"].map(|position| format!("{path}&after={position}"));
        for path in from_start.into_iter().chain([path, format!("/v1/runs/{run}")]) {
            let late = send(to, get(&path, &key(TOKEN))).await;
            assert!(!late.body.contains("canary"), "{}", late.body);
            assert!(late.body.contains("[28 characters, not recorded]"), "{}", late.body);
        }
    }
    server.end().await;
}
