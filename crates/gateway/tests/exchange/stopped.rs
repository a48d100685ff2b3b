//! Runs that are stopped from outside.

use foxwedge_gateway::GatewayEndpoint;
use serde_json::json;

use crate::stand::{build_request, engine, read};

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
