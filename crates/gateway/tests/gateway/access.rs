//! Access rules, one test per rule.

use crate::{
    client::{Answer, get, post, send},
    server::{CHAT, Server, TOKEN, config},
};

/// Every route: method, path, and whether it needs a token.
const ROUTES: [(&str, &str, bool); 20] = [
    ("POST", "/v1/chat/completions", true),
    ("POST", "/v1/responses", true),
    ("POST", "/v1/messages", true),
    ("POST", "/v1/messages/count_tokens", true),
    ("GET", "/v1/models", true),
    ("GET", "/v1/sessions", true),
    ("GET", "/v1/runs", true),
    ("GET", "/v1/repairs", true),
    ("POST", "/v1/runs/x/stop", true),
    ("POST", "/v1/check", true),
    ("POST", "/v1/fix", true),
    ("POST", "/v1/compact", true),
    ("POST", "/v1/convert", true),
    ("GET", "/metrics", true),
    ("GET", "/nowhere", true),
    ("GET", "/health", false),
    ("GET", "/health/liveness", false),
    ("GET", "/health/readiness", false),
    ("GET", "/openapi.json", false),
    ("GET", "/", false),
];

async fn ask(server: &Server, method: &str, path: &str, headers: &str) -> Answer {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: 0\r\n{headers}\r\n"
    );
    send(server.address, request).await
}

#[tokio::test]
async fn an_unknown_host_is_refused_on_every_route() {
    let server = Server::start_default().await;
    for (method, path, _) in ROUTES {
        let headers = format!("host: evil.example\r\nx-api-key: {TOKEN}\r\n");
        let answer = ask(&server, method, path, &headers).await;
        assert_eq!(answer.status, 403, "{method} {path}");
        assert!(answer.body.contains("host_not_allowed"), "{}", answer.body);
        let answer = ask(&server, method, path, "").await;
        assert_eq!(answer.status, 400, "{method} {path} without a host");
    }
    let answer = ask(&server, "GET", "/health", "host: gate.example\r\n").await;
    assert_eq!(answer.status, 200);
    server.end().await;
}

#[tokio::test]
async fn a_web_page_of_another_origin_is_refused_on_every_route() {
    let server = Server::start_default().await;
    for (method, path, _) in ROUTES {
        for origin in ["https://evil.example", "null", "http://localhost:3000"] {
            let headers = format!("host: localhost\r\norigin: {origin}\r\nx-api-key: {TOKEN}\r\n");
            let answer = ask(&server, method, path, &headers).await;
            assert_eq!(answer.status, 403, "{method} {path} {origin}");
            assert_eq!(answer.header("access-control-allow-origin"), "");
        }
    }
    let page = "host: localhost\r\norigin: https://evil.example\r\n\
                access-control-request-method: POST\r\n";
    assert_eq!(ask(&server, "OPTIONS", "/v1/messages", page).await.status, 403);
    server.end().await;
}

#[tokio::test]
async fn a_listed_origin_gets_cors_headers_without_wildcards() {
    let server = Server::start_default().await;
    let page = "host: localhost\r\norigin: https://app.example\r\n\
                access-control-request-method: POST\r\n\
                access-control-request-headers: authorization, content-type\r\n";
    let answer = ask(&server, "OPTIONS", "/v1/messages", page).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), "https://app.example");
    assert_eq!(answer.header("access-control-allow-headers"), "authorization, content-type");
    assert_eq!(answer.header("vary"), "origin");
    assert!(!answer.head.contains('*'), "{}", answer.head);
    let headers =
        format!("host: localhost\r\norigin: https://app.example\r\nx-api-key: {TOKEN}\r\n");
    let answer = ask(&server, "GET", "/v1/models", &headers).await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (200, "https://app.example")
    );
    let exposed: Vec<&str> = answer.header("access-control-expose-headers").split(", ").collect();
    for name in [
        "x-request-id",
        "request-id",
        "x-upstream-request-id",
        "x-foxwedge-action",
        "x-foxwedge-findings",
        "x-foxwedge-session",
        "x-foxwedge-match",
        "x-foxwedge-run",
        "x-foxwedge-compacted",
        "x-foxwedge-losses",
        "x-foxwedge-fallback",
        "x-foxwedge-replayed",
        "x-foxwedge-ignored-results",
        "x-should-retry",
        "retry-after",
        "retry-after-ms",
    ] {
        assert!(exposed.contains(&name), "{name}: {exposed:?}");
    }
    // Pages of the gateway itself need no CORS headers; other origins get none.
    let own = ask(&server, "GET", "/health", "host: localhost:1\r\norigin: http://localhost:1\r\n");
    let own = own.await;
    assert_eq!((own.status, own.header("access-control-allow-origin")), (200, ""));
    server.end().await;
}

