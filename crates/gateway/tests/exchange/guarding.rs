//! What the guard does and reports in each mode.

use foxwedge_gateway::{GatewayEndpoint, GatewayRequest};
use serde_json::{Value, json};

use crate::stand::{ask, build_request, engine, send_request};

fn broken() -> serde_json::Value {
    json!({
        "model": "m",
        "messages": [
            {"role": "user", "content": "read a and b"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "A"},
            {"role": "user", "content": "go on"},
        ],
    })
}

fn route(mode: &str) -> String {
    format!(
        "[[route]]\nmodel = \"m\"\nupstream = \"chat\"\nupstream_model = \"scripted\"\nmode = \"{mode}\"\n"
    )
}

#[tokio::test]
async fn each_mode_does_what_it_says() {
    let table = [
        ("off", 400, "none", ""),
        ("observe", 400, "observed", "FW101=1"),
        ("fix", 200, "fixed", "FW101=1"),
        ("strict", 400, "rejected", "FW101=1"),
    ];
    for (mode, status, action, findings) in table {
        let engine = engine(&route(mode)).await;
        let reply = ask(&engine, GatewayEndpoint::Chat, &broken()).await;
        let headers = (reply.header("x-foxwedge-action"), reply.header("x-foxwedge-findings"));
        assert_eq!(
            (reply.status.as_u16(), headers),
            (status, (action, findings)),
            "{mode}: {}",
            reply.body
        );
        if mode == "strict" {
            let error = reply.json()["error"].clone();
            assert_eq!(error["type"], "invalid_request_error");
            assert_eq!((&error["rule"], &error["param"]), (&json!("FW101"), &json!("messages[1]")));
        }
    }
}

