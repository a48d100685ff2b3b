//! Runs that are stopped from outside.

use std::time::Duration;

use foxwedge_gateway::GatewayEndpoint;
use foxwedge_run::{EventPayload, StopRequest};
use foxwedge_store::{CloseAuthority, close_run};
use serde_json::json;
use tokio::time::timeout;

use crate::stand::{build_request, engine, read, recording_engine};

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_stopped_run_says_that_it_was_stopped() {
    let engine = engine("").await;
    let prompt = "one two three four five six seven";
    for endpoint in [GatewayEndpoint::Chat, GatewayEndpoint::Responses, GatewayEndpoint::Messages] {
        let mut body = json!({"model": "scripted?hang=3", "stream": true, "max_tokens": 50});
        let list = if endpoint == GatewayEndpoint::Responses { "input" } else { "messages" };
        body[list] = json!([{"role": "user", "content": prompt}]);
        let response = engine.handle(build_request(endpoint, body.to_string(), &[])).await;
        let run = response.headers["x-foxwedge-run"].to_str().expect("text").to_owned();
        assert!(engine.stop_run(&run));
        let body = read(response.body).await;
        assert!(body.contains("the run was stopped"), "{body}");
        assert!(!body.contains("upstream_cut") && !body.contains("interrupted"), "{body}");
    }
}

#[tokio::test]
async fn the_stream_of_a_run_that_was_stopped_in_the_store_ends() {
    let (engine, store) = recording_engine().await;
    let body = json!({
        "model": "scripted?hang=3", "stream": true, "max_tokens": 50,
        "messages": [{"role": "user", "content": "one two three four five six seven"}],
    });
    let request = build_request(GatewayEndpoint::Chat, body.to_string(), &[]);
    let response = engine.handle(request).await;
    let run = response.headers["x-foxwedge-run"].to_str().expect("text").to_owned();
    engine.recorder().flush().await;
    // As `foxwedge runs stop` does in another process, and a node that cannot reach this one.
    let stop = EventPayload::Stop(StopRequest { grace: 0 });
    close_run(&*store, &run, stop, CloseAuthority::Operator).await.expect("stopped");
    let body = timeout(Duration::from_secs(60), read(response.body)).await;
    let body = body.expect("the stream ends although nothing is written");
    assert!(body.contains("the run was stopped"), "{body}");
}
