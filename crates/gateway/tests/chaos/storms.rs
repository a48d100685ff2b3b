//! Many clients at once, with an overloaded provider.

use tokio::{task::JoinSet, time::timeout};

use crate::{
    client::{Answer, post, send},
    stage::{ENDPOINTS, ScriptedServer, TIMEOUT, TestGateway, body},
};

const CLIENTS: usize = 200;

/// Sends many requests at once, alternating between the endpoints.
async fn storm(gateway: &TestGateway, model: &'static str) -> Vec<(&'static str, Answer)> {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (path, list) = ENDPOINTS[number % ENDPOINTS.len()];
        let stream = number.is_multiple_of(2);
        let request = post(path, "", body(list, model, stream));
        let to = gateway.address;
        clients.spawn(async move { (path, send(to, request).await) });
    }
    timeout(TIMEOUT, clients.join_all()).await.expect("everybody is answered")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_client_refused_once_gets_a_reply_after_a_retry() {
    let provider = ScriptedServer::start().await;
    let gateway = TestGateway::start(provider.address, "").await;
    for (path, answer) in storm(&gateway, "scripted?status=429&fail-first=1").await {
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(answer.body.contains("five"), "{path}: {answer:?}");
    }
    // Each request was retried exactly once.
    let retries = gateway.count("foxwedge_retries_total{upstream=\"scripted\"}").await;
    assert_eq!(retries, CLIENTS.to_string());
    gateway.end().await;
    provider.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn permanent_refusals_are_reported_and_the_retry_budget_limits_retries() {
    let provider = ScriptedServer::start().await;
    let gateway = TestGateway::start(provider.address, "").await;
    for (path, answer) in storm(&gateway, "chat-scripted?status=429&retry-after=0").await {
        assert_eq!((answer.status, answer.header("retry-after")), (429, "0"), "{path}: {answer:?}");
        assert_eq!(answer.header("x-should-retry"), "false", "{path}: {answer:?}");
        let kind = answer.json()["error"]["type"].clone();
        assert!(kind.is_string(), "{path}: {answer:?}");
    }
    let requests = "foxwedge_upstream_requests_total{upstream=\"chat\",status=\"4xx\"}";
    // The retry budget limits useless retries to a fifth of the requests.
    let requests: usize = gateway.count(requests).await.parse().expect("a number");
    assert!(requests > CLIENTS && requests <= CLIENTS + CLIENTS / 5, "{requests}");
    // A wait longer than clients accept is reported at once.
    for (path, answer) in storm(&gateway, "messages-scripted?status=429&retry-after=3600").await {
        assert_eq!((answer.status, answer.header("retry-after")), (429, "3600"), "{path}");
    }
    let requests = "foxwedge_upstream_requests_total{upstream=\"messages\",status=\"4xx\"}";
    assert_eq!(gateway.count(requests).await, CLIENTS.to_string());
    gateway.end().await;
    provider.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_provider_is_reported() {
    let provider = ScriptedServer::start().await;
    let address = provider.address;
    provider.end().await;
    let gateway = TestGateway::start(address, "").await;
    for (path, answer) in storm(&gateway, "gemini-scripted").await {
        assert_eq!(answer.status, 502, "{path}: {answer:?}");
        assert!(answer.json()["error"]["message"].is_string(), "{path}: {answer:?}");
    }
    gateway.end().await;
}
