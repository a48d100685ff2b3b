//! Replies: formats, ids, lists, and public pages.

use std::sync::Arc;

use foxwedge_core::Format;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::{
    client::{get, post, send},
    server::{CHAT, Server, TOKEN, config},
};

fn key() -> String {
    format!("x-api-key: {TOKEN}\r\n")
}

#[tokio::test]
async fn an_error_has_the_format_of_the_clients_provider() {
    let server = Server::start_default().await;
    let websocket = format!("{}upgrade: websocket\r\n", key());
    let gemini = "/v1beta/models/nothing:generateContent";
    let google = format!("{}x-goog-api-client: google-genai-sdk/3.1.0\r\n", key());
    let anthropic_key = format!("{}anthropic-version: 2023-06-01\r\n", key());
    let table = [
        (get("/v1/responses", &websocket), 426, "/error/code", "websocket_unsupported"),
        (get(gemini, &key()), 405, "/error/status", "NOT_FOUND"),
        (get(gemini, ""), 401, "/error/status", "UNAUTHENTICATED"),
        (get("/v1beta/models/nothing", &key()), 404, "/error/details/0/reason", "model_not_found"),
        (get("/v1/chat/completions", &key()), 405, "/error/type", "invalid_request_error"),
        (get("/v1/messages", &key()), 405, "/error/type", "invalid_request_error"),
        (get("/v1/messages/nothing", &key()), 404, "/error/type", "not_found_error"),
        (get("/v1/messages", ""), 401, "/error/type", "authentication_error"),
        (get("/v1/models", ""), 401, "/error/code", "invalid_api_key"),
        (get("/nothing", &key()), 404, "/error/code", "not_found"),
        (get("/v1beta/cachedContents", &key()), 404, "/error/status", "NOT_FOUND"),
        (get("/v1/skills", &google), 404, "/error/status", "NOT_FOUND"),
        (get("/v1/skills", &anthropic_key), 404, "/error/type", "not_found_error"),
        (get("/v1/files", &google), 404, "/error/status", "NOT_FOUND"),
        (get("/v1/models/nothing", &key()), 404, "/error/code", "model_not_found"),
    ];
    for (request, status, place, expected) in table {
        let answer = send(server.address, &request).await;
        assert_eq!(answer.status, status, "{request}");
        assert_eq!(answer.json().pointer(place), Some(&json!(expected)), "{}", answer.body);
        assert_eq!(answer.header("content-type"), "application/json");
    }
    let anthropic = send(server.address, get("/v1/messages", "x-request-id: r-1\r\n")).await;
    assert_eq!(anthropic.json()["type"], "error");
    assert_eq!(anthropic.json()["request_id"], "r-1");
    assert_eq!(anthropic.header("request-id"), "r-1");
    assert_eq!(anthropic.header("www-authenticate"), "bearer");
    server.end().await;
}

#[tokio::test]
async fn a_wrong_method_is_answered_with_the_right_ones() {
    let server = Server::start_default().await;
    let body = || post("/v1/models", &key(), "{}");
    let table = [
        (get("/v1/chat/completions", &key()).into_bytes(), "post"),
        (get("/v1/check", &key()).into_bytes(), "post"),
        (body(), "get, head"),
        (post("/v1/runs", &key(), "{}"), "get, head"),
        (post("/v1/console/feed", &key(), "{}"), "get, head"),
    ];
    for (request, allowed) in table {
        let answer = send(server.address, &request).await;
        assert_eq!((answer.status, answer.header("allow")), (405, allowed), "{answer:?}");
    }
    server.end().await;
}

#[tokio::test]
async fn every_reply_carries_the_id_of_its_request() {
    let server = Server::start_default().await;
    let own = send(server.address, get("/health", "x-request-id: my.id-7_a\r\n")).await;
    assert_eq!(own.header("x-request-id"), "my.id-7_a");
    for headers in ["", "x-request-id: a b\r\n", "x-request-id: ../../etc\r\n"] {
        let generated = send(server.address, get("/nothing", headers)).await;
        assert_eq!(generated.header("x-request-id").len(), 36, "{headers}");
    }
    let (_, log) = server.end().await;
    let ids: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["request.id"].clone())
        .collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(ids[0], "my.id-7_a");
}

