//! Failing upstreams: which errors are retried, which are reported, and in which format.

use foxwedge_gateway::GatewayEndpoint;
use serde_json::{Value, json};

use crate::stand::{ask, engine};

fn request(endpoint: GatewayEndpoint, model: &str, stream: bool) -> Value {
    match endpoint {
        GatewayEndpoint::Responses | GatewayEndpoint::Interactions => {
            json!({"model": model, "stream": stream, "input": "hello there my old friend, how do you do today"})
        }
        GatewayEndpoint::GenerateContent
        | GatewayEndpoint::StreamGenerateContent
        | GatewayEndpoint::GeminiCountTokens => {
            json!({"model": model, "contents": [{"role": "user", "parts": [{"text": "hello there my old friend, how do you do today"}]}]})
        }
        GatewayEndpoint::Chat | GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => json!({
            "model": model, "stream": stream, "max_tokens": 100,
            "messages": [{"role": "user", "content": "hello there my old friend, how do you do today"}],
        }),
    }
}

const ENDPOINTS: [GatewayEndpoint; 3] =
    [GatewayEndpoint::Chat, GatewayEndpoint::Responses, GatewayEndpoint::Messages];

#[tokio::test(start_paused = true)]
async fn transient_errors_are_retried_and_permanent_errors_are_reported() {
    let engine = engine("").await;
    let table = [
        ("scripted?status=429&fail-first=1", 200),
        ("scripted?status=500&fail-first=1", 200),
        ("scripted?status=429", 429),
        ("scripted?status=529", 529),
        ("scripted?status=401", 401),
        ("scripted?html", 502),
        ("scripted?empty", 502),
    ];
    for endpoint in ENDPOINTS {
        for (model, status) in table {
            let reply = ask(&engine, endpoint, &request(endpoint, model, false)).await;
            assert_eq!(reply.status, status, "{} {model}: {}", endpoint.name(), reply.body);
            if status != 200 {
                let error = reply.json()["error"].clone();
                assert!(
                    error["message"].is_string() && error["type"].is_string(),
                    "{}",
                    reply.body
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_cut_anywhere_ends_in_an_error_and_never_looks_complete() {
    let routes = "[[route]]\nmodel = \"cut*\"\nupstream = \"UP\"\n";
    for upstream in ["chat", "responses", "messages", "gemini"] {
        for endpoint in ENDPOINTS.into_iter().chain([GatewayEndpoint::StreamGenerateContent]) {
            for at in 0..6 {
                let rename = format!("upstream_model = \"scripted?cut={at}\"\n");
                let engine = engine(&format!("{}{rename}", routes.replace("UP", upstream))).await;
                let reply = ask(&engine, endpoint, &request(endpoint, "cut", true)).await;
                let place =
                    format!("{} on {upstream} cut at {at}: {}", endpoint.name(), reply.body);
                assert!(
                    reply.body.contains("error") || reply.body.contains("response.failed"),
                    "{place}"
                );
                for whole in ["[DONE]", "message_stop", "response.completed", "finishReason"] {
                    assert!(!reply.body.contains(whole), "{place}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_malformed_stream_ends_in_an_error() {
    let engine = engine("[limits]\nstream_event = \"64KiB\"\n").await;
    for fault in ["malformed", "long-line=300000"] {
        for endpoint in ENDPOINTS {
            let reply =
                ask(&engine, endpoint, &request(endpoint, &format!("scripted?{fault}"), true))
                    .await;
            assert_eq!(reply.status, 200);
        }
    }
}
