//! Many clients at once, and a provider that has too much to do.

use tokio::{task::JoinSet, time::timeout};

use crate::{
    client::{Answer, post, send},
    stage::{FACES, PATIENCE, Scripted, Stage, body},
};

const CLIENTS: usize = 200;

/// Asks so often at once, each face in turn.
async fn storm(stage: &Stage, model: &'static str) -> Vec<(&'static str, Answer)> {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (path, list) = FACES[number % FACES.len()];
        let stream = number.is_multiple_of(2);
        let request = post(path, "", body(list, model, stream));
        let to = stage.address;
        clients.spawn(async move { (path, send(to, request).await) });
    }
    timeout(PATIENCE, clients.join_all()).await.expect("everybody is answered")
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_who_is_refused_once_is_answered() {
    let provider = Scripted::start().await;
    let stage = Stage::start(provider.address, "").await;
    for (path, answer) in storm(&stage, "scripted?status=429&fail-first=1").await {
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert!(answer.body.contains("five"), "{path}: {answer:?}");
    }
    // Each was sent again once, and no more than that.
    let retries = stage.count("foxwedge_retries_total{upstream=\"scripted\"}").await;
    assert_eq!(retries, CLIENTS.to_string());
    stage.end().await;
    provider.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_refused_for_ever_is_told_so_and_the_provider_is_not_asked_three_times_for_all()
{
    let provider = Scripted::start().await;
    let stage = Stage::start(provider.address, "").await;
    for (path, answer) in storm(&stage, "chat-scripted?status=429&retry-after=0").await {
        assert_eq!((answer.status, answer.header("retry-after")), (429, "0"), "{path}: {answer:?}");
        assert_eq!(answer.header("x-should-retry"), "false", "{path}: {answer:?}");
        let kind = answer.json()["error"]["type"].clone();
        assert!(kind.is_string(), "{path}: {answer:?}");
    }
    let asked = "foxwedge_upstream_requests_total{upstream=\"chat\",status=\"4xx\"}";
    // Retries that are of no use are a fifth of the requests.
    let asked: usize = stage.count(asked).await.parse().expect("a number");
    assert!(asked > CLIENTS && asked <= CLIENTS + CLIENTS / 5, "{asked}");
    // Whoever should wait longer than a client does is told at once.
    for (path, answer) in storm(&stage, "messages-scripted?status=429&retry-after=3600").await {
        assert_eq!((answer.status, answer.header("retry-after")), (429, "3600"), "{path}");
    }
    let asked = "foxwedge_upstream_requests_total{upstream=\"messages\",status=\"4xx\"}";
    assert_eq!(stage.count(asked).await, CLIENTS.to_string());
    stage.end().await;
    provider.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_there_is_told() {
    let provider = Scripted::start().await;
    let address = provider.address;
    provider.end().await;
    let stage = Stage::start(address, "").await;
    for (path, answer) in storm(&stage, "gemini-scripted").await {
        assert_eq!(answer.status, 502, "{path}: {answer:?}");
        assert!(answer.json()["error"]["message"].is_string(), "{path}: {answer:?}");
    }
    stage.end().await;
}
