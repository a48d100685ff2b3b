//! Secrets planted everywhere a client can put one must not appear in logs, metrics or errors.

use crate::{
    client::{get, post, send},
    server::{Server, TOKEN},
};

/// Part of every planted value and of the tokens.
const CANARY: &str = "canary";

#[tokio::test]
async fn no_secret_and_no_content_gets_into_logs_metrics_or_errors() {
    let server = Server::start_default().await;
    let body = r#"{"model":"scripted","messages":[{"role":"user","content":"canary-content"}]}"#;
    let wrong = r#"{"model":"scripted","messages":[{"role":"canary-role"#;
    let unknown = r#"{"model":"nothing","messages":[{"role":"user","content":"canary-content"}]}"#;
    let own = format!(
        "x-foxwedge-token: {TOKEN}\r\nauthorization: Bearer sk-canary-own\r\n\
         cookie: session=canary-cookie\r\nproxy-authorization: Basic canary-proxy\r\n\
         x-unknown: canary-header\r\n"
    );
    let bad = "authorization: Bearer canary-wrong\r\nx-api-key: canary-wrong\r\n";
    let mut errors = Vec::new();
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
        let path = format!("{path}?key=canary-query");
        send(server.address, post(&path, &own, body)).await;
        errors.push(send(server.address, post(&path, &own, wrong)).await);
        errors.push(send(server.address, post(&path, &own, unknown)).await);
        errors.push(send(server.address, post(&path, bad, body)).await);
        errors.push(
            send(server.address, post(&path, &format!("{own}x-base-url: canary\r\n"), "")).await,
        );
    }
    errors.push(send(server.address, get("/canary-path/sk-canary", &own)).await);
    errors.push(send(server.address, get("/v1/models/canary-model", &own)).await);
    errors.push(send(server.address, get("/health", "origin: https://canary.example\r\n")).await);
    errors.push(send(server.address, get("/v1/runs/canary-run", &own)).await);
    let metrics = send(server.address, get("/metrics", &own)).await;
    assert_eq!(metrics.status, 200);
    assert!(!metrics.body.contains(CANARY), "{}", metrics.body);
    for error in errors {
        assert!(error.status >= 400, "{error:?}");
        assert!(!error.head.contains(CANARY) && !error.body.contains(CANARY), "{error:?}");
    }
    let (_, log) = server.end().await;
    assert!(log.lines().count() >= 19, "{log}");
    assert!(!log.contains(CANARY), "{log}");
}
