//! Planted secrets, in every place where a client can put one, are found nowhere afterwards.

use crate::{
    client::{get, post, send},
    server::{Server, TOKEN},
};

/// Every planted value has this in it; so have the tokens.
const CANARY: &str = "canary";

#[tokio::test]
async fn no_secret_and_no_content_gets_into_logs_metrics_or_errors() {
    let server = Server::usual().await;
    let said = r#"{"model":"scripted","messages":[{"role":"user","content":"canary-content"}]}"#;
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
        send(server.address, post(&path, &own, said)).await;
        errors.push(send(server.address, post(&path, &own, wrong)).await);
        errors.push(send(server.address, post(&path, &own, unknown)).await);
        errors.push(send(server.address, post(&path, bad, said)).await);
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
