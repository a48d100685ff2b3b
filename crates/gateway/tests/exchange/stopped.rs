//! Runs that are stopped from outside.

use std::time::Duration;

use foxwedge_gateway::GatewayEndpoint;
use foxwedge_run::{EventPayload, StopRequest};
use foxwedge_store::{CloseAuthority, close_run};
use serde_json::{Value, json};
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

/// The data of the events of a type.
fn events_of_type(body: &str, kind: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    events.filter(|event| event["type"] == kind).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stopped_response_ends_with_the_id_that_it_began_with() {
    for upstream in ["responses", "chat", "messages"] {
        let route = format!(
            "[[route]]\nmodel = \"m\"\nupstream = \"{upstream}\"\nupstream_model = \"scripted?hang=3\"\n"
        );
        let engine = engine(&route).await;
        let input = "one two three four five six seven";
        let body = json!({"model": "m", "stream": true, "input": input}).to_string();
        let mut response =
            engine.handle(build_request(GatewayEndpoint::Responses, body, &[])).await;
        let run = response.headers["x-foxwedge-run"].to_str().expect("text").to_owned();
        let mut begin = String::new();
        while !begin.contains("response.created") {
            let frame = std::future::poll_fn(|context| {
                http_body::Body::poll_frame(std::pin::Pin::new(&mut response.body), context)
            });
            let frame = frame.await.expect("an event").expect("bytes");
            let data = frame.into_data().expect("data");
            begin.push_str(std::str::from_utf8(&data).expect("text"));
        }
        assert!(engine.stop_run(&run));
        let body = begin + &read(response.body).await;
        let created = events_of_type(&body, "response.created");
        let failed = events_of_type(&body, "response.failed");
        let [created, failed] = [&created, &failed].map(|events| &events[0]["response"]["id"]);
        assert_eq!(failed, created, "{upstream}: {body}");
        assert!(created.as_str().is_some_and(|id| !id.is_empty()), "{upstream}: {body}");
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
