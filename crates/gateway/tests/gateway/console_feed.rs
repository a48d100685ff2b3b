//! The request feed and the counts per minute, and who may see them.

use std::net::SocketAddr;

use foxwedge_gateway::config::ContentRecording;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    client::{Answer, get, post, send},
    server::{CHAT, Server, TOKEN, config},
};

const ADMIN: &str = "canary-token-bob";

/// A history that ends with a tool call without a result.
const BROKEN: &str = r#"{"model":"scripted","messages":[
    {"role":"user","content":"hello"},
    {"role":"assistant","content":null,"tool_calls":[
        {"id":"call_1","type":"function","function":{"name":"read","arguments":"{}"}}]},
    {"role":"user","content":"canary-words"}],
    "tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]}"#;

async fn fetch(to: SocketAddr, token: &str, path: &str) -> Answer {
    send(to, get(path, &format!("x-api-key: {token}\r\n"))).await
}

async fn fetch_json(to: SocketAddr, token: &str, path: &str) -> Value {
    let answer = fetch(to, token, path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()
}

async fn chat(to: SocketAddr, token: &str, body: &str) -> Answer {
    send(to, post("/v1/chat/completions", &format!("x-api-key: {token}\r\n"), body)).await
}

/// The rows of the feed. A request may appear a moment after its last byte.
async fn rows(to: SocketAddr, token: &str, query: &str, min: usize) -> Vec<Value> {
    for _ in 0..200 {
        let page = fetch_json(to, token, &format!("/v1/console/feed?{query}")).await;
        let rows = page["data"].as_array().expect("rows").clone();
        if rows.len() >= min {
            return rows;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("there are not {min} rows");
}

#[tokio::test]
async fn every_request_appears_once_for_callers_who_may_see_it() {
    let server = Server::start_default().await;
    let to = server.address;
    assert_eq!(chat(to, TOKEN, CHAT).await.status, 200);
    assert_eq!(chat(to, ADMIN, BROKEN).await.status, 200);
    assert_eq!(chat(to, TOKEN, r#"{"model":"nobody","messages":[]}"#).await.status, 404);
    assert_eq!(chat(to, "wrong", CHAT).await.status, 401);
    let all = rows(to, ADMIN, "", 3).await;
    // Requests without a token do not appear, nor do requests to the console.
    assert_eq!(all.len(), 3);
    let describe = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", text("owner"), row["status"], text("action"), row["findings"])
    };
    assert_eq!(
        all.iter().map(describe).collect::<Vec<_>>(),
        ["ann 404 failed {}", "bob 200 fixed {\"FW101\":1}", "ann 200 none {}"]
    );
    let fixed = &all[1];
    assert_eq!((&fixed["face"], &fixed["upstream"]), (&json!("chat"), &json!("scripted")));
    assert_eq!((&fixed["match"], &fixed["ended"]), (&json!("new"), &json!("whole")));
    assert!(fixed["ms"].as_f64() >= fixed["first_ms"].as_f64());
    assert_eq!(fixed["bytes_in"], BROKEN.len());
    let repair = fixed["repair"].as_str().expect("a repair");
    assert_eq!(fetch_json(to, ADMIN, &format!("/v1/repairs/{repair}")).await["action"], "fixed");
    // Content is not recorded by default.
    let id = fixed["id"].as_str().expect("an id");
    let detail = fetch_json(to, ADMIN, &format!("/v1/console/feed/{id}")).await;
    assert_eq!(
        (detail["changes"].as_array().map(Vec::len), &detail["body_before"], &detail["rows"]),
        (Some(1), &Value::Null, &Value::Null)
    );
    // Users see their own requests.
    assert_eq!(rows(to, TOKEN, "", 2).await.len(), 2);
    assert_eq!(fetch(to, TOKEN, &format!("/v1/console/feed/{id}")).await.status, 404);
    for (query, expected) in [
        ("action=fixed", 1),
        ("rule=FW101", 1),
        ("status=4xx", 1),
        ("status=404", 1),
        ("status=2xx", 2),
        ("face=chat", 3),
        ("face=messages", 0),
        ("model=scripted", 2),
        ("upstream=scripted", 2),
        ("q=SCRIPTED", 2),
        ("limit=1", 1),
    ] {
        assert_eq!(rows(to, ADMIN, query, expected).await.len(), expected, "{query}");
    }
    for odd in ["status=9xx", "status=x", "action=x", "rule=x", "after=x", "after=p-1", "limit=0"] {
        let status = fetch(to, ADMIN, &format!("/v1/console/feed?{odd}")).await.status;
        assert!([400, 404].contains(&status), "{odd}: {status}");
    }
    for odd in ["q-", "q-x", "q-1", "x", "q-99999999999999999999999"] {
        assert_eq!(fetch(to, ADMIN, &format!("/v1/console/feed/{odd}")).await.status, 404, "{odd}");
    }
    // Page by page.
    let first = fetch_json(to, ADMIN, "/v1/console/feed?limit=2").await;
    let next = first["next"].as_str().expect("more");
    let second = fetch_json(to, ADMIN, &format!("/v1/console/feed?limit=2&after={next}")).await;
    assert_eq!((&second["data"][0]["id"], &second["next"]), (&all[2]["id"], &Value::Null));
    let series = fetch_json(to, TOKEN, "/v1/console/series").await;
    assert_eq!(series["total"]["requests"], 3);
    assert_eq!(series["total"]["status"], json!({ "2xx": 2, "4xx": 1 }));
    assert_eq!(series["total"]["findings"], json!({ "FW101": 1 }));
    assert_eq!(series["total"]["repairs"], json!({ "FW101": 1 }));
    assert!(series["total"]["ms"]["p99"].as_f64() >= series["total"]["ms"]["p50"].as_f64());
    assert_eq!(fetch(to, ADMIN, "/v1/console/series?minutes=0").await.status, 400);
    server.end().await;
}

#[tokio::test]
async fn request_and_reply_bodies_are_shown_if_recorded() {
    let mut config = config();
    config.record.store_content = ContentRecording::Stored;
    let server = Server::start(config).await;
    let to = server.address;
    assert_eq!(chat(to, ADMIN, BROKEN).await.status, 200);
    let row = rows(to, ADMIN, "", 1).await.remove(0);
    let id = row["id"].as_str().expect("an id");
    let detail = fetch_json(to, ADMIN, &format!("/v1/console/feed/{id}")).await;
    assert_eq!(detail["body_before"], BROKEN);
    assert!(detail["body_after"].as_str().is_some_and(|body| body.contains("\"tool\"")));
    // The messages before and after, with the edit at the one that is new.
    let kinds: Vec<&Value> =
        detail["rows"].as_array().into_iter().flatten().map(|row| &row["kind"]).collect();
    assert_eq!(kinds, ["gap", "kept", "added", "kept"]);
    assert_eq!(detail["rows"][2]["edits"], json!([0]));
    server.end().await;
}

/// Reads until the received text contains `wanted`.
async fn until(stream: &mut TcpStream, received: &mut String, wanted: &str) {
    while !received.contains(wanted) {
        let mut chunk = [0; 4096];
        let read = stream.read(&mut chunk).await.expect("it goes on");
        assert!(read > 0, "it ended without `{wanted}`: {received}");
        received.push_str(&String::from_utf8_lossy(&chunk[..read]));
    }
}

async fn follow(to: SocketAddr, token: &str, query: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(to).await.expect("somebody listens");
    let text = get(&format!("/v1/console/feed/events?{query}"), &format!("x-api-key: {token}\r\n"));
    stream.write_all(text.as_bytes()).await.expect("it goes out");
    let mut received = String::new();
    until(&mut stream, &mut received, "\r\n\r\n").await;
    assert!(received.contains("text/event-stream"), "{received}");
    (stream, received)
}

#[tokio::test]
async fn finished_requests_are_streamed_from_any_position() {
    let server = Server::start_default().await;
    let to = server.address;
    chat(to, ADMIN, CHAT).await;
    let before = rows(to, ADMIN, "", 1).await.remove(0);
    let (mut admin, mut received) = follow(to, ADMIN, "").await;
    let (mut user, mut user_received) = follow(to, TOKEN, "").await;
    chat(to, ADMIN, BROKEN).await;
    chat(to, TOKEN, CHAT).await;
    until(&mut admin, &mut received, "\"owner\":\"ann\"").await;
    assert!(
        received.contains("event: request\n") && received.contains("\"action\":\"fixed\""),
        "{received}"
    );
    assert_eq!(received.matches("event: request").count(), 2, "only what came since: {received}");
    until(&mut user, &mut user_received, "\"owner\":\"ann\"").await;
    assert!(!user_received.contains("\"owner\":\"bob\""), "{user_received}");
    // A client that reconnects gets the requests in between.
    let id = before["id"].as_str().expect("an id");
    let (mut back, mut received) = follow(to, ADMIN, &format!("after={id}")).await;
    until(&mut back, &mut received, "\"owner\":\"ann\"").await;
    assert_eq!(received.matches("event: request").count(), 2, "{received}");
    assert!(!received.contains("missed"), "{received}");
    // Filters apply here, too.
    let (mut some, mut received) = follow(to, ADMIN, &format!("after={id}&action=none")).await;
    until(&mut some, &mut received, "event: request").await;
    assert!(!received.contains("\"action\":\"fixed\""), "{received}");
    assert_eq!(fetch(to, ADMIN, "/v1/console/feed/events?after=x").await.status, 400);
    // Shutdown cuts the stream.
    let ended = server.stop();
    let mut rest = Vec::new();
    let _ = admin.read_to_end(&mut rest).await;
    ended.await.expect("it ends");
}

#[tokio::test]
async fn memory_is_bounded_and_missed_rows_are_reported() {
    let server = Server::start_default().await;
    let to = server.address;
    chat(to, ADMIN, CHAT).await;
    let first = rows(to, ADMIN, "", 1).await.remove(0);
    let mut stream = TcpStream::connect(to).await.expect("somebody listens");
    // More than are kept, over one connection, with long names.
    let name = "scripted".to_owned() + &"x".repeat(3_000);
    let body =
        json!({ "model": name, "messages": [{ "role": "user", "content": "hi" }] }).to_string();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nx-api-key: {ADMIN}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (mut reader, mut writer) = stream.split();
    let write = async {
        for _ in 1..2_100 {
            writer.write_all(request.as_bytes()).await.expect("it goes out");
        }
        let last = request.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        writer.write_all(last.as_bytes()).await.expect("that was all");
    };
    let read = async {
        let mut received = Vec::new();
        reader.read_to_end(&mut received).await.expect("replies");
        String::from_utf8_lossy(&received).matches("HTTP/1.1 200").count()
    };
    let ((), replies) = tokio::join!(write, read);
    assert_eq!(replies, 2_100);
    let page = fetch_json(to, ADMIN, "/v1/console/feed?limit=1000").await;
    let model = page["data"][0]["model"].as_str().expect("a model");
    assert!(model.len() < 200, "{}", model.len());
    let id = first["id"].as_str().expect("an id");
    assert_eq!(fetch(to, ADMIN, &format!("/v1/console/feed/{id}")).await.status, 404);
    let (mut stream, mut received) = follow(to, ADMIN, &format!("after={id}")).await;
    until(&mut stream, &mut received, "event: missed").await;
    server.end().await;
}

#[tokio::test]
async fn an_upstream_error_is_not_counted_as_passed() {
    let server = Server::start_default().await;
    let to = server.address;
    for status in ["429", "500", "503"] {
        let body = CHAT.replace("scripted", &format!("scripted?status={status}"));
        assert_eq!(chat(to, TOKEN, &body).await.status.to_string(), status);
    }
    assert_eq!(chat(to, TOKEN, CHAT).await.status, 200);
    let all = rows(to, TOKEN, "", 4).await;
    let describe = |row: &Value| format!("{} {} {}", row["status"], row["action"], row["error"]);
    assert_eq!(
        all.iter().map(describe).collect::<Vec<_>>(),
        [
            "200 \"none\" null",
            "503 \"failed\" \"upstream\"",
            "500 \"failed\" \"upstream\"",
            "429 \"failed\" \"upstream\"",
        ]
    );
    server.end().await;
}
