//! Clients that continue a response by its id, at a provider of the same API that stores nothing.

use serde_json::{Value, json};

use crate::{
    client::{Answer, post, send},
    stage::{ScriptedServer, TestGateway},
};

async fn ask(gateway: &TestGateway, body: &Value) -> Answer {
    send(gateway.address, post("/v1/responses", "", body.to_string())).await
}

/// The response object of a reply, streamed or not.
fn response(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    let data = answer.body.rsplit("data: ").find(|event| event.contains("response.completed"));
    match data.and_then(|data| data.lines().next()) {
        Some(line) => serde_json::from_str::<Value>(line).expect("JSON")["response"].clone(),
        None => {
            let start = answer.body.find('{').unwrap_or_default();
            let end = answer.body.rfind('}').unwrap_or_default();
            serde_json::from_str(&answer.body[start..=end]).expect("JSON")
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_loop_by_response_ids_goes_on_where_nothing_is_stored() {
    let provider = ScriptedServer::start().await;
    let gateway = TestGateway::start(provider.address, "").await;
    let refused = "foxwedge_upstream_requests_total{upstream=\"responses\",status=\"4xx\"}";
    let tools = json!([{"type": "function", "name": "weather", "parameters": {"type": "object"}}]);
    for stream in [true, false] {
        let mut body = json!({"model": "responses-1", "stream": stream, "tools": tools,
            "input": "call weather"});
        let first = response(&ask(&gateway, &body).await);
        let call = first["output"][0]["call_id"].clone();
        assert!(call.is_string(), "{first}");
        body["previous_response_id"] = first["id"].clone();
        body["input"] =
            json!([{"type": "function_call_output", "call_id": call, "output": "rain"}]);
        let second = response(&ask(&gateway, &body).await);
        assert!(second.to_string().contains("The tool said: rain"), "{second}");
        body["previous_response_id"] = second["id"].clone();
        body["input"] = json!("and tomorrow?");
        let third = response(&ask(&gateway, &body).await);
        assert!(third.to_string().contains("You said: and tomorrow?"), "{third}");
        assert_eq!(gateway.count(refused).await, "1", "the provider was asked in vain once");
    }
    let unknown = json!({"model": "responses-1", "previous_response_id": "resp_x", "input": "hi"});
    let answer = ask(&gateway, &unknown).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("previous_response_not_found"), "{answer:?}");
    gateway.end().await;
    provider.end().await;
}