#[tokio::test]
async fn a_history_that_the_upstream_rejects_is_repaired_and_sent_again_once() {
    // The upstream is stricter than its configured profile.
    let engine = engine(
        "[[upstream]]\nname = \"lax\"\nkind = \"scripted\"\nformats = [\"openai-chat\"]\n\
         profile = \"openai-chat\"\n\
         [[route]]\nmodel = \"m\"\nupstream = \"lax\"\nupstream_model = \"scripted-mistral\"\n",
    )
    .await;
    let body = json!({
        "model": "m",
        "messages": [
            {"role": "user", "content": "read a"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "call_of_more_than_nine_letters", "type": "function",
                 "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "call_of_more_than_nine_letters", "name": "read", "content": "A"},
        ],
    });
    let reply = ask(&engine, GatewayEndpoint::Chat, &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.header("x-foxwedge-action"), "fixed");
    assert!(
        engine
            .metrics()
            .render()
            .contains("foxwedge_upstream_400_total{class=\"illegal-call-id\"} 1")
    );
}

#[tokio::test]
async fn a_history_that_is_too_long_is_compacted() {
    for overflow in ["compact", "summarize"] {
        too_long(overflow).await;
    }
}

async fn too_long(overflow: &str) {
    let engine = engine(&format!(
        "[[route]]\nmodel = \"m\"\nupstream = \"messages\"\nupstream_model = \"scripted\"\ncontext_window = 8000\n\
         overflow = \"{overflow}\"\n",
    ))
    .await;
    let turns = (0..40).flat_map(|at| {
        [
            json!({"role": "user", "content": format!("question {at} {}", "word ".repeat(200))}),
            json!({"role": "assistant", "content": format!("answer {at}")}),
        ]
    });
    let mut messages: Vec<_> = turns.collect();
    messages.push(json!({"role": "user", "content": "and now?"}));
    let body = json!({"model": "m", "max_tokens": 100, "messages": messages});
    let reply = ask(&engine, GatewayEndpoint::Messages, &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let (before, after) =
        reply.header("x-foxwedge-compacted").split_once("->").expect("a compaction");
    assert!(
        before.parse::<u64>().expect("it is there") > 8_000
            && after.parse::<u64>().expect("it is there") < 8_000
    );
    assert!(engine.metrics().render().contains("foxwedge_compactions_total 1\n"));
}

#[tokio::test]
async fn server_side_state_is_refused_and_never_repaired() {
    let engine =
        engine("[[route]]\nmodel = \"m\"\nupstream = \"chat\"\nupstream_model = \"scripted\"\n")
            .await;
    let table = [
        (
            GatewayEndpoint::Responses,
            json!({"model": "m", "previous_response_id": "resp_1",
                   "input": [{"type": "function_call_output", "call_id": "c1", "output": "A"}]}),
            "previous_response_not_found",
        ),
        (
            GatewayEndpoint::Messages,
            json!({"model": "m", "max_tokens": 9, "thread": {"type": "continue", "previous_message_id": "msg_1"},
                   "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "A"}]}]}),
            "thread_unsupported_request",
        ),
        (
            GatewayEndpoint::Responses,
            json!({"model": "m", "prompt": {"id": "pmpt_1"}}),
            "prompt_unsupported",
        ),
        (
            GatewayEndpoint::Responses,
            json!({"model": "m", "previous_response_id": "resp_1"}),
            "previous_response_not_found",
        ),
        (
            GatewayEndpoint::GenerateContent,
            json!({"model": "m", "cachedContent": "cachedContents/1",
                   "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
            "cached_content_unsupported",
        ),
    ];
    for (endpoint, body, code) in table {
        let reply = ask(&engine, endpoint, &body).await;
        assert_eq!(reply.status, 400, "{}", reply.body);
        assert!(reply.body.contains(code), "{}", reply.body);
        assert_eq!(reply.header("x-foxwedge-action"), "none");
    }
}

#[tokio::test]
async fn no_request_chooses_its_upstream() {
    let engine = engine("").await;
    for key in ["api_base", "base_url", "api_key"] {
        let body = json!({"model": "scripted", "messages": [{"role": "user", "content": "hi"}], key: "http://evil.example"});
        let reply = ask(&engine, GatewayEndpoint::Chat, &body).await;
        assert_eq!((reply.status.as_u16(), &reply.json()["error"]["param"]), (400, &json!(key)));
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_an_error_with_its_place() {
    let engine = engine("").await;
    for body in
        ["", "{", "[]", "{\"model\":\"m\"}", "{\"model\":\"m\",\"messages\":7}", "\u{feff}", "nul"]
    {
        let reply =
            send_request(&engine, build_request(GatewayEndpoint::Chat, body.to_owned(), &[])).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.body);
        assert_eq!(reply.json()["error"]["type"], "invalid_request_error", "{body}");
    }
    let deep = format!("{{\"model\":\"m\",\"messages\":{}", "[".repeat(100_000));
    assert_eq!(
        send_request(&engine, build_request(GatewayEndpoint::Chat, deep, &[])).await.status,
        400
    );
}

#[tokio::test]
async fn a_list_in_place_of_a_request_is_refused_with_the_field_that_has_it() {
    let engine = engine("").await;
    for (endpoint, field) in [
        (GatewayEndpoint::Chat, "messages"),
        (GatewayEndpoint::Responses, "input"),
        (GatewayEndpoint::Messages, "messages"),
        (GatewayEndpoint::CountTokens, "messages"),
        (GatewayEndpoint::Interactions, "input"),
        (GatewayEndpoint::GenerateContent, "contents"),
    ] {
        for body in ["[1]", " []", "[{\"role\": \"user\", \"content\": \"hi\"}]"] {
            let request = build_request(endpoint, body.to_owned(), &[]);
            let request = GatewayRequest { path_model: Some("scripted".into()), ..request };
            let reply = send_request(&engine, request).await;
            assert_eq!(reply.status, 400, "{body}: {}", reply.body);
            let expected = format!("the body must be an object with `{field}`, not a list");
            assert_eq!(reply.json()["error"]["message"], expected, "{body}");
        }
    }
}

/// A request with `words` words, in the format of the endpoint.
fn long(endpoint: GatewayEndpoint, words: usize) -> Value {
    let text = "word ".repeat(words);
    match endpoint {
        GatewayEndpoint::Responses => json!({"model": "m", "input": text}),
        _ => {
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]})
        }
    }
}

#[tokio::test]
async fn a_request_that_exceeds_the_window_is_refused_in_the_providers_format_before_sending() {
    let overflows = ["compact", "summarize", "pass"];
    for (upstream, overflow) in
        ["chat", "responses", "messages", "gemini"].into_iter().zip(overflows.into_iter().cycle())
    {
        let engine = engine(&format!(
            "[[route]]\nmodel = \"m\"\nupstream = \"{upstream}\"\nupstream_model = \"scripted\"\n\
             context_window = 3000\noverflow = \"{overflow}\"\n"
        ))
        .await;
        for (endpoint, stream) in
            [GatewayEndpoint::Chat, GatewayEndpoint::Responses, GatewayEndpoint::Messages]
                .into_iter()
                .flat_map(|endpoint| [(endpoint, false), (endpoint, true)])
        {
            let mut body = long(endpoint, 20_000);
            body["stream"] = json!(stream);
            let reply = ask(&engine, endpoint, &body).await;
            assert_eq!(reply.status, 400, "{upstream}, {endpoint:?}: {}", reply.body);
            let error = &reply.json()["error"];
            assert_eq!(error["type"], "invalid_request_error", "{error}");
            let message = error["message"].as_str().expect("words");
            match endpoint {
                GatewayEndpoint::Messages => {
                    assert!(message.starts_with("prompt is too long: "), "{message}");
                    assert!(message.ends_with(" tokens > 3000 maximum"), "{message}");
                }
                _ => assert_eq!(error["code"], "context_length_exceeded"),
            }
            // Close to the limit the count is not certain, so the provider decides.
            let reply = ask(&engine, endpoint, &long(endpoint, 3_200)).await;
            assert_eq!(reply.status, 200, "{upstream}, {endpoint:?}: {}", reply.body);
        }
        let name = engine.metrics().render();
        let sent =
            name.lines().filter(|line| line.starts_with("foxwedge_upstream_requests_total{"));
        let sent: u64 = sent.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
        assert_eq!(sent, 6, "only those that may fit were sent");
    }
}

#[tokio::test]
async fn without_a_configured_window_nothing_is_refused() {
    let engine =
        engine("[[route]]\nmodel = \"m\"\nupstream = \"chat\"\nupstream_model = \"scripted\"\n")
            .await;
    let reply = ask(&engine, GatewayEndpoint::Chat, &long(GatewayEndpoint::Chat, 20_000)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}
