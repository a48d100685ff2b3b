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
        ("scripted?status=522&fail-first=1", 200),
        ("scripted?status=501&fail-first=1", 501),
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

/// Routes of one model: the first upstream fails, the second is of another format.
fn with_fallback(fault: &str) -> String {
    let route = |upstream: &str, model: &str, more: &str| {
        format!(
            "[[route]]\nmodel = \"m\"\nupstream = \"{upstream}\"\nupstream_model = \"{model}\"\n{more}\n"
        )
    };
    let primary = route("chat", &format!("scripted?{fault}"), "");
    primary
        + &route("messages", "scripted?status=503", "fallback = true")
        + &route("gemini", "scripted", "fallback = true")
}

#[tokio::test(start_paused = true)]
async fn a_fallback_replies_if_an_upstream_fails_and_not_if_the_request_is_wrong() {
    let table = [
        ("status=500", 200, "gemini"),
        ("status=501", 200, "gemini"),
        ("status=507", 200, "gemini"),
        ("status=530", 200, "gemini"),
        ("status=429&retry-after=3600", 200, "gemini"),
        ("status=401", 401, ""),
        ("status=400", 400, ""),
        ("pace=1", 200, ""),
    ];
    for endpoint in ENDPOINTS {
        for stream in [false, true] {
            for (fault, status, fallback) in table {
                let engine = engine(&with_fallback(fault)).await;
                let reply = ask(&engine, endpoint, &request(endpoint, "m", stream)).await;
                let found = (reply.status.as_u16(), reply.header("x-foxwedge-fallback"));
                assert_eq!(
                    found,
                    (status, fallback),
                    "{} {fault}: {}",
                    endpoint.name(),
                    reply.body
                );
                assert!(status != 200 || reply.body.contains("friend"), "{}", reply.body);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_keeps_failing_is_left_alone() {
    let engine = engine(&with_fallback("status=500")).await;
    let body = request(GatewayEndpoint::Chat, "m", false);
    let sent = |name: &str| {
        let metrics = engine.metrics().render();
        let prefix =
            format!("foxwedge_upstream_requests_total{{upstream=\"{name}\",status=\"5xx\"}} ");
        let mut lines = metrics.lines();
        lines.find_map(|line| line.strip_prefix(&prefix)?.parse().ok()).unwrap_or(0_u32)
    };
    for _ in 0..5 {
        assert_eq!(ask(&engine, GatewayEndpoint::Chat, &body).await.status, 200);
    }
    let (chat, messages) = (sent("chat"), sent("messages"));
    assert!(chat > 0 && messages > 0);
    for _ in 0..20 {
        let reply = ask(&engine, GatewayEndpoint::Chat, &body).await;
        assert_eq!(reply.header("x-foxwedge-fallback"), "gemini");
    }
    assert_eq!((sent("chat"), sent("messages")), (chat, messages), "nothing more was sent there");
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    assert_eq!(ask(&engine, GatewayEndpoint::Chat, &body).await.status, 200);
    assert!(sent("chat") > chat, "it was tried again");
}
