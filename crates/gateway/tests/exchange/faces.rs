//! Every endpoint with every kind of upstream, streamed and not.

use foxwedge_gateway::GatewayEndpoint;
use serde_json::{Value, json};

use crate::stand::{ask, engine};

const UPSTREAMS: [&str; 5] = ["chat", "responses", "messages", "gemini", "interactions"];

/// The endpoint of each format; the last one for whole replies and for streams.
fn endpoints(stream: bool) -> [GatewayEndpoint; 5] {
    let gemini = if stream {
        GatewayEndpoint::StreamGenerateContent
    } else {
        GatewayEndpoint::GenerateContent
    };
    use GatewayEndpoint::{Chat, Interactions, Messages, Responses};
    [Chat, Responses, Messages, Interactions, gemini]
}

/// Routes by the name of the upstream.
fn routes() -> String {
    let route = |name: &&str| {
        format!(
            "[[route]]\nmodel = \"{name}\"\nupstream = \"{name}\"\nupstream_model = \"scripted\"\n"
        )
    };
    UPSTREAMS.iter().map(route).collect()
}

fn tool() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})
}

/// A request that makes the model call two tools.
fn request(endpoint: GatewayEndpoint, model: &str, stream: bool) -> Value {
    let words = "call weather with {\"city\":\"Oslo\"} and call weather with {\"city\":\"Bergen\"}";
    match endpoint {
        GatewayEndpoint::Chat => json!({
            "model": model, "stream": stream,
            "messages": [{"role": "user", "content": words}],
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": tool()}}],
        }),
        GatewayEndpoint::Responses => json!({
            "model": model, "stream": stream, "input": [{"role": "user", "content": words}],
            "tools": [{"type": "function", "name": "weather", "parameters": tool(), "strict": false}],
        }),
        GatewayEndpoint::Interactions => json!({
            "model": model, "stream": stream, "input": words,
            "tools": [{"type": "function", "name": "weather", "parameters": tool()}],
        }),
        GatewayEndpoint::GenerateContent
        | GatewayEndpoint::StreamGenerateContent
        | GatewayEndpoint::GeminiCountTokens => json!({
            "model": model, "contents": [{"role": "user", "parts": [{"text": words}]}],
            "tools": [{"functionDeclarations": [{"name": "weather", "parameters": tool()}]}],
        }),
        GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => json!({
            "model": model, "stream": stream, "max_tokens": 500,
            "messages": [{"role": "user", "content": words}],
            "tools": [{"name": "weather", "input_schema": tool()}],
        }),
    }
}

#[tokio::test]
async fn parallel_calls_arrive_together_on_every_endpoint_from_every_upstream() {
    let engine = engine(&routes()).await;
    for endpoint in endpoints(false) {
        for upstream in UPSTREAMS {
            let place = format!("{} on {upstream}", endpoint.name());
            let reply = ask(&engine, endpoint, &request(endpoint, upstream, false)).await;
            assert_eq!(reply.status, 200, "{place}: {}", reply.body);
            let body = reply.json();
            let (calls, stop) = match endpoint {
                GatewayEndpoint::Chat => {
                    let choice = &body["choices"][0];
                    (
                        choice["message"]["tool_calls"].as_array().map_or(0, Vec::len),
                        choice["finish_reason"].clone(),
                    )
                }
                GatewayEndpoint::Responses => {
                    let items = body["output"].as_array().expect("items");
                    let calls = items.iter().filter(|item| item["type"] == "function_call");
                    (calls.count(), body["status"].clone())
                }
                GatewayEndpoint::Interactions => {
                    let steps = body["steps"].as_array().expect("steps");
                    let calls = steps.iter().filter(|step| step["type"] == "function_call");
                    (calls.count(), body["status"].clone())
                }
                GatewayEndpoint::GenerateContent
                | GatewayEndpoint::StreamGenerateContent
                | GatewayEndpoint::GeminiCountTokens => {
                    let candidate = &body["candidates"][0];
                    let parts = candidate["content"]["parts"].as_array().expect("parts");
                    let calls = parts.iter().filter(|part| part["functionCall"].is_object());
                    (calls.count(), candidate["finishReason"].clone())
                }
                GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => {
                    let blocks = body["content"].as_array().expect("blocks");
                    let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
                    (calls.count(), body["stop_reason"].clone())
                }
            };
            let expected = match endpoint {
                GatewayEndpoint::Chat => "tool_calls",
                GatewayEndpoint::Responses => "completed",
                GatewayEndpoint::Interactions => "requires_action",
                GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => "tool_use",
                GatewayEndpoint::GenerateContent
                | GatewayEndpoint::StreamGenerateContent
                | GatewayEndpoint::GeminiCountTokens => "STOP",
            };
            assert_eq!((calls, stop), (2, json!(expected)), "{place}: {body}");
            let gemini = endpoint == GatewayEndpoint::GenerateContent;
            let same = endpoint.name() == upstream || (gemini && upstream == "gemini");
            let named = if same { "scripted" } else { upstream };
            let key = if gemini { "modelVersion" } else { "model" };
            assert_eq!(body[key], json!(named), "{place}: told anew, it is the client's name");
            assert_eq!(reply.header("x-foxwedge-action"), "none", "{place}");
            let made = match endpoint {
                GatewayEndpoint::Chat => body["created"].as_u64(),
                GatewayEndpoint::Responses => body["created_at"].as_u64(),
                GatewayEndpoint::Messages
                | GatewayEndpoint::CountTokens
                | GatewayEndpoint::Interactions
                | GatewayEndpoint::GenerateContent
                | GatewayEndpoint::StreamGenerateContent
                | GatewayEndpoint::GeminiCountTokens => None,
            };
            assert!(made != Some(0), "{place}: it was made at some time: {body}");
        }
    }
}