#[tokio::test]
async fn models_are_listed_in_the_format_of_the_client() {
    let server = Server::start_default().await;
    let openai = send(server.address, get("/v1/models", &key())).await.json();
    assert_eq!(openai["object"], "list");
    let anthropic = format!("{}anthropic-version: 2023-06-01\r\n", key());
    let anthropic = send(server.address, get("/v1/models", &anthropic)).await.json();
    assert_eq!(anthropic["has_more"], false);
    let one = send(server.address, get("/v1/models/scripted", &key())).await.json();
    assert_eq!(one["id"], "scripted");
    for path in ["scripted/slash:tag", "scripted%2Fslash:tag", "scripted%2fslash%3Atag"] {
        let one = send(server.address, get(&format!("/v1/models/{path}"), &key())).await.json();
        assert_eq!(one["id"], "scripted/slash:tag", "{path}: {one}");
        let one = send(server.address, get(&format!("/v1beta/models/{path}"), &key())).await.json();
        assert_eq!(one["name"], "models/scripted/slash:tag", "{path}: {one}");
    }
    let google = format!("{}x-goog-api-client: google-genai-sdk/3.1.0\r\n", key());
    for (path, headers) in [("/v1/models", &google), ("/v1beta/models", &key())] {
        let gemini = send(server.address, get(path, headers)).await.json();
        assert!(gemini["models"].is_array(), "{path}: {gemini}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_request_is_served_logged_and_counted() {
    let server = Server::start_default().await;
    let answer = send(server.address, post("/v1/chat/completions", &key(), CHAT)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let metrics = send(server.address, get("/metrics", &key())).await;
    assert_eq!(metrics.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let line = r#"foxwedge_requests_total{route="chat",action="none"} 1"#;
    assert!(metrics.body.contains(line), "{}", metrics.body);
    assert!(metrics.body.contains("# TYPE foxwedge_requests_total counter\n"), "{}", metrics.body);
    assert!(!metrics.body.contains("# EOF"), "{}", metrics.body);
    let accept =
        format!("{}accept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n", key());
    let metrics = send(server.address, get("/metrics", &accept)).await;
    assert_eq!(
        metrics.header("content-type"),
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    assert!(metrics.body.contains("# TYPE foxwedge_requests counter\n"), "{}", metrics.body);
    assert!(metrics.body.ends_with("# EOF\n"), "{}", metrics.body);
    let (_, log) = server.end().await;
    let line: Value = serde_json::from_str(log.lines().next().expect("a line")).expect("an object");
    for (name, value) in [
        ("message", json!("request served")),
        ("level", json!("info")),
        ("method", json!("POST")),
        ("path", json!("/v1/chat/completions")),
        ("status", json!(200)),
        ("owner", json!("ann")),
        ("model", json!("scripted")),
        ("upstream", json!("scripted")),
        ("match", json!("new")),
        ("action", json!("none")),
        ("bytes.in", json!(CHAT.len())),
        ("bytes.out", json!(answer.body.len())),
        ("ended", Value::Null),
    ] {
        assert_eq!(line[name], value, "{name} in {line}");
    }
}

#[tokio::test]
async fn a_reply_without_a_guard_counts_as_failed_only_if_it_is_an_error() {
    let server = Server::start_default().await;
    for (path, status) in [("/v1/models", 200), ("/v1/models/nothing", 404), ("/v1/runs", 200)] {
        assert_eq!(send(server.address, get(path, &key())).await.status, status, "{path}");
    }
    let metrics = send(server.address, get("/metrics", &key())).await;
    for line in [
        r#"foxwedge_requests_total{route="models",action="none"} 1"#,
        r#"foxwedge_requests_total{route="models",action="failed"} 1"#,
        r#"foxwedge_requests_total{route="api",action="none"} 1"#,
        r#"foxwedge_requests_total{route="api",action="failed"} 0"#,
    ] {
        assert!(metrics.body.lines().any(|other| other == line), "{line}: {}", metrics.body);
    }
    server.end().await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_logged_as_an_error() {
    let mut config = config();
    config.limits.stream_event = 64 << 10;
    // Messages are converted.
    let mut upstream = (*config.upstreams[0]).clone();
    upstream.formats = vec![Format::OpenaiChat];
    let upstream = Arc::new(upstream);
    let mut route = (*config.routes[0]).clone();
    route.upstream = upstream.clone();
    (config.upstreams, config.routes) = (vec![upstream], vec![Arc::new(route)]);
    let server = Server::start(config).await;
    let mut expected = Vec::new();
    for path in ["/v1/chat/completions", "/v1/messages"] {
        for (fault, is_broken) in
            [("cut=3", true), ("malformed", true), ("long-line=300000", true), ("pace=0", false)]
        {
            let body = json!({
                "model": format!("scripted?{fault}"), "stream": true, "max_tokens": 100,
                "messages": [{ "role": "user", "content": "one two three four five" }],
            });
            let answer = send(server.address, post(path, &key(), body.to_string())).await;
            assert_eq!(answer.status, 200, "{path} {fault}: {}", answer.body);
            expected.push((path, fault, is_broken));
        }
    }
    let (_, log) = server.end().await;
    assert_eq!(log.lines().count(), expected.len(), "{log}");
    for (line, (path, fault, is_broken)) in log.lines().zip(expected) {
        let line: Value = serde_json::from_str(line).expect("an object");
        let (level, ended) =
            if is_broken { ("error", json!("broken")) } else { ("info", json!(null)) };
        let found = (&line["level"], &line["status"], &line["ended"], line["error"].is_string());
        let wanted = (&json!(level), &json!(200), &ended, is_broken);
        assert_eq!(found, wanted, "{path} {fault}: {line}");
        assert!(fault != "cut=3" || line["error"] == "upstream_cut", "{path} {fault}: {line}");
    }
}

#[tokio::test]
async fn health_reports_only_that_the_gateway_runs() {
    let server = Server::start_default().await;
    for path in ["/health", "/liveness", "/readiness", "/health/liveness", "/health/readiness"] {
        let answer = send(server.address, get(path, "")).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"status":"ok"}"#), "{path}");
    }
    server.end().await;
}

#[tokio::test]
async fn the_page_may_load_nothing_and_cannot_be_framed() {
    let server = Server::start_default().await;
    for path in ["/", "/ui"] {
        let answer = send(server.address, get(path, "")).await;
        assert_eq!(answer.status, 200);
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
    }
    server.end().await;
}

#[tokio::test]
async fn an_owner_with_too_many_requests_in_flight_gets_retry_after() {
    let mut config = config();
    config.limits.requests_per_owner = 1;
    let server = Server::start(config).await;
    let slow = CHAT.replace("scripted", "scripted?delay=600000");
    let mut first = TcpStream::connect(server.address).await.expect("somebody listens");
    first.write_all(&post("/v1/chat/completions", &key(), slow)).await.expect("it goes out");
    // The first request is in flight when the second one is refused.
    let refused = loop {
        let answer = send(server.address, get("/v1/models", &key())).await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!((refused.status, refused.header("retry-after")), (429, "1"));
    let other = "x-api-key: canary-token-bob\r\n";
    assert_eq!(send(server.address, get("/v1/models", other)).await.status, 200);
    drop(first);
    // Its place is free again when it has ended.
    while send(server.address, get("/v1/models", &key())).await.status != 200 {}
    server.end().await;
}

#[tokio::test]
async fn replies_that_need_a_token_are_not_cached() {
    let server = Server::start_default().await;
    let private_paths = [
        "/v1/sessions",
        "/v1/runs",
        "/v1/repairs",
        "/v1/models",
        "/v1/console/sessions",
        "/v1/console/feed",
        "/v1/sessions/nothing",
        "/metrics",
    ];
    for path in private_paths {
        for headers in [key(), String::new()] {
            let answer = send(server.address, get(path, &headers)).await;
            assert_eq!(answer.header("cache-control"), "no-store", "{path}: {answer:?}");
        }
    }
    let reply = send(server.address, post("/v1/chat/completions", &key(), CHAT)).await;
    assert_eq!((reply.status, reply.header("cache-control")), (200, "no-store"));
    let run = reply.header("x-foxwedge-run").to_owned();
    let events = format!("/v1/runs/{run}/events?format=jsonl");
    let events = send(server.address, get(&events, &key())).await;
    assert!(["no-store", "no-cache"].contains(&events.header("cache-control")), "{events:?}");
    server.end().await;
}

#[tokio::test]
async fn geminis_paths_name_the_model_and_the_form_of_the_reply() {
    let server = Server::start_default().await;
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}).to_string();
    let path = |method: &str| format!("/v1beta/models/s%63ripted:{method}");
    let whole = send(server.address, post(&path("generateContent"), &key(), &body)).await;
    assert_eq!(whole.status, 200, "{}", whole.body);
    assert_eq!(whole.json()["candidates"][0]["finishReason"], "STOP");
    let escaped = "/v1beta/models/s%63ripted%3AgenerateContent";
    let whole = send(server.address, post(escaped, &key(), &body)).await;
    assert_eq!(whole.json()["candidates"][0]["finishReason"], "STOP", "{}", whole.body);
    for method in ["tuneContent", "nope", ""] {
        let unknown = send(server.address, post(&path(method), &key(), &body)).await;
        assert_eq!((unknown.status, unknown.header("allow")), (404, ""), "{}", unknown.body);
        let error = &unknown.json()["error"];
        assert_eq!((&error["code"], &error["status"]), (&json!(404), &json!("NOT_FOUND")));
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("generateContent, streamGenerateContent"), "{message}");
    }
    let stream = path("streamGenerateContent");
    let events = send(server.address, post(&format!("{stream}?alt=sse"), &key(), &body)).await;
    assert_eq!(events.status, 200, "{}", events.body);
    assert!(events.header("content-type").starts_with("text/event-stream"));
    assert!(events.body.contains("\"finishReason\":\"STOP\""), "{}", events.body);
    let list = send(server.address, post(&stream, &key(), &body)).await;
    assert_eq!(list.status, 400);
    let message = list.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("?alt=sse"), "{message}");
    server.end().await;
}