#[tokio::test]
async fn without_a_valid_token_nothing_but_health_and_the_page_is_open() {
    let server = Server::start_default().await;
    for (method, path, needs) in ROUTES {
        for token in ["", "x-api-key: wrong\r\n", "authorization: Basic YW5uOmFubg==\r\n"] {
            let answer = ask(&server, method, path, &format!("host: localhost\r\n{token}")).await;
            assert_eq!(answer.status == 401, needs, "{method} {path} {token} {answer:?}");
        }
    }
    server.end().await;
}

#[tokio::test]
async fn a_token_is_accepted_in_the_usual_headers_and_not_in_the_url() {
    let server = Server::start_default().await;
    for (header, status) in [
        (format!("authorization: Bearer {TOKEN}\r\n"), 200),
        (format!("x-api-key: {TOKEN}\r\n"), 200),
        (format!("x-goog-api-key: {TOKEN}\r\n"), 200),
        (format!("x-foxwedge-token: {TOKEN}\r\nauthorization: Bearer sk-mine\r\n"), 200),
        (format!("x-foxwedge-token: wrong\r\nx-api-key: {TOKEN}\r\n"), 401),
        (format!("cookie: token={TOKEN}\r\n"), 401),
        (format!("x-api-key: {}\r\n", "k".repeat(10_000)), 401),
    ] {
        let answer = send(server.address, get("/v1/models", &header)).await;
        assert_eq!(answer.status, status, "{header}");
    }
    for query in ["token", "key", "api_key", "access_token", "x-api-key"] {
        let path = format!("/v1/models?{query}={TOKEN}");
        assert_eq!(send(server.address, get(&path, "")).await.status, 401, "{query}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_header_that_would_choose_an_upstream_is_refused() {
    let server = Server::start_default().await;
    for name in ["x-portkey-custom-host", "x-litellm-api-base", "x-base-url", "api-base"] {
        let headers = format!("x-api-key: {TOKEN}\r\n{name}: http://169.254.169.254\r\n");
        let answer = send(server.address, post("/v1/chat/completions", &headers, CHAT)).await;
        assert_eq!(answer.status, 400, "{name}");
        assert!(answer.body.contains(name), "{}", answer.body);
    }
    server.end().await;
}

#[tokio::test]
async fn without_tokens_every_local_caller_is_the_owner_local() {
    let mut config = config();
    config.access.tokens.clear();
    let server = Server::start(config).await;
    for path in ["/v1/models", "/metrics", "/health"] {
        assert_eq!(send(server.address, get(path, "")).await.status, 200, "{path}");
    }
    let answer = send(server.address, get("/v1/models", "host: evil.example\r\n")).await;
    assert_eq!(answer.status, 400, "two hosts");
    let evil = "GET /v1/models HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    assert_eq!(send(server.address, evil).await.status, 403);
    server.end().await;
}

#[tokio::test]
async fn proxy_requests_are_refused() {
    let server = Server::start_default().await;
    let close = "connection: close\r\n";
    for (request, status) in [
        (format!("GET http://localhost/health HTTP/1.1\r\nhost: localhost\r\n{close}\r\n"), 200),
        (format!("GET http://evil.example/health HTTP/1.1\r\nhost: localhost\r\n{close}\r\n"), 403),
        (
            format!("CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n{close}\r\n"),
            403,
        ),
        (format!("CONNECT localhost:443 HTTP/1.1\r\nhost: localhost:443\r\n{close}\r\n"), 401),
        (format!("OPTIONS * HTTP/1.1\r\nhost: localhost\r\n{close}\r\n"), 204),
        (format!("HEAD /health HTTP/1.1\r\nhost: localhost\r\n{close}\r\n"), 200),
        ("GET /health HTTP/1.0\r\nhost: localhost\r\n\r\n".to_owned(), 200),
        ("GET /health HTTP/1.0\r\n\r\n".to_owned(), 400),
        ("NONSENSE\r\n\r\n".to_owned(), 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 0),
    ] {
        assert_eq!(send(server.address, &request).await.status, status, "{request}");
    }
    server.end().await;
}
