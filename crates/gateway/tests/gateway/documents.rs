//! `/v1/check`, `/v1/fix`, `/v1/compact` and `/v1/convert`.

use serde_json::{Value, json};

use crate::{
    client::{Answer, get, post, send},
    server::{CHAT, Server, TOKEN, config},
};

/// A call without a result; numbers and escapes that must not change.
const BROKEN: &str = r#"{"model":"m", "temperature":1.50,"messages":[
  {"role":"user","content":"caf\u00e9"},
  {"role":"assistant","content":null,"tool_calls":[
    {"id":"call_1","type":"function","function":{"name":"read","arguments":"{}"}}]},
  {"role":"user","content":"canary-words"}]}"#;

async fn ask(server: &Server, path: &str, body: &str) -> Answer {
    send(server.address, post(path, &format!("x-api-key: {TOKEN}\r\n"), body)).await
}

#[tokio::test]
async fn a_document_is_checked_and_repaired() {
    let server = Server::start_default().await;
    let answer = ask(&server, "/v1/check", BROKEN).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    let checked = answer.json();
    assert_eq!(checked["report"]["findings"][0]["code"], "FW101", "{checked}");
    assert_eq!(checked["document"], Value::Null);

    let answer = ask(&server, "/v1/fix", BROKEN).await;
    assert_eq!(answer.json()["report"]["changed"], true);
    assert!(answer.body.contains(r#""temperature":1.50"#), "{}", answer.body);
    assert!(answer.body.contains(r#""content":"caf\u00e9""#), "{}", answer.body);
    let fixed = answer.json()["document"].to_string();
    let again = ask(&server, "/v1/fix", &fixed).await.json();
    assert_eq!((&again["report"]["valid"], &again["document"]), (&json!(true), &Value::Null));

    let answer = ask(&server, "/v1/check?ignore=FW101", BROKEN).await;
    assert_eq!(answer.json()["report"]["valid"], true);
    server.end().await;
}

#[tokio::test]
async fn a_session_file_comes_back_as_text() {
    let server = Server::start_default().await;
    let session = [
        r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","version":"1.0.99","message":{"role":"user","content":"hi"}}"#,
        r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}"#,
        r#"{"type":"user","uuid":"u2","parentUuid":"a1","sessionId":"s1","message":{"role":"user","content":"and?"}}"#,
        "",
    ];
    let fixed = ask(&server, "/v1/fix", &session.join("\n")).await.json();
    let text = fixed["document"].as_str().expect("a text");
    assert!(text.lines().count() > 3 && text.contains("t1"), "{text}");
    server.end().await;
}

#[tokio::test]
async fn a_document_is_converted_and_shortened() {
    let server = Server::start_default().await;
    let converted = ask(&server, "/v1/convert?to=anthropic&model=claude", BROKEN).await.json();
    assert_eq!(converted["document"]["model"], "claude", "{converted}");
    assert_eq!(converted["report"]["to"], "anthropic");
    let messages: Vec<Value> = (0..40)
        .map(|at| {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            json!({ "role": role, "content": "words ".repeat(50) })
        })
        .collect();
    let long = json!({ "model": "m", "messages": messages }).to_string();
    let compacted = ask(&server, "/v1/compact?maxTokens=1000", &long).await.json();
    assert_eq!(compacted["report"]["changed"], true, "{compacted}");
    assert!(compacted["report"]["tokensAfter"].as_u64() <= Some(1000));
    assert!(compacted["document"]["messages"].as_array().map_or(40, Vec::len) < 40);
    server.end().await;
}

#[tokio::test]
async fn a_wrong_option_or_document_is_an_error_in_the_gateways_form() {
    let server = Server::start_default().await;
    for (path, body, status, code) in [
        ("/v1/fix?colour=red", CHAT, 400, "invalid_options"),
        ("/v1/fix?unsafeFixes=yes", CHAT, 400, "invalid_options"),
        ("/v1/compact", CHAT, 400, "invalid_options"),
        ("/v1/convert?to=morse", CHAT, 400, "invalid_options"),
        ("/v1/fix?tail=dead&tail=pending", CHAT, 400, "bad_request"),
        ("/v1/fix?tail=%zz", CHAT, 400, "bad_request"),
        ("/v1/fix", "", 400, "bad_request"),
        ("/v1/fix", "canary-words", 422, "unknown_format"),
        (
            "/v1/convert?from=openai-chat&to=anthropic",
            "{\"messages\":[",
            422,
            "unreadable_document",
        ),
        ("/v1/fix/x", CHAT, 404, "not_found"),
        ("/v1/fixes", CHAT, 404, "not_found"),
    ] {
        let answer = ask(&server, path, body).await;
        let error = &answer.json()["error"];
        assert_eq!(
            (answer.status, error["code"].as_str()),
            (status, Some(code)),
            "{path}: {error}"
        );
        assert!(error["message"].is_string() && error["type"].is_string(), "{error}");
    }
    let answer = send(server.address, get("/v1/fix", &format!("x-api-key: {TOKEN}\r\n"))).await;
    assert_eq!(answer.status, 405);
    server.end().await;
}

#[tokio::test]
async fn a_document_needs_a_token_and_has_a_limit() {
    let mut config = config();
    config.limits.request_body = 1 << 10;
    let server = Server::start(config).await;
    assert_eq!(send(server.address, post("/v1/fix", "", BROKEN)).await.status, 401);
    let long = format!("{BROKEN}{}", " ".repeat(2 << 10));
    assert_eq!(ask(&server, "/v1/fix", &long).await.status, 413);
    server.end().await;
}

#[tokio::test]
async fn documents_are_counted_and_logged_without_their_content() {
    let server = Server::start_default().await;
    assert_eq!(ask(&server, "/v1/fix?language=zh", BROKEN).await.status, 200);
    let metrics = send(server.address, get("/metrics", &format!("x-api-key: {TOKEN}\r\n"))).await;
    assert!(metrics.body.contains("route=\"api\""), "{}", metrics.body);
    let (_, log) = server.end().await;
    assert!(log.contains("/v1/fix"), "{log}");
    assert!(!log.contains("canary-words") && !log.contains("language"), "{log}");
}