#[tokio::test]
async fn a_stream_ends_in_the_format_of_its_endpoint_from_every_upstream() {
    let engine = engine(&routes()).await;
    for endpoint in endpoints(true) {
        for upstream in UPSTREAMS {
            let place = format!("{} on {upstream}", endpoint.name());
            let reply = ask(&engine, endpoint, &request(endpoint, upstream, true)).await;
            assert_eq!(reply.status, 200, "{place}: {}", reply.body);
            assert!(reply.header("content-type").starts_with("text/event-stream"), "{place}");
            let (calls, end) = match endpoint {
                GatewayEndpoint::Chat => ("\"name\":\"weather\"", "data: [DONE]\n\n"),
                GatewayEndpoint::Responses => {
                    ("\"function_call\",\"status\":\"in_progress", "response.completed")
                }
                GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => {
                    ("\"name\":\"weather\"", "message_stop")
                }
                GatewayEndpoint::Interactions => ("\"name\":\"weather\"", "interaction.completed"),
                GatewayEndpoint::GenerateContent
                | GatewayEndpoint::StreamGenerateContent
                | GatewayEndpoint::GeminiCountTokens => {
                    ("\"name\":\"weather\"", "\"finishReason\":\"STOP\"")
                }
            };
            let found = reply.body.matches(calls).count();
            assert_eq!(found, 2, "{place}: {}", reply.body);
            assert!(reply.body.contains(end), "{place}: {}", reply.body);
        }
    }
}

#[tokio::test]
async fn tokens_are_counted_by_the_upstream_or_here() {
    let engine = engine(&routes()).await;
    for upstream in UPSTREAMS {
        let mut body = request(GatewayEndpoint::Messages, upstream, false);
        body.as_object_mut()
            .expect("an object")
            .retain(|key, _| key != "stream" && key != "max_tokens");
        let reply = ask(&engine, GatewayEndpoint::CountTokens, &body).await;
        assert_eq!(reply.status, 200, "{upstream}: {}", reply.body);
        assert!(reply.json()["input_tokens"].as_u64() > Some(5), "{upstream}: {}", reply.body);
    }
}

#[tokio::test]
async fn geminis_clients_count_tokens_of_a_request_or_of_a_wrapped_one() {
    let engine = engine(&routes()).await;
    for upstream in UPSTREAMS {
        let body = request(GatewayEndpoint::GeminiCountTokens, upstream, false);
        let plain = ask(&engine, GatewayEndpoint::GeminiCountTokens, &body).await;
        assert_eq!(plain.status, 200, "{upstream}: {}", plain.body);
        assert!(plain.json()["totalTokens"].as_u64() > Some(5), "{upstream}: {}", plain.body);
        let mut inner = body.clone();
        inner["model"] = json!(format!("models/{upstream}"));
        let wrapped = json!({"model": upstream, "generateContentRequest": inner});
        let wrapped = ask(&engine, GatewayEndpoint::GeminiCountTokens, &wrapped).await;
        assert_eq!(wrapped.json(), plain.json(), "{upstream}");
    }
}

#[tokio::test]
async fn an_open_call_of_geminis_client_is_answered_on_every_upstream() {
    let engine = engine(&routes()).await;
    let call = json!({"functionCall": {"name": "weather", "args": {"city": "Oslo"}}});
    let contents = json!([
        {"role": "user", "parts": [{"text": "weather?"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"text": "say hello"}]},
    ]);
    for upstream in UPSTREAMS {
        let body = json!({"model": upstream, "contents": contents});
        let reply = ask(&engine, GatewayEndpoint::GenerateContent, &body).await;
        assert_eq!(reply.status, 200, "{upstream}: {}", reply.body);
        assert_eq!(reply.header("x-foxwedge-action"), "fixed", "{upstream}");
        assert_eq!(reply.header("x-foxwedge-findings"), "FW101=1", "{upstream}");
    }
    let unknown = json!({"model": "nobody-has-it", "contents": contents});
    let reply = ask(&engine, GatewayEndpoint::GenerateContent, &unknown).await;
    let error = reply.json()["error"].clone();
    assert_eq!((&error["code"], &error["status"]), (&json!(404), &json!("NOT_FOUND")), "{error}");
}

#[tokio::test]
async fn an_interaction_that_is_stored_elsewhere_is_refused_with_what_to_do() {
    let engine = engine(&routes()).await;
    let body = json!({
        "model": "chat", "previous_interaction_id": "v1_abc",
        "input": [{"type": "function_result", "call_id": "x", "name": "weather", "result": "sunny"}],
    });
    let reply = ask(&engine, GatewayEndpoint::Interactions, &body).await;
    assert_eq!(reply.status, 404, "{}", reply.body);
    let message = reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("send all its steps as `input`"), "{message}");
}
